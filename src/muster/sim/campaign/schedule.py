"""A fault schedule: everything that comes from outside, drawn from one seed.

What is drawn does not depend on what the engine does, so that a seed always names the same schedule.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from muster.estimates.training import Habits
from muster.model.ids import JobId
from muster.model.policy import HOUR_MS, MINUTE_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.sim.campaign.random_cluster import circumstances, labelled
from muster.sim.campaign.workload import Submission, a_submission, particular, saved_by_steps, with_remedies

HAPPENINGS_MIN, HAPPENINGS_MAX = 14, 34
"""Enough happenings for faults to overlap, and few enough for a schedule to take a tenth of a second."""


class FaultAction(StrEnum):
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
    DAMAGE = "damage a checkpoint"
    REFUSE_UPLOADS = "let durable storage refuse copies"
    REMOVE_CHECKPOINT = "remove a checkpoint"
    STRAGGLER = "find a slow rank"
    HANG = "find a job that stands still"
    FLAP = "let probes of nodes flap"
    RESERVE = "set nodes aside"
    UNRESERVE = "take a reservation back"
    EVICT = "drain a node and tell its jobs to leave"


_WEIGHTS = {
    FaultAction.SUBMIT: 30,
    FaultAction.HOLD: 3,
    FaultAction.RELEASE: 3,
    FaultAction.CANCEL: 4,
    FaultAction.RETRY_ARRAY: 1,
    FaultAction.LOSE_NODE: 6,
    FaultAction.LOSE_RACK: 1,
    FaultAction.RETURN_NODE: 6,
    FaultAction.DRAIN: 3,
    FaultAction.UNDRAIN: 3,
    FaultAction.BREAK_GPU: 3,
    FaultAction.MEND_GPU: 2,
    FaultAction.SLOW: 2,
    FaultAction.RECLAIM: 2,
    FaultAction.RESTART: 5,
    FaultAction.KILL: 3,
    FaultAction.USURP: 1,
    FaultAction.OUTAGE: 2,
    FaultAction.MEET: 4,
    FaultAction.REPEAT: 4,
    FaultAction.JUMP: 2,
    FaultAction.STAND: 1,
}

_LATER_WEIGHTS = {
    FaultAction.SUPERVISOR: 12,
    FaultAction.FREEZE: 3,
    FaultAction.SET_BACK: 2,
    FaultAction.LOG_FULL: 2,
    FaultAction.LOG_SILENT: 3,
    FaultAction.LOG_MOVED: 1,
    FaultAction.DOWN: 2,
    FaultAction.RESTORE: 3,
    FaultAction.TAKE_OVER: 1,
}
"""Drawn from a random stream of their own, so that they do not change what else is drawn for a seed."""

LATER_MAX = 6

_TRAINING_WEIGHTS = {
    FaultAction.DAMAGE: 10,
    FaultAction.REFUSE_UPLOADS: 2,
    FaultAction.REMOVE_CHECKPOINT: 3,
    FaultAction.LOSE_NODE: 1,
    FaultAction.RETURN_NODE: 1,
}
"""What happens where jobs save by steps. Drawn from a random stream of its own, like how these jobs save."""

TRAINING_MIN, TRAINING_MAX = 3, 12

_VERDICT_WEIGHTS = {FaultAction.STRAGGLER: 4, FaultAction.HANG: 2, FaultAction.FLAP: 4}
"""Verdicts on ranks and nodes. Drawn from a random stream of their own."""

VERDICTS_MAX = 10

_RESERVATION_WEIGHTS = {FaultAction.RESERVE: 6, FaultAction.UNRESERVE: 2, FaultAction.EVICT: 2, FaultAction.UNDRAIN: 1}
"""What operators do with nodes where jobs are particular about theirs. Drawn from a random stream of their own."""

RESERVATIONS_MAX = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that comes from outside."""

    at_ms: int
    action: FaultAction
    pick: int
    """Selects one of the present jobs, nodes or commands."""
    amount_ms: int = 0
    submission: Submission | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreliability:
    """How often reports and starts go wrong, in per cent."""

    lost: int = 0
    repeated: int = 0
    late: int = 0
    late_ms: int = 0
    """The longest time that a report is under way."""
    no_start: int = 0
    """Starts that fail."""


