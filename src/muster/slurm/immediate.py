"""`--immediate`: a job that does not start in time is not wanted."""

import time
from collections.abc import Sequence
from typing import Any

from muster.client.answers import Job
from muster.client.client import Client
from muster.client.pauses import SHORTEST_S
from muster.formats.sbatch.options import Option
from muster.model.job import JobState
from muster.slurm.options import SlurmError

START_S = 10.0
"""How long a job may take to start that a dry run would start at once. Other jobs may have come in between."""


def immediate_s(options: Sequence[Option], command: str) -> float | None:
    """Within which time the job has to start, as `--immediate` says; 0 for at once, and None for whenever."""
    value = next((each.value for each in reversed(options) if each.name == "immediate"), None)
    if value is None:
        return None
    if value and not value.isdecimal():
        raise SlurmError(f"{command}: error: Invalid --immediate specification: {value}")
    return float(value or 0)


def check_starts_now(client: Client, document: dict[str, Any], within_s: float | None, command: str) -> None:
    """Refuse a job that has to start at once and would not."""
    if within_s == 0:
        answer = client.submit(document, dry_run=True)
        if not answer.placement:
            raise _impossible(command, "; ".join(reason.message for reason in answer.reasons))


def wait_for_start(client: Client, job: Job, within_s: float | None, command: str) -> None:
    """Cancel a job that has not started in time."""
    if within_s is None:
        return
    until_s = time.monotonic() + (within_s or START_S)
    while (found := client.job(job.id)).state in (JobState.BLOCKED, JobState.QUEUED):
        if time.monotonic() >= until_s:
            why = client.why(job.id)
            client.cancel(job.id, reason="it did not start in the time that --immediate gives")
            raise _impossible(command, "; ".join(reason.message for reason in why.reasons) or f"it is {found.state}")
        time.sleep(SHORTEST_S)


def _impossible(command: str, because: str) -> SlurmError:
    return SlurmError(f"{command}: error: Unable to allocate resources: Requested nodes are busy: {because}")
