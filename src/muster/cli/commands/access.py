"""`muster login`, `muster token`, `muster whoami`: who may do what."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from muster.cli.drawing.wording import moment
from muster.cli.terminal.amounts import seconds
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.options import Output, Printed, Quiet
from muster.cli.terminal.screen import note, screen, show, show_ids, show_json
from muster.home import Home, home_folder
from muster.loopback import is_loopback_url
from muster.model.access import Role as Roles
from muster.model.errors import InvalidInput
from muster.private_files import claim_folder, write_private

# ruff: noqa: PLC0415

token = typer.Typer(name="token", help="Make, list and revoke tokens.", no_args_is_help=True)

listing = Listing(SERVER)
listing.add_group(token)

Url = Annotated[str | None, typer.Argument(metavar="URL", help="The address of a server.")]
TokenFile = Annotated[
    str | None, typer.Option("--token-file", metavar="FILE", help="Where the token is; - is standard input.")
]
Forget = Annotated[bool, typer.Option("--forget", help="Use the server on this machine again.")]
Holder = Annotated[str, typer.Argument(metavar="NAME", help="What it is called; of an admin also who will use it.")]
Role = Annotated[str, typer.Option(metavar="ROLE", help="viewer, member, lead, operator or admin.")]
OnTeam = Annotated[str, typer.Option("--team", metavar="TEAM", help="On this team and below; * is the whole cluster.")]
Expires = Annotated[
    str, typer.Option("--expires", metavar="TIME", help="Worth nothing after this long; never is for admins.")
]
TokenIds = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of tokens.")]
Subject = Annotated[
    str | None,
    typer.Option("--subject", metavar="WHO", help="Who acts with it: a person, for admins, or a service like nlp/ci."),
]

NEVER = "never"


@listing.add
def login(
    url: Url = None, token_file: TokenFile = None, forget: Forget = False, output: Printed = Output.TABLE
) -> None:
    """Use another server from now on. The token is checked, and kept where only you can read it."""
    from muster.client import Client
    from muster.client.address import checked_url

    path = Home(home_folder(os.environ)).login
    if forget:
        path.unlink(missing_ok=True)
        note("forgotten; commands use the server on this machine")
        return
    if url is None:
        raise InvalidInput("which server? muster login URL --token-file FILE")
    address = checked_url(url)
    if address.startswith("http:") and not is_loopback_url(address):
        note(f"{address} is not encrypted: whoever is in between can read your token")
    secret = _secret(token_file)
    with Client(address, secret) as client:
        who = client.whoami()
    claim_folder(path.parent)
    write_private(path, json.dumps({"url": address, "token": secret, "name": who.name}))
    note(f"logged in to {address} as {who.name}")
    if output is Output.JSON:
        show_json({"url": address, **who.document})


def _secret(file: str | None) -> str:
    """The token from a file, from standard input, or typed without being seen."""
    if file is None:
        text = typer.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.read()
    elif file == "-":
        text = sys.stdin.read()
    else:
        try:
            text = Path(file).read_text("utf-8")
        except (OSError, UnicodeError) as error:
            raise InvalidInput(f"{file}: the token cannot be read: {error}") from None
    secret = str(text).strip()
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InvalidInput("that is no token: it is one line of letters and digits")
    return secret


@token.command("create")
def create_token(
    name: Holder,
    team: OnTeam,
    role: Role = "member",
    expires: Expires = "90d",
    subject: Subject = None,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,
) -> None:
    """Make a token. Its secret is shown now, and never again."""
    if role not in tuple(Roles):
        raise InvalidInput(f"--role: {role!r} is not a role; there are {', '.join(Roles)}")
    asked: dict[str, Any] = {"name": name, "bindings": [{"role": role, "team": team}]}
    asked["expires_in_s"] = None if expires == NEVER else seconds(expires, "--expires")
    if subject is not None:
        asked["subject"] = subject
    with connect() as client:
        made = client.create_token(**asked)
    if output is Output.JSON:
        show_json(made.document)
    elif quiet:
        show_ids([made.secret or ""])
    else:
        until = f" until {moment(made.expires)}" if made.expires else ""
        who = made.subject or name
        note(f"{made.id} lets {who} in as {role} on {team}{until}; keep its secret, it is not shown again")
        show_ids([made.secret or ""])


@token.command("list")
def list_tokens(output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """List tokens, without their secrets."""
    with connect() as client:
        found = list(client.tokens())
    if output is Output.JSON:
        show_json([each.document for each in found])
    elif quiet:
        show_ids(each.id for each in found)
    else:
        from muster.cli.drawing.table import TextTable

        made = TextTable("id", "name", "acts as", "may", "made", "expires", cut=("name", "acts as", "may"))
        for each in found:
            end = f"revoked {moment(each.revoked)}" if each.revoked else moment(each.expires)
            who = each.subject or each.name
            made.add_row(each.id, each.name, who, bindings_text(each.bindings), moment(each.created), end)
        show(made, screen())


@token.command("revoke")
def revoke_token(ids: TokenIds, output: Printed = Output.TABLE) -> None:
    """Let tokens, and all that were made with them, be worth nothing from now on."""
    gone: list[str] = []
    with connect() as client:
        makers = {each.id: each.maker for each in client.tokens() if not each.revoked}
        for each in ids:
            client.revoke_token(each)
            with_it = _made_with(each, makers)
            gone += [each, *with_it]
            if output is Output.TABLE:
                show(f"{each} is revoked" + (f", and what was made with it: {', '.join(with_it)}" if with_it else ""))
    if output is Output.JSON:
        show_json({"revoked": list(dict.fromkeys(gone))})


def _made_with(token: str, makers: dict[str, str | None]) -> list[str]:
    """The tokens that were made with this token, directly or through others."""
    found = [token]
    for maker in found:
        found += [each for each, made_with in makers.items() if made_with == maker]
    return found[1:]


@listing.add
def whoami(output: Printed = Output.TABLE) -> None:
    """Say which server is used, and as whom."""
    with connect() as client:
        who = client.whoami()
    if output is Output.JSON:
        show_json({"url": client.url, **who.document})
    else:
        until = f", until {moment(who.expires)}" if who.expires else ""
        show(f"{who.name} at {client.url}: {bindings_text(who.bindings)}{until}")


def bindings_text(bindings: tuple[Any, ...]) -> str:
    """`member on nlp, viewer on *`."""
    return ", ".join(
        f"{each.get('role')} on {each.get('team')}" if isinstance(each, dict) else str(each) for each in bindings
    )
