"""`muster nodes`, `muster drain`, `muster undrain`, `muster fence`: looking at machines, and taking them out."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Because, NodeNames, Output, Printed, Quiet
from muster.cli.terminal.screen import note, screen, show, show_ids, show_json
from muster.model.errors import InvalidInput

if TYPE_CHECKING:
    from muster.client.answers import Node

# ruff: noqa: PLC0415

listing = Listing(CLUSTER)

JOBS_TOLD = 8
"""How many jobs of a drained node are named."""

Evict = Annotated[bool, typer.Option("--evict", help="Tell what runs there to save itself and leave.")]
Grace = Annotated[
    str | None, typer.Option("--grace", metavar="TIME", help="How long it may take, such as 5m; else as jobs ask.")
]


@listing.add
def nodes(output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """List the nodes with their state and the GPUs in use."""
    with connect() as client:
        found = list(client.nodes())
    if output is Output.JSON:
        show_json([node.document for node in found])
    elif quiet:
        show_ids(node.name for node in found)
    elif found:
        from muster.cli.drawing.node_list import node_list

        console = screen()
        show(node_list(found, console), console)
    else:
        note("there are no nodes; `muster up --nodes 4x8` divides this machine into some")


@listing.add
def drain(
    names: NodeNames,
    evict: Evict = False,
    grace: Grace = None,
    reason: Because = None,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,
) -> None:
    """Give nodes no new work. What runs there may end in its own time, or is told to leave with --evict."""
    if grace is not None and not evict:
        raise InvalidInput("--grace says how long jobs that are told to leave may take: give --evict as well")
    with connect() as client:
        changed = [client.drain(name, reason=reason, evict=evict, grace=grace) for name in names]
    told = f"told to save and leave within {grace or 'their grace periods'}" if evict else "may end in their own time"
    _report(changed, output, quiet=quiet, told=told)


@listing.add
def undrain(names: NodeNames, reason: Because = None, output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """Let nodes take work again."""
    with connect() as client:
        _report([client.undrain(name, reason=reason) for name in names], output, quiet=quiet, told="")


@listing.add
def fence(names: NodeNames, reason: Because = None, output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """Say that nodes which cannot be reached are off. What they ran is started elsewhere."""
    with connect() as client:
        _report([client.fence(name, reason=reason) for name in names], output, quiet=quiet, told="")


def _report(changed: "list[Node]", output: Output, *, quiet: bool, told: str) -> None:
    if output is Output.JSON:
        show_json([node.document for node in changed])
    elif quiet:
        show_ids(node.name for node in changed)
    else:
        for node in changed:
            named = " ".join(node.jobs[:JOBS_TOLD]) + (" …" if len(node.jobs) > JOBS_TOLD else "")
            busy = f"; {len(node.jobs)} of its jobs {told}: {named}" if node.jobs else ""
            show(f"{node.name} is {node.state}{busy if node.state == 'draining' else ''}")
