"""`muster events`: what happened, and what happens."""

from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.terminal.completion import complete_job
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Follow, Output, Printed
from muster.cli.terminal.screen import screen, show, show_json_line

if TYPE_CHECKING:
    from rich.console import Console

    from muster.client.answers import Event

# ruff: noqa: PLC0415

SHOWN = 50

After = Annotated[int | None, typer.Option(min=0, metavar="VERSION", help="Those after this version.")]
OfJob = Annotated[str | None, typer.Option("--job", metavar="JOB", help="Of this job.", autocompletion=complete_job)]
OfTeam = Annotated[str | None, typer.Option("--team", metavar="TEAM", help="Of this team and those below it.")]
Last = Annotated[int, typer.Option("-n", "--tail", min=1, metavar="N", help="Only the last N of those so far.")]

listing = Listing(CLUSTER)


@listing.add
def events(
    follow: Follow = False,
    after: After = None,
    job: OfJob = None,
    team: OfTeam = None,
    tail: Last = SHOWN,
    output: Printed = Output.TABLE,
) -> None:
    """Print what happened to jobs and nodes; -f goes on with what happens from now on.

    As json it is one object to a line.
    """
    from muster.cli.following.following import leaving

    console = screen()
    with connect() as client, leaving():
        if not follow or after is not None:
            past = client.events(after or 0, job=job, team=team, follow=False)
            for event in deque(past, maxlen=None if after is not None else tail):
                _print(event, output, console)
                after = event.version
        if follow:
            for event in client.events(after, job=job, team=team):
                _print(event, output, console)


def _print(event: "Event", output: Output, console: "Console") -> None:
    if output is Output.JSON:
        show_json_line(event.document)
        return
    from muster.cli.drawing.event_lines import event_line
    from muster.cli.drawing.wording import now

    show(event_line(event, now()), console)
