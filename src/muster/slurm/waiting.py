"""How a job ended, in exit codes of Slurm."""

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
