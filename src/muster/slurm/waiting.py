"""How a job ended, in exit codes of Slurm, and what a signal means to a command that waits for it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from muster.client.answers import Job
from muster.client.client import Client
from muster.model.job import JobState

CANCELLED = 6
"""The exit code of `srun` for a job that was cancelled or has timed out."""


def exit_code_of(job: Job, client: Client) -> int:
    """The exit code of a job; of an array, the highest of its tasks."""
    if job.tasks is not None:
        return max((exit_code_of(task, client) for task in client.jobs(array=job.id)), default=0)
    if job.state == JobState.SUCCEEDED:
        return 0
    if job.state in (JobState.CANCELLED, JobState.TIMED_OUT):
        return CANCELLED
    return job.exit_code or 1


@contextmanager
def leave_on_signals() -> Iterator[None]:
    """Let what ends a command end the waiting, so that the job can be ended too."""

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
