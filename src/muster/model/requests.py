"""What a user asks of a job by naming it and nothing else: to cancel it, to hold it, to release it.

A request is an event, and `words` says what it is called wherever people meet it. Its operation of the API, its
command, its line in `muster events` and its sentence in a story all follow from here. What it makes of the job is in
`core.lifecycle.requests`.
"""

from typing import ClassVar, Final, get_args

from muster.model.ids import JobId
from muster.model.records import Record


class RequestWords(Record, frozen=True, kw_only=True):
    """What a request is called, and what is said of it."""

    verb: str
    """Its name in the API and on the command line."""
    done: str
    """What is said of the job afterwards, as in "held by ann"."""
    summary: str
    """What it does to a job, in a few words."""
    operation: str
    """The same in sentences, for the documentation of the API."""
    command: str
    """What the command does to the jobs that it names."""


class JobRequest(Record, frozen=True, kw_only=True):
    """Base of all requests. A request for an array is for each of its tasks."""

    words: ClassVar[RequestWords]
    may_come_late: ClassVar[bool] = False
    """True when a job that has ended is just as its user wants it, so that asking is no mistake."""

    at_ms: int
    job: JobId
    by: str = ""


class JobCancelRequested(JobRequest, frozen=True, kw_only=True):
    """Its user wants the job ended, whatever it is doing. For an array it means every task."""

    words = RequestWords(
        verb="cancel",
        done="cancelled",
        summary="End a job",
        operation="End a job, or every task of an array. A running job is told to stop, and killed when it does not.",
        command="End jobs, whatever they are doing. An array ends with all of its tasks.",
    )
    may_come_late = True


class JobHeld(JobRequest, frozen=True, kw_only=True):
    """Its user asked that the job not start until it is released. A running job goes on running."""

    words = RequestWords(
        verb="hold",
        done="held",
        summary="Keep a job from starting",
        operation="Keep a job from starting until it is released. A job that runs continues.",
        command="Keep jobs from starting until they are released. What runs goes on running.",
    )


class JobReleased(JobRequest, frozen=True, kw_only=True):
    """Its user released a held job."""

    words = RequestWords(
        verb="release",
        done="released",
        summary="Let a held job start",
        operation="Release a held job, so that it can start when it is its turn.",
        command="Let held jobs start.",
    )


class JobRequeueRequested(JobRequest, frozen=True, kw_only=True):
    """Its user, or the job itself, wants the present attempt ended and the job back in the queue."""

    words = RequestWords(
        verb="requeue",
        done="requeued",
        summary="Start a job again",
        operation="End the present attempt of a job, which saves itself first, and put the job back into the queue. It "
        "keeps its id and its place. A job that waits is left as it is.",
        command="End what jobs run now and put them back into the queue. They save themselves first.",
    )


RequestEvent = JobCancelRequested | JobHeld | JobReleased | JobRequeueRequested

REQUESTS: Final[tuple[type[RequestEvent], ...]] = get_args(RequestEvent)
"""All requests, in the order in which they are listed for people."""
