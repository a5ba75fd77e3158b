"""When waiting jobs may start, as a table, and what that rests on."""

from collections.abc import Sequence
from datetime import datetime

from muster.cli.drawing.reasons import grounds_text
from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import amount, between, until
from muster.cli.terminal.text import Text
from muster.client.answers import WaitingStart

UNKNOWN = "-"
"""Where there was no time to find out, or where a job starts later than estimates look ahead."""


def start_list(waiting: Sequence[WaitingStart], present: datetime) -> TextTable:
    """A line for each job."""
    headings = ("job", "name", "team", "GPUs", "waits for", "likely", "9 in 10", "promised")
    made = TextTable(*headings, numbers=("GPUs", "waits for", "likely", "9 in 10", "promised"), cut=("name", "team"))
    for each in waiting:
        estimate, hold = each.estimate, each.hold
        made.add_row(
            Text(each.job, style="bold"),
            each.name,
            each.team,
            amount(each.gpus),
            between(each.submitted, present),
            _until(None if estimate is None else estimate.p50, present),
            _until(None if estimate is None else estimate.p90, present),
            _until(None if hold is None else hold.start, present),
        )
    return made


def grounds_texts(waiting: Sequence[WaitingStart]) -> list[str]:
    """What the estimates rest on, each said once, and what makes promises far away."""
    grounds = [grounds_text(each.estimate) for each in waiting if each.estimate and each.estimate.rests_on]
    limits = [
        f"promised starts: {each.hold.rests_on}" for each in waiting if each.hold is not None and each.hold.rests_on
    ]
    return list(dict.fromkeys([*grounds, *limits[:1]]))


def _until(moment: datetime | None, present: datetime) -> str:
    return UNKNOWN if moment is None else until(moment, present)
