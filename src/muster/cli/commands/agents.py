"""`muster agent`: what connects a machine elsewhere with this Muster, as one of its nodes."""

from pathlib import Path
from typing import Annotated

import typer

from muster.access.permissions import Permission
from muster.cli.drawing.wording import moment
from muster.cli.terminal.amounts import seconds
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.options import Output, Printed, Quiet
from muster.cli.terminal.screen import note, show_ids, show_json
from muster.model.access import EVERY_TEAM, Role
from muster.model.errors import InvalidInput

# ruff: noqa: PLC0415

agent = typer.Typer(name="agent", help="Connect machines elsewhere as nodes.", no_args_is_help=True)

listing = Listing(SERVER)
listing.add_group(agent)

Where = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it, such as muster-agent.pyz.")]
NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="A node of [cluster] that has an engine.")]
Expires = Annotated[str, typer.Option("--expires", metavar="TIME", help="Worth nothing after this long.")]


@agent.command("write")
def write_agent(file: Where, output: Printed = Output.TABLE) -> None:
    """Write the agent as one file. It needs Python 3.11 or newer on the machine, and nothing of Muster."""
    from muster.worker.agent.packing import agent_file

    content = agent_file()
    try:
        file.write_bytes(content)
        file.chmod(0o755)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}") from None
    if output is Output.JSON:
        show_json({"file": str(file), "bytes": len(content)})
    else:
        note(f"on the machine: python3 {file.name} --url URL --node NODE --token-file FILE")


@agent.command("token")
def make_agent_token(
    node: NodeArgument, expires: Expires = "365d", output: Printed = Output.TABLE, quiet: Quiet = False
) -> None:
    """Make the token of a node's agent. It connects that node and may do nothing else."""
    with connect() as client:
        made = client.create_token(
            name=node,
            subject=f"agent/{node}",
            bindings=[{"role": Role.OPERATOR, "team": EVERY_TEAM}],
            scopes=[Permission.AGENTS_CONNECT],
            expires_in_s=seconds(expires, "--expires"),
        )
    if output is Output.JSON:
        show_json(made.document)
        return
    if not quiet:
        until = f" until {moment(made.expires)}" if made.expires else ""
        note(f"{made.id} connects {node}{until}; keep its secret, it is not shown again")
    show_ids([made.secret or ""])
