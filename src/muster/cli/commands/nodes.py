"""`muster nodes`, `muster drain`, `muster undrain`: looking at machines, and taking them out."""

from typing import TYPE_CHECKING

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Because, NodeNames, Output, Printed, Quiet
from muster.cli.terminal.screen import note, screen, show, show_ids, show_json

if TYPE_CHECKING:
    from muster.client.answers import Node

# ruff: noqa: PLC0415

listing = Listing(CLUSTER)


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
def drain(names: NodeNames, reason: Because = None, output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """Give nodes no new work. What runs there may end in its own time."""
    with connect() as client:
        _report([client.drain(name, reason=reason) for name in names], output, quiet=quiet)


@listing.add
def undrain(names: NodeNames, reason: Because = None, output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """Let nodes take work again."""
    with connect() as client:
        _report([client.undrain(name, reason=reason) for name in names], output, quiet=quiet)


def _report(changed: "list[Node]", output: Output, *, quiet: bool) -> None:
    if output is Output.JSON:
        show_json([node.document for node in changed])
    elif quiet:
        show_ids(node.name for node in changed)
    else:
        for node in changed:
            busy = f"; {len(node.jobs)} of its jobs may end in their own time" if node.jobs else ""
            show(f"{node.name} is {node.state}{busy if node.state == 'draining' else ''}")
