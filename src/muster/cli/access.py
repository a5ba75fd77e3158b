"""`muster login`, `muster token`, `muster audit`: who may do what, and who did."""

import json
import os
import sys
from collections import deque
from pathlib import Path
from typing import Annotated, Any

import typer

from muster.cli.amounts import seconds
from muster.cli.connection import connect
from muster.cli.options import Output, Printed, Quiet
from muster.cli.screen import note, screen, show, show_ids, show_json
from muster.cli.wording import moment
from muster.home import Home, home_folder
from muster.loopback import is_loopback_url
from muster.model.access import Role as Roles
from muster.model.errors import Corrupted, InvalidInput
from muster.private_files import claim_folder, write_private

# ruff: noqa: PLC0415

token = typer.Typer(name="token", help="Make, list and revoke tokens.", no_args_is_help=True)

Url = Annotated[str | None, typer.Argument(metavar="URL", help="The address of a server.")]
TokenFile = Annotated[
    str | None, typer.Option("--token-file", metavar="FILE", help="Where the token is; - is standard input.")
]
Forget = Annotated[bool, typer.Option("--forget", help="Use the server on this machine again.")]
Holder = Annotated[str, typer.Argument(metavar="NAME", help="Who will use it.")]
Role = Annotated[str, typer.Option(metavar="ROLE", help="viewer, member, lead, operator or admin.")]
OnTeam = Annotated[str, typer.Option("--team", metavar="TEAM", help="On this team and below; * is the whole cluster.")]
Expires = Annotated[str | None, typer.Option("--expires", metavar="TIME", help="Worth nothing after this long: 90d.")]
TokenIds = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of tokens.")]
Verify = Annotated[bool, typer.Option("--verify", help="Check that nothing was changed, dropped or put in between.")]
Last = Annotated[int, typer.Option("-n", "--tail", min=1, metavar="N", help="At most so many.")]


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
    role: Role = "member",
    team: OnTeam = "*",
    expires: Expires = None,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,
) -> None:
    """Make a token. Its secret is shown now, and never again."""
    if role not in tuple(Roles):
        raise InvalidInput(f"--role: {role!r} is not a role; there are {', '.join(Roles)}")
    wishes: dict[str, Any] = {"name": name, "bindings": [{"role": role, "team": team}]}
    if expires is not None:
        wishes["expires_in_s"] = seconds(expires, "--expires")
    with connect() as client:
        made = client.create_token(**wishes)
    if output is Output.JSON:
        show_json(made.document)
    elif quiet:
        show_ids([made.secret or ""])
    else:
        until = f" until {moment(made.expires)}" if made.expires else ""
        note(f"{made.id} lets {name} in as {role} on {team}{until}; keep its secret, it is not shown again")
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
        from muster.cli.sheet import Sheet

        made = Sheet("id", "name", "may", "made", "expires", cut=("name", "may"))
        for each in found:
            end = f"revoked {moment(each.revoked)}" if each.revoked else moment(each.expires)
            made.add_row(each.id, each.name, bindings_text(each.bindings), moment(each.created), end)
        show(made, screen())


@token.command("revoke")
def revoke_token(ids: TokenIds, output: Printed = Output.TABLE) -> None:
    """Let tokens be worth nothing from now on."""
    with connect() as client:
        for each in ids:
            client.revoke_token(each)
            if output is Output.TABLE:
                show(f"{each} is revoked")
    if output is Output.JSON:
        show_json({"revoked": ids})


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


def audit(verify: Verify = False, tail: Last = 50, output: Printed = Output.TABLE) -> None:
    """Show who did what, the latest last; --verify checks that nothing of it was changed."""
    with connect() as client:
        if verify:
            _report_verdict(client.verify_audit(), output)
            return
        found = deque(client.audit(), maxlen=tail)
    if output is Output.JSON:
        show_json([each.document for each in found])
        return
    from muster.cli.sheet import Sheet

    made = Sheet("number", "when", "who", "did", "to", "details", numbers=("number",), cut=("to", "details"))
    for each in found:
        told = [each.reason, *(f"{key} {value}" for key, value in each.detail.items() if value != "done")]
        made.add_row(str(each.seq), moment(each.at), each.by, each.action, each.subject, ", ".join(filter(None, told)))
    show(made, screen())


def _report_verdict(verdict: dict[str, Any], output: Output) -> None:
    if output is Output.JSON:
        show_json(verdict)
    else:
        show(f"{verdict.get('entries')} entries and {verdict.get('events')} events were looked at")
    if not verdict.get("whole"):
        raise Corrupted("what is kept is not what was written: " + "; ".join(verdict.get("problems") or ["unknown"]))
    if output is not Output.JSON:
        show("nothing was changed, dropped or put in between")
