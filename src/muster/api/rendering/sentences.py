"""Why and when in plain sentences, the same for the command line, the dashboard and programs.

Times are told from now. The exact time goes with the sentence, for a reader who wants it in a time zone.
"""

from collections.abc import Iterator, Sequence

from muster.answers import jobs as answers
from muster.api.lookups.estimating import EstimatedStart, EstimateRecord
from muster.api.rendering.times import moment_of
from muster.core.explaining.not_considered import NOT_STARTED
from muster.core.explaining.wording import named
from muster.model.job import STATES, JobState
from muster.model.limits import ESTIMATE_HORIZON_MS
from muster.model.plan import Promise, Reason, ReasonCode
from muster.model.printable import span_text

_BECAUSE: dict[ReasonCode, str] = {
    ReasonCode.CAPACITY: "too few GPUs are free",
    ReasonCode.FRAGMENTED: "enough GPUs are free, but not together",
    ReasonCode.QUOTA_LIMIT: "it would exceed a limit of its team",
    ReasonCode.QUOTA_BORROW: "it has to borrow GPUs, as what its team is guaranteed does not cover it",
    ReasonCode.TOPOLOGY: "its workers would be too far apart",
    ReasonCode.GPU_TYPE: "the GPU types that it accepts are taken",
    ReasonCode.POOL: "the nodes with room are closed to it",
    ReasonCode.HELD_BY_OTHERS: "other jobs go first",
    ReasonCode.DEPENDENCY: "other jobs have to end first",
    ReasonCode.HELD: "it is on hold",
    ReasonCode.NODE_HEALTH: "nodes that it needs are out of order",
    ReasonCode.SPOT: "only spot nodes have room, and it cannot resume",
    ReasonCode.BUDGET: "the budget is used up",
    ReasonCode.NEVER_FITS: "the cluster has nothing that could run it",
    ReasonCode.CONSTRAINT: "the nodes that it accepts are taken",
    ReasonCode.RESERVATION: "nodes are set aside for others",
    ReasonCode.BEGIN: "it is not to begin yet",
    ReasonCode.PROTECTED: "the jobs whose place it could take may not be stopped yet",
    ReasonCode.ENGINE: "no engine alone has room for all of its workers",
    ReasonCode.IMAGE: "the nodes that run images are taken",
}

CAUSES = 2
"""How many causes a headline names; the reasons have all of them."""


def waits_because(reasons: Sequence[Reason], *, would: bool = False) -> str:
    """`It waits because too few GPUs are free.` A cause that is said of another reason is not said twice."""
    causes = list(dict.fromkeys(_cause(reason) for reason in reasons))[:CAUSES]
    verb = "would wait" if would else "waits"
    return f"It {verb} because {', and because '.join(causes)}." if causes else f"It {verb}."


def _cause(reason: Reason) -> str:
    return "it could not be started" if reason.rule == NOT_STARTED else _BECAUSE[reason.code]


def state_headline(state: JobState) -> str:
    """What a state says about waiting, for a job without a reason."""
    return _sentence(STATES[state].meaning)


def when_it_starts(
    now_ms: int, *, position: int | None, promise: Promise | None, told: EstimatedStart | None, limits: str = ""
) -> tuple[answers.Remark, ...]:
    """The place of a job, its promise, its estimate, what this rests on, and how good such estimates were."""
    place = () if position is None else (_remark(_place(position)),)
    promised = () if promise is None else tuple(_promised(promise, limits, now_ms))
    return (*place, *promised, *(() if told is None else _estimated(told, now_ms)))


def rough_start(now_ms: int, p50_ms: int, rests_on: str) -> tuple[answers.Remark, ...]:
    """The same for the planner's own estimate."""
    return (_probably(p50_ms, now_ms), _remark(f"This is a rough guess from {rests_on}."))


def track_record(record: EstimateRecord) -> str:
    """How good such estimates were lately."""
    if not record.given:
        return "No such estimate has been put to the test yet."
    if record.given == 1:
        return f"The last such estimate of a job that waited {'held' if record.kept else 'did not hold'}."
    return (
        f"Of the last {record.given} such estimates of jobs that waited, {record.kept} held: the job started in time."
    )


def _place(position: int) -> str:
    if position == 1:
        return "It is the next in the queue."
    return f"It is number {position} in the queue, counted by when jobs can start."


def _promised(promise: Promise, limits: str, now_ms: int) -> Iterator[answers.Remark]:
    when = _in(promise.start_ms, now_ms)
    text = f"It is promised {named(promise.nodes)} and starts there {when}, if not earlier."
    yield answers.Remark(text=text, at=moment_of(promise.start_ms))
    if limits:
        yield _remark(_sentence(limits))


def _estimated(told: EstimatedStart, now_ms: int) -> Iterator[answers.Remark]:
    p50_ms, p90_ms = told.start.p50_ms, told.start.p90_ms
    if p50_ms is None:
        yield _remark(f"It will probably not start within {span_text(ESTIMATE_HORIZON_MS)}, as far as estimates look.")
    else:
        yield _probably(p50_ms, now_ms)
    if p90_ms is not None:
        text = f"Nine times in ten it starts {_within(p90_ms, now_ms)}."
        yield answers.Remark(text=text, at=moment_of(p90_ms))
    elif p50_ms is not None:
        yield _remark(
            f"How late it may be is not known: one time in ten it takes over {span_text(ESTIMATE_HORIZON_MS)}."
        )
    yield _remark(f"The estimate rests on {told.grounds.text}. {track_record(told.record)}")


def _probably(p50_ms: int, now_ms: int) -> answers.Remark:
    return answers.Remark(text=f"It will probably start {_in(p50_ms, now_ms)}.", at=moment_of(p50_ms))


def _in(at_ms: int, now_ms: int) -> str:
    return f"in {span_text(at_ms - now_ms)}" if at_ms > now_ms else "now"


def _within(at_ms: int, now_ms: int) -> str:
    return f"within {span_text(at_ms - now_ms)}" if at_ms > now_ms else "now"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _remark(text: str) -> answers.Remark:
    return answers.Remark(text=text, at=None)
