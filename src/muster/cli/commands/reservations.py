"""`muster reservation`: setting nodes aside for a team, a user or nobody, for a time."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from muster.answers.marks import time_text
from muster.cli.drawing.table import TextTable
from muster.cli.terminal.amounts import moment
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Because, Output, Printed, Quiet
from muster.cli.terminal.screen import note, show, show_ids, show_json
from muster.formats.text.ranges import node_ranges

if TYPE_CHECKING:
    from muster.client.answers import Reservation

reservation = typer.Typer(
    name="reservation", help="Nodes that are set aside for a team, a user or nobody.", no_args_is_help=True
)

listing = Listing(CLUSTER)
listing.add_group(reservation)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")]
Nodes = Annotated[list[str], typer.Option("--nodes", metavar="NODES", help="Such as n3 or n[1-4]; may be repeated.")]
From = Annotated[str, typer.Option("--from", metavar="TIME", help="2026-11-18T20:00:00Z, a length from now, or now.")]
To = Annotated[str, typer.Option("--to", metavar="TIME", help="A time, or a length such as 4h from the start.")]
Team = Annotated[str, typer.Option("--team", metavar="TEAM", help="Its jobs may use the nodes meanwhile.")]
User = Annotated[str, typer.Option("--user", metavar="USER", help="The jobs of this user may use the nodes meanwhile.")]


@reservation.command("create")
def create(
    name: Name,
    nodes: Nodes,
    to: To,
    start: From = "now",
    team: Team = "",
    user: User = "",
    reason: Because = None,
    output: Printed = Output.TABLE,
) -> None:
    """Set nodes aside. Without a team or a user nobody may use them: a maintenance window."""
    holder = {key: value for key, value in (("team", team), ("user", user), ("reason", reason or "")) if value}
    begin, end = start if start.strip() == "now" else moment(start, "--from"), moment(to, "--to")
    with connect() as client:
        made = client.reserve(name, nodes, begin, end, **holder)
    if output is Output.JSON:
        show_json(made.document)
        return
    when = f"from {_text(made.start)} to {_text(made.end)}"
    show(f"{node_ranges(made.nodes)} {_is(made)} set aside for {_holder(made)} {when}")
    if made.evicts:
        shown = " ".join(made.evicts[:20]) + (f" +{len(made.evicts) - 20}" if len(made.evicts) > 20 else "")
        note(f"running there: {shown}; told to save and leave when it starts, unless they are done by then")


@reservation.command("ls")
def ls(output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """List the reservations that are not over."""
    with connect() as client:
        found = list(client.reservations())
    if output is Output.JSON:
        show_json([each.document for each in found])
    elif quiet:
        show_ids(each.name for each in found)
    elif not found:
        note("no node is reserved; `muster reservation create` sets some aside")
    else:
        made = TextTable(
            "name", "nodes", "for", "from", "to", "open", "must leave", "because", cut=("nodes", "because")
        )
        for each in found:
            times = (_text(each.start), _text(each.end), "yes" if each.open else "no")
            leave = " ".join(each.evicts[:6]) + (f" +{len(each.evicts) - 6}" if len(each.evicts) > 6 else "")
            made.add_row(each.name, node_ranges(each.nodes), _holder(each), *times, leave, each.because or "")
        show(made)


@reservation.command("rm")
def rm(name: Name, reason: Because = None, output: Printed = Output.TABLE) -> None:
    """Let all jobs use the nodes again."""
    with connect() as client:
        client.remove_reservation(name, reason=reason)
    if output is Output.JSON:
        show_json({"removed": name})
    else:
        show(f"{name} is gone")


def _holder(each: "Reservation") -> str:
    return f"team {each.team}" if each.team else f"user {each.user}" if each.user else "nobody"


def _text(moment: datetime | None) -> str:
    return "?" if moment is None else time_text(moment.replace(microsecond=0))


def _is(each: "Reservation") -> str:
    return "is" if len(each.nodes) == 1 else "are"
