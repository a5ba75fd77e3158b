"""The words, signs and colours of states: one line for each state of a job, of a node, and for each cause."""

from typing import NamedTuple

from muster.cli.terminal.text import Text
from muster.model.job import Cause, JobState
from muster.model.node import NodeState

ASK_WHY = "is {state}; `muster why {job}` says why"
"""What is said of a job that is followed and waits."""


class _Words(NamedTuple):
    """How a state of a job is shown."""

    sign: str
    """Can be told from the others without colours."""
    style: str
    meaning: str
    """What `muster why` says when there is no reason to name."""
    news: str = ""
    """What is said of a job that is followed when it enters the state; empty when nothing is."""


_OVER = "it does not wait any more"

_JOBS: dict[str, _Words] = {
    JobState.BLOCKED: _Words("◌", "yellow", _OVER, ASK_WHY),
    JobState.HELD: _Words("◌", "magenta", _OVER, ASK_WHY),
    JobState.QUEUED: _Words("○", "yellow", "nothing keeps it waiting: it starts with the next plan", ASK_WHY),
    JobState.STARTING: _Words("◐", "cyan", "it is being started"),
    JobState.RUNNING: _Words("●", "green", "it runs"),
    JobState.CHECKPOINTING: _Words(
        "◑",
        "cyan",
        "it saves itself and leaves its GPUs to another",
        "saves itself and leaves its GPUs to another job; it goes on later",
    ),
    JobState.STOPPING: _Words("◑", "red", "it is being ended"),
    JobState.SUCCEEDED: _Words("✓", "blue", _OVER),
    JobState.FAILED: _Words("✗", "red", _OVER),
    JobState.CANCELLED: _Words("–", "dim", _OVER),
    JobState.TIMED_OUT: _Words("✗", "red", _OVER),
}
_UNKNOWN = _Words("?", "", _OVER)

_CAUSES: dict[str, str] = {
    Cause.ERROR: "an error",
    Cause.OOM: "out of memory",
    Cause.TIMEOUT: "its time limit",
    Cause.PREEMPTED: "preemption",
    Cause.NODE_FAILURE: "a lost node",
    Cause.START_FAILURE: "a failed start",
    Cause.DEPENDENCY: "a dependency that failed",
}

_NODE_STYLES: dict[str, str] = {
    NodeState.READY: "green",
    NodeState.SUSPECT: "yellow",
    NodeState.DRAINING: "magenta",
    NodeState.DRAINED: "magenta",
    NodeState.DOWN: "red",
}


def job_state(state: str, *, plain: bool) -> Text:
    """A job's state with a sign that can be told apart without colours."""
    words = _JOBS.get(state, _UNKNOWN)
    return Text(state if plain else f"{words.sign} {state}", style=words.style)


def job_style(state: str) -> str:
    """The colour of a state."""
    return _JOBS.get(state, _UNKNOWN).style


def state_meaning(state: str) -> str:
    """What a state says about waiting, for a job without a reason."""
    return _JOBS.get(state, _UNKNOWN).meaning


def state_news(state: str, job: str) -> str:
    """What a user who follows a job is told when it enters a state; empty when nothing is."""
    return _JOBS.get(state, _UNKNOWN).news.format(state=state, job=job)


def cause_text(cause: str | None) -> str:
    """Why an attempt ended, in words that need no manual."""
    return "" if cause is None else _CAUSES.get(cause, cause)


def node_style(state: str) -> str:
    """The colour of a node's state."""
    return _NODE_STYLES.get(state, "")
