"""States and causes on the terminal: with their signs, colours and words."""

from muster.cli.terminal.text import Text
from muster.model.job import CAUSE_WORDS, STATES, StateFacts
from muster.model.node import NodeState

_JOBS: dict[str, StateFacts] = {state.value: facts for state, facts in STATES.items()}
_UNKNOWN = StateFacts(sign="?", colour="")
"""A newer server may have states that are not known here."""

_CAUSES: dict[str, str] = {cause.value: words for cause, words in CAUSE_WORDS.items()}

_NODE_STYLES: dict[str, str] = {
    NodeState.READY: "green",
    NodeState.SUSPECT: "yellow",
    NodeState.DRAINING: "magenta",
    NodeState.DRAINED: "magenta",
    NodeState.PROBATION: "cyan",
    NodeState.DOWN: "red",
}


def job_state(state: str, *, plain: bool) -> Text:
    """A job's state with a sign that can be told apart without colours."""
    facts = _JOBS.get(state, _UNKNOWN)
    return Text(state if plain else f"{facts.sign} {state}", style=facts.colour)


def job_style(state: str) -> str:
    """The colour of a state."""
    return _JOBS.get(state, _UNKNOWN).colour


def state_news(state: str, job: str) -> str:
    """What a user who follows a job is told when it enters a state; empty when nothing is."""
    return _JOBS.get(state, _UNKNOWN).news.format(state=state, job=job)


def cause_text(cause: str | None) -> str:
    """Why an attempt ended, in words that need no manual."""
    return "" if cause is None else _CAUSES.get(cause, cause)


def node_style(state: str) -> str:
    """The colour of a node's state."""
    return _NODE_STYLES.get(state, "")
