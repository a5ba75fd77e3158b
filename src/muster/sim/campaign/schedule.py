"""A fault schedule: everything that comes from outside, drawn from one number.

What is drawn does not depend on what the engine does with it, so that a number names the same schedule for ever.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from muster.estimates.training import Habits
from muster.model.ids import JobId
from muster.model.policy import HOUR_MS, MINUTE_MS
from muster.model.scenario import Scenario
from muster.sim.campaign.circumstances import circumstances
from muster.sim.campaign.workload import Submission, a_submission

HAPPENINGS_MIN, HAPPENINGS_MAX = 14, 34
"""Enough for faults to meet each other, few enough for a schedule to take a tenth of a second."""


class Deed(StrEnum):
    """What can happen from outside."""

    SUBMIT = "submit"
    HOLD = "hold"
    RELEASE = "release"
    CANCEL = "cancel"
    RETRY_ARRAY = "retry the failed of an array"
    LOSE_NODE = "lose a node"
    LOSE_RACK = "lose a rack"
    RETURN_NODE = "return a node"
    DRAIN = "drain a node"
    UNDRAIN = "undrain a node"
    BREAK_GPU = "break a GPU"
    MEND_GPU = "mend a GPU"
    SLOW = "slow a node down"
    RECLAIM = "reclaim a spot node"
    RESTART = "restart the engine"
    KILL = "kill the engine before its commands are sent"
    USURP = "start a second engine beside the first"
    OUTAGE = "cut the connection to the backend"
    MEET = "reconnect to the backend"
    REPEAT = "repeat an old command"
    JUMP = "let the clock jump"
    STAND = "let the clock stand still"
    SUPERVISOR = "let a supervisor die"
    FREEZE = "freeze the engine"
    SET_BACK = "set the wall clock back"
    LOG_FULL = "let the log refuse to be written"
    LOG_SILENT = "lose the answer of the log"
    LOG_MOVED = "move the log away"
    DOWN = "end everything and start again"
    RESTORE = "put an older copy of the log in its place"
    TAKE_OVER = "let another home take over"


_WEIGHTS = {
    Deed.SUBMIT: 30,
    Deed.HOLD: 3,
    Deed.RELEASE: 3,
    Deed.CANCEL: 4,
    Deed.RETRY_ARRAY: 1,
    Deed.LOSE_NODE: 6,
    Deed.LOSE_RACK: 1,
    Deed.RETURN_NODE: 6,
    Deed.DRAIN: 3,
    Deed.UNDRAIN: 3,
    Deed.BREAK_GPU: 3,
    Deed.MEND_GPU: 2,
    Deed.SLOW: 2,
    Deed.RECLAIM: 2,
    Deed.RESTART: 5,
    Deed.KILL: 3,
    Deed.USURP: 1,
    Deed.OUTAGE: 2,
    Deed.MEET: 4,
    Deed.REPEAT: 4,
    Deed.JUMP: 2,
    Deed.STAND: 1,
}

_LATER_WEIGHTS = {
    Deed.SUPERVISOR: 12,
    Deed.FREEZE: 3,
    Deed.SET_BACK: 2,
    Deed.LOG_FULL: 2,
    Deed.LOG_SILENT: 3,
    Deed.LOG_MOVED: 1,
    Deed.DOWN: 2,
    Deed.RESTORE: 3,
    Deed.TAKE_OVER: 1,
}
"""Drawn from a stream of their own: what was drawn before there were such deeds stays as it was for its number."""

LATER_MAX = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that comes from outside."""

    at_ms: int
    deed: Deed
    pick: int
    """Which of the jobs, nodes or commands that are there it concerns."""
    amount_ms: int = 0
    submission: Submission | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreliability:
    """How often reports go astray, in per cent."""

    lost: int = 0
    repeated: int = 0
    late: int = 0
    late_ms: int = 0
    """The longest that one is under way."""
    no_start: int = 0
    """Starts that fail."""


RELIABLE = Unreliability()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Everything that one number stands for."""

    seed: int
    scenario: Scenario
    happenings: tuple[Happening, ...]
    unreliability: Unreliability
    whole_gangs: bool
    """True: gangs train as a whole in the simulated world; False: every process lives by a script of its own."""
    habits: Habits
    in_batches: bool
    """True: all reports of a moment are written together."""


def schedule(seed: int) -> Schedule:
    """The schedule that a number stands for."""
    chance = Random(f"schedule {seed}")
    scenario = circumstances(chance)
    return Schedule(
        seed=seed,
        scenario=scenario,
        happenings=_merged(_happenings(chance, scenario), Random(f"supervisors {seed}")),
        unreliability=_unreliability(chance),
        whole_gangs=chance.random() < 0.35,
        habits=_habits(chance),
        in_batches=chance.random() < 0.2,
    )


def _happenings(chance: Random, scenario: Scenario) -> tuple[Happening, ...]:
    drawn: list[Happening] = []
    jobs: list[JobId] = []
    at_ms = 0
    for number in range(chance.randint(HAPPENINGS_MIN, HAPPENINGS_MAX)):
        deed = Deed.SUBMIT if number < 4 else chance.choices(tuple(_WEIGHTS), tuple(_WEIGHTS.values()))[0]
        happening = Happening(
            at_ms=at_ms,
            deed=deed,
            pick=chance.randrange(1 << 16),
            amount_ms=chance.choice((MINUTE_MS, 20 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS)),
        )
        if deed is Deed.SUBMIT:
            submission = a_submission(chance, JobId(f"j{len(jobs) + 1}"), jobs, scenario.cluster)
            jobs.append(submission.job)
            happening = replace(happening, submission=submission)
        drawn.append(happening)
        at_ms += chance.choice((0, 0, 1_000, MINUTE_MS, 10 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS))
    return tuple(drawn)


def _merged(drawn: tuple[Happening, ...], chance: Random) -> tuple[Happening, ...]:
    """What happens to supervisors, clocks and logs, among the rest by the order of time."""
    last_ms = drawn[-1].at_ms + HOUR_MS
    further = [
        Happening(
            at_ms=chance.randrange(last_ms),
            deed=chance.choices(tuple(_LATER_WEIGHTS), tuple(_LATER_WEIGHTS.values()))[0],
            pick=chance.randrange(1 << 16),
            amount_ms=chance.choice((0, 1_000, 25_000, 5 * MINUTE_MS, 20 * MINUTE_MS, HOUR_MS)),
        )
        for _ in range(chance.randint(0, LATER_MAX))
    ]
    return tuple(sorted((*drawn, *further), key=lambda happening: happening.at_ms))


def _unreliability(chance: Random) -> Unreliability:
    if chance.random() < 0.25:
        return RELIABLE
    return Unreliability(
        lost=chance.choice((0, 0, 5, 20)),
        repeated=chance.choice((0, 10, 40)),
        late=chance.choice((0, 10, 40)),
        late_ms=chance.choice((2_000, MINUTE_MS, HOUR_MS)),
        no_start=chance.choice((0, 0, 10)),
    )


def _habits(chance: Random) -> Habits:
    return Habits(
        start_ms=chance.choice((0, 30_000)),
        restart_cost_ms=chance.choice((0, MINUTE_MS)),
        save_every_ms=chance.choice((0, 10 * MINUTE_MS, 30 * MINUTE_MS)),
        save_cost_ms=chance.choice((0, 10_000, 60_000)),
        leave_ms=chance.choice((0, 20_000, 10 * MINUTE_MS)),
    )
