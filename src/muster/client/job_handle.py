"""A job as the client returns it: the answer of the server, with what one does next with a job."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from muster.answers.jobs import Job
from muster.client.answers import Log
from muster.client.building import build
from muster.model.errors import JobFailed

if TYPE_CHECKING:
    from muster.client.client import Client


class JobHandle(Job):
    """A job as it was when it was asked for. Its methods ask the server again."""

    __slots__ = ("_client",)

    if TYPE_CHECKING:
        _client: "Client"

    def refresh(self) -> "JobHandle":
        """The job as it is now."""
        return self._client.job(self.id)

    def wait(self, timeout: float | None = None) -> "JobHandle":
        """Wait until the job has ended in any way. Raises `TimedOut` after `timeout` seconds."""
        return self._client.wait(self.id, timeout)

    def logs(self, rank: int = 0, follow: bool = False, **details: Any) -> Iterator[Log]:
        """What a worker printed; with `follow` until it has ended, also if it has not started yet."""
        return self._client.logs(self.id, rank, follow, **details)

    def cancel(self, *, reason: str | None = None) -> "JobHandle":
        """End the job, or every task of an array."""
        return self._client.cancel(self.id, reason=reason)

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the end of the job, and return what its function returned; None for a job that runs a command.

        Raises what the function raised, with the traceback that it had there. A job that did not succeed and has no
        result, because it was cancelled or killed, raises `JobFailed`.
        """
        ended = self.wait(timeout)
        from muster.client.functions.results import function_result  # noqa: PLC0415 (most jobs run no function)

        found = function_result(ended)
        if found is not None:
            return found.value()
        if not ended.succeeded:
            raise JobFailed(_end(ended))
        return None


def job_handle(client: "Client", document: object) -> JobHandle:
    """The job in an answer of the server."""
    handle = build(JobHandle, document)
    object.__setattr__(handle, "_client", client)
    return handle


def _end(job: Job) -> str:
    """How a job ended, in a sentence."""
    reason = "" if job.reason in (None, job.state) else job.reason
    because = job.problem or (f"exit code {job.exit_code}" if job.exit_code else reason)
    return (
        f"{job.id} {job.state.replace('_', ' ')}{f': {because}' if because else ''}; `muster logs {job.id}` says more"
    )
