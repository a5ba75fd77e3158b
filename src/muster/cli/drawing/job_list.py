"""Many jobs as a table: what each is, its state, and for how long."""

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console

from muster.cli.drawing.state_words import cause_text, job_state
from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import amount, between
from muster.cli.terminal.screen import is_plain, is_wide
from muster.cli.terminal.text import Text
from muster.client.answers import Job
from muster.formats.text.ranges import node_ranges
from muster.model.job import FINAL_STATES, Cause
from muster.model.printable import one_line

_TASK_ORDER = ("succeeded", "failed", "timed_out", "cancelled", "running", "starting", "checkpointing", "stopping")
SHORT_IDS = 3
"""How many jobs a short list names."""


def job_list(jobs: Sequence[Job], console: Console, present: datetime) -> TextTable:
    """A line for each job, with more columns if there is room for them."""
    wide, plain = is_wide(console), is_plain(console)
    extra = ("tier", "user") if wide else ()
    headings = ("job", "name", "team", *extra, "state", "for", "GPUs", "details")
    made = TextTable(*headings, numbers=("for", "GPUs"), cut=("name", "team", "details"))
    for job in jobs:
        more = (job.tier, job.user) if wide else ()
        state = job_state(job.state, plain=plain)
        who = (Text(job.id, style="bold"), job.name, job.team, *more)
        made.add_row(*who, state, time_in_state(job, present), amount(job.gpus), details(job))
    return made


def time_in_state(job: Job, present: datetime) -> str:
    """How long a job has waited or run, or how long it ran before it ended."""
    if job.is_final:
        return between(job.started or job.first_started or job.submitted, job.ended or present)
    return between(job.started or job.submitted, present)


def details(job: Job) -> str:
    """What matters most about a job in its present state."""
    if job.tasks:
        return array_text(job.tasks)
    if job.is_final:
        return outcome(job)
    if job.workers:
        nodes = node_ranges(worker.node for worker in job.workers)
        return f"{nodes}, attempt {job.attempt}" if job.attempt > 1 else nodes
    if job.depends_on and job.state == "blocked":
        return f"after {_names(job.depends_on)}"
    if job.reason and job.attempt:
        return f"again after {cause_text(job.reason)}"
    return ""


def outcome(job: Job) -> str:
    """How a job ended, in few words."""
    code = f"exit code {job.exit_code}" if job.exit_code not in (None, 0) else ""
    because = cause_text(job.reason) if job.reason not in (None, Cause.COMPLETED, job.state) else ""
    if job.problem:
        return one_line(job.problem)
    return ", ".join(filter(None, (because, code)))


def array_text(tasks: dict[str, int]) -> str:
    """`12/100 ended, 2 failed`."""
    ended = sum(tasks.get(state, 0) for state in FINAL_STATES)
    failed = sum(tasks.get(state, 0) for state in FINAL_STATES if state in ("failed", "timed_out"))
    return f"{ended}/{sum(tasks.values())} ended" + (f", {failed} failed" if failed else "")


def tasks_text(tasks: dict[str, int]) -> str:
    """`12 succeeded, 3 running, 85 blocked`."""
    order = [
        *(state for state in _TASK_ORDER if state in tasks),
        *(state for state in tasks if state not in _TASK_ORDER),
    ]
    return ", ".join(f"{tasks[state]} {state}" for state in order if tasks[state])


def dependency_name(dependency: object) -> str:
    """The id of a job that another job waits for, and how it must end unless it must succeed."""
    if not isinstance(dependency, dict):
        return str(dependency)
    when = dependency.get("when", "succeeded")
    return str(dependency.get("job")) + (f" ({when})" if when != "succeeded" else "")


def _names(dependencies: Sequence[object]) -> str:
    names = [dependency_name(each) for each in dependencies[:SHORT_IDS]]
    more = len(dependencies) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
