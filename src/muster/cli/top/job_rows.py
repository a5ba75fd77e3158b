"""The jobs as rows: which of them are shown, in which order, and what each row says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from rich.console import Console

from muster.cli.drawing.job_list import details, time_in_state
from muster.cli.drawing.state_words import job_state
from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import amount
from muster.cli.terminal.screen import is_plain, is_wide
from muster.cli.terminal.text import Text
from muster.cli.top.glance import Glance
from muster.cli.top.gpu_map import Letters, Paint, letter_style
from muster.client.answers import Job
from muster.model.job import OCCUPYING_STATES

KEYS = ("id", "name", "team", "user", "tier", "state")
"""What a word such as `team:nlp` may be about."""


class Which(StrEnum):
    """Which jobs are shown."""

    ALL = "all jobs"
    RUNNING = "running jobs"
    WAITING = "waiting jobs"


class JobOrder(StrEnum):
    """How jobs are sorted."""

    USUAL = "as they came"
    GPUS = "GPUs"
    TIME = "time"
    TEAM = "team"
    NAME = "name"

    @property
    def next(self) -> "JobOrder":
        """The order after this one."""
        all_orders = list(JobOrder)
        return all_orders[(all_orders.index(self) + 1) % len(all_orders)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChoice:
    """What the user wants to see of the jobs."""

    which: Which = Which.ALL
    order: JobOrder = JobOrder.USUAL
    is_reversed: bool = False
    words: str = ""
    """What a job must be about: words in its names, or `team:nlp` for one of `KEYS`."""

    def with_words(self, words: str) -> "JobChoice":
        """The same with another filter."""
        return replace(self, words=words)


def chosen(glance: Glance, choice: JobChoice) -> list[Job]:
    """The jobs that are shown, in their order."""
    jobs: list[Job] = []
    jobs += glance.running if choice.which is not Which.WAITING else []
    jobs += glance.waiting if choice.which is not Which.RUNNING else []
    jobs = [job for job in jobs if matches(job, choice.words)]
    key = _SORT_KEYS.get(choice.order)
    if key is not None:
        jobs.sort(key=lambda job: key(job, glance.present))
    return jobs[::-1] if choice.is_reversed else jobs


def matches(job: Job, words: str) -> bool:
    """True when a job is about every one of the words."""
    return all(_is_about(job, word) for word in words.lower().split())


def job_rows(jobs: Sequence[Job], letters: Letters, paint: Paint, console: Console, present: datetime) -> TextTable:
    """A row for each job, with the letter that it has on the map."""
    wide, plain = is_wide(console), is_plain(console)
    extra = ("tier", "user") if wide else ()
    headings = ("", "job", "name", "team", *extra, "state", "for", "GPUs", "details")
    made = TextTable(*headings, numbers=("for", "GPUs"), cut=("name", "team", "user", "details"))
    for job in jobs:
        letter = letters.get(paint.of(job), "") if job.state in OCCUPYING_STATES else ""
        sign = Text(letter, style=letter_style(letter)) if letter else Text()
        more = (job.tier, job.user) if wide else ()
        state = job_state(job.state, plain=plain)
        row = (sign, Text(job.id, style="bold"), job.name, job.team, *more, state)
        made.add_row(*row, time_in_state(job, present), amount(job.gpus), details(job))
    return made


def _is_about(job: Job, word: str) -> bool:
    key, separator, value = word.partition(":")
    if separator and key in KEYS:
        return value in str(getattr(job, key)).lower()
    named: list[str] = [str(getattr(job, each)) for each in KEYS]
    return any(word in each.lower() for each in (*named, *(worker.node for worker in job.workers)))


def _seconds(job: Job, present: datetime) -> float:
    since = job.started or job.submitted
    return (since - present).total_seconds() if since is not None else 0.0


_SORT_KEYS: Mapping[JobOrder, Callable[[Job, datetime], Any]] = {
    JobOrder.GPUS: lambda job, _: (-job.gpus, job.id),
    JobOrder.TIME: lambda job, present: (_seconds(job, present), job.id),
    JobOrder.TEAM: lambda job, _: (job.team, -job.gpus, job.id),
    JobOrder.NAME: lambda job, _: (job.name, job.id),
}
"""The most, the longest and the first of the alphabet come first."""
