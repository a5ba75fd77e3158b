"""`muster top`: the cluster on one screen, as it changes."""

import sys
from typing import Annotated

import typer

from muster.cli.drawing.wording import now
from muster.cli.terminal.amounts import seconds
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import screen, show, show_json

# ruff: noqa: PLC0415

EVERY_MIN_S = 0.2

Once = Annotated[bool, typer.Option("--once", help="One picture as text, then stop; so it is when piped.")]
Every = Annotated[
    str, typer.Option("--every", metavar="TIME", help="How often to look when no event says that something changed.")
]

listing = Listing(CLUSTER)


@listing.add
def top(once: Once = False, every: Every = "5s", output: Printed = Output.TABLE) -> None:
    """Show how full the cluster is, what runs, and why jobs wait, live and with keys; ? shows them, q leaves."""
    every_s = max(EVERY_MIN_S, seconds(every, "--every"))
    console = screen()
    # The live screen is drawn on stderr and reads keys, so all three must be the terminal.
    is_live = console.is_terminal and sys.stdin.isatty() and sys.stderr.isatty()
    if output is Output.JSON or once or not is_live:
        _show_once(output)
        return
    from muster.cli.top.app import Top

    Top(lambda pause: connect(sleep=pause), console, every_s=every_s).run()


def _show_once(output: Output) -> None:
    from muster.cli.top.glance import look, snapshot

    with connect() as client:
        glance = look(client, now())
    if output is Output.JSON:
        show_json(snapshot(glance))
        return
    from muster.cli.top.still import frame

    console = screen()
    show(frame(glance, console), console)
