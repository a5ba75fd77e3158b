"""`muster story`: how a job got where it is."""

from typing import TYPE_CHECKING

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobId, Output, Printed
from muster.cli.terminal.screen import screen, show, show_json

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console, RenderableType

    from muster.client.answers import Story

# ruff: noqa: PLC0415

listing = Listing(JOBS)


@listing.add
def story(job: JobId, output: Printed = Output.TABLE) -> None:
    """Tell how a job got where it is, oldest first."""
    with connect() as client:
        answer = client.story(job)
    if output is Output.JSON:
        show_json(answer.document)
        return
    from muster.cli.drawing.wording import now

    console = screen()
    show(story_text(answer, console, now()), console)


def story_text(story: "Story", console: "Console", present: "datetime") -> "RenderableType":
    """The job and its state, and a line for each thing that happened: when, and how long after the previous one."""
    from rich.console import Group
    from rich.table import Table

    from muster.cli.drawing.state_words import job_state, job_style
    from muster.cli.drawing.wording import between, clock, count
    from muster.cli.terminal.screen import is_plain
    from muster.cli.terminal.text import Text
    from muster.model.printable import one_line

    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(justify="right", no_wrap=True)
    rows.add_column(overflow="fold")
    before = None
    for number, each in enumerate(story.sentences):
        if number == 1 and story.left_out:
            rows.add_row("", "", Text(f"… {count(story.left_out, 'sentence')} left out …", style="dim"))
        again = f", {each.times} times" if each.times > 1 else ""
        after = f"+{between(before, each.at)}" if before is not None and each.at is not None else ""
        text = Text(f"{one_line(each.text)}{again}", style=job_style(each.state or ""))
        rows.add_row(Text(clock(each.at, present), style="dim"), Text(after, style="dim"), text)
        before = each.at
    head = Text.assemble((story.job, "bold"), "  ", job_state(story.state, plain=is_plain(console)))
    return Group(head, rows)