RELIABLE = Unreliability()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Everything that one seed stands for."""

    seed: int
    scenario: Scenario
    happenings: tuple[Happening, ...]
    unreliability: Unreliability
    whole_gangs: bool
    """True: gangs train as a whole in the simulated world. False: every process follows a script of its own."""
    habits: Habits
    in_batches: bool
    """True: all reports of a moment are written together."""
    is_crowd: bool = False
    """True: jobs wait for hours, and what bounds their waits is known (`crowd`)."""


def schedule(seed: int) -> Schedule:
    """The schedule that a seed stands for."""
    chance = Random(f"schedule {seed}")
    scenario = circumstances(chance, Random(f"spares {seed}"))
    drawn = Schedule(
        seed=seed,
        scenario=scenario,
        happenings=_merged(_happenings(chance, scenario), Random(f"supervisors {seed}")),
        unreliability=_unreliability(chance),
        whole_gangs=chance.random() < 0.35,
        habits=_habits(chance),
        in_batches=chance.random() < 0.2,
    )
    drawn = _with_verdicts(_with_training(drawn, Random(f"training {seed}")), Random(f"verdicts {seed}"))
    return _with_reservations(drawn, Random(f"setting aside {seed}"))


def _with_reservations(drawn: Schedule, chance: Random) -> Schedule:
    """In half of the schedules nodes have labels, jobs choose among them, and operators set nodes aside."""
    if chance.random() < 0.5:
        return drawn
    nodes = labelled(chance, drawn.scenario.cluster.nodes)
    cluster = evolve(drawn.scenario.cluster, nodes=nodes)
    happenings = tuple(
        each if each.submission is None else replace(each, submission=particular(chance, each.submission, nodes))
        for each in drawn.happenings
    )
    last_ms = happenings[-1].at_ms + HOUR_MS
    further = _further(chance, _RESERVATION_WEIGHTS, chance.randint(1, RESERVATIONS_MAX), last_ms)
    scenario = evolve(drawn.scenario, cluster=cluster)
    return replace(drawn, scenario=scenario, happenings=_in_order(*happenings, *further))


def _with_verdicts(drawn: Schedule, chance: Random) -> Schedule:
    """In half of the schedules without whole gangs, jobs say what to do about slow ranks and hangs, and these come."""
    if drawn.whole_gangs or chance.random() < 0.5:
        return drawn
    happenings = tuple(
        each if each.submission is None else replace(each, submission=with_remedies(chance, each.submission))
        for each in drawn.happenings
    )
    last_ms = happenings[-1].at_ms + HOUR_MS
    further = _further(chance, _VERDICT_WEIGHTS, chance.randint(1, VERDICTS_MAX), last_ms)
    return replace(drawn, happenings=_in_order(*happenings, *further))


def _with_training(drawn: Schedule, chance: Random) -> Schedule:
    """In half of the schedules in which processes are simulated, jobs save by steps and their checkpoints suffer."""
    if drawn.whole_gangs or chance.random() < 0.5:
        return drawn
    happenings = tuple(
        each if each.submission is None else replace(each, submission=saved_by_steps(chance, each.submission))
        for each in drawn.happenings
    )
    last_ms = happenings[-1].at_ms + HOUR_MS
    further = _further(chance, _TRAINING_WEIGHTS, chance.randint(TRAINING_MIN, TRAINING_MAX), last_ms)
    return replace(drawn, happenings=_in_order(*happenings, *further))


def _happenings(chance: Random, scenario: Scenario) -> tuple[Happening, ...]:
    drawn: list[Happening] = []
    jobs: list[JobId] = []
    at_ms = 0
    for number in range(chance.randint(HAPPENINGS_MIN, HAPPENINGS_MAX)):
        action = FaultAction.SUBMIT if number < 4 else chance.choices(tuple(_WEIGHTS), tuple(_WEIGHTS.values()))[0]
        happening = Happening(
            at_ms=at_ms,
            action=action,
            pick=chance.randrange(1 << 16),
            amount_ms=chance.choice((MINUTE_MS, 20 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS)),
        )
        if action is FaultAction.SUBMIT:
            submission = a_submission(chance, JobId(f"j{len(jobs) + 1}"), jobs, scenario.cluster)
            jobs.append(submission.job)
            happening = replace(happening, submission=submission)
        drawn.append(happening)
        at_ms += chance.choice((0, 0, 1_000, MINUTE_MS, 10 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS))
    return tuple(drawn)


def _merged(drawn: tuple[Happening, ...], chance: Random) -> tuple[Happening, ...]:
    """All happenings in the order of time, with those of supervisors, clocks and logs drawn here."""
    last_ms = drawn[-1].at_ms + HOUR_MS
    return _in_order(*drawn, *_further(chance, _LATER_WEIGHTS, chance.randint(0, LATER_MAX), last_ms))


def _further(chance: Random, weights: dict[FaultAction, int], count: int, last_ms: int) -> list[Happening]:
    """Some more happenings of these kinds."""
    return [
        Happening(
            at_ms=chance.randrange(last_ms),
            action=chance.choices(tuple(weights), tuple(weights.values()))[0],
            pick=chance.randrange(1 << 16),
            amount_ms=chance.choice((0, 1_000, 25_000, 5 * MINUTE_MS, 20 * MINUTE_MS, HOUR_MS)),
        )
        for _ in range(count)
    ]


def _in_order(*happenings: Happening) -> tuple[Happening, ...]:
    return tuple(sorted(happenings, key=lambda happening: happening.at_ms))


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
