"""`muster top`: the cluster on one screen, as it changes."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.drawing.wording import now
from muster.cli.terminal.amounts import seconds
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import screen, show, show_json
from muster.model.errors import Unavailable

if TYPE_CHECKING:
    from muster.cli.drawing.dashboard import Glance
    from muster.client import Client

# ruff: noqa: PLC0415

JOBS_LOOKED_AT = 500

Once = Annotated[bool, typer.Option("--once", help="One picture, then stop; so it is when piped.")]
Every = Annotated[str, typer.Option("--every", metavar="TIME", help="How often to look.")]

listing = Listing(CLUSTER)


@listing.add
def top(once: Once = False, every: Every = "2s", output: Printed = Output.TABLE) -> None:
    """Show how full the cluster is, what runs and what waits, until Ctrl-C."""
    from muster.cli.drawing.dashboard import frame
    from muster.cli.following.following import leaving

    pause_s = max(0.2, seconds(every, "--every"))
    console = screen()
    with connect() as client:
        if output is Output.JSON:
            glance = _glance(client)
            lists = {"nodes": glance.nodes, "jobs": glance.jobs}
            documents = {name: [each.document for each in found] for name, found in lists.items()}
            show_json({"queue": glance.queue, **documents})
        elif once or not console.is_terminal:
            show(frame(_glance(client), console), console)
        else:
            with leaving():
                _live(client, pause_s)


def _live(client: "Client", pause_s: float) -> None:
    """Draw again and again. While the server is away, show the error above the last picture."""
    from rich.console import Group, RenderableType
    from rich.live import Live

    from muster.cli.drawing.dashboard import frame
    from muster.cli.terminal.text import Text

    console = screen()
    picture: RenderableType = frame(_glance(client), console, rows=console.height)
    with Live(picture, console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(picture, refresh=True)
            time.sleep(pause_s)
            try:
                picture = frame(_glance(client), console, rows=console.height)
            except Unavailable as error:
                live.update(Group(Text(str(error), style="red"), Text(), picture), refresh=True)


def _glance(client: "Client") -> "Glance":
    from muster.cli.drawing.dashboard import Glance

    nodes = list(client.nodes())
    jobs = list(client.jobs(state="active", limit=JOBS_LOOKED_AT))
    return Glance(url=client.url, present=now(), nodes=nodes, jobs=jobs, queue=client.queue())
