"""`muster health`: how nodes and their GPUs are, and why."""

from typing import Annotated

import typer

from muster.cli.terminal.completion import complete_node
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note, screen, show, show_json

# ruff: noqa: PLC0415

listing = Listing(CLUSTER)

OneNode = Annotated[
    str | None, typer.Argument(metavar="NODE", help="The name of a node.", autocompletion=complete_node)
]


@listing.add
def health(node: OneNode = None, output: Printed = Output.TABLE) -> None:
    """Show how nodes and their GPUs are: their states, why, and what was measured."""
    with connect() as client:
        found = list(client.nodes_health()) if node is None else [client.node_health(node)]
    if output is Output.JSON:
        documents = [each.document for each in found]
        show_json(documents if node is None else documents[0])
    elif found:
        from muster.cli.drawing.health import health_card, health_list

        console = screen()
        show(health_list(found) if node is None else health_card(found[0]), console)
    else:
        note("there are no nodes; `muster up --nodes 4x8` divides this machine into some")
