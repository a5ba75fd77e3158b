"""The figures of lasting overload: what was overloaded and when, which jobs wait for it, and what would help."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from muster.model.policy import DAY_MS, MINUTE_MS
from muster.model.resources import GPU_MILLI
from muster.sim.fluid import Stretch
from muster.sim.outcome import JobOutcome, Replay
from muster.sim.overload import EVERYBODY, Overload
from muster.sim.timeline import is_rejected

LONG_WAIT_MS = DAY_MS
SLOWDOWN = 10
"""A job is slowed down that takes more than so many times as long as it runs."""
SHORT_RUN_MS = 10 * MINUTE_MS
"""For their slowdown, jobs count as running for at least this long: a minute of waiting harms no job of a second."""
TARGETS = (1.0, 0.95)
"""The loads that remedies aim at: the most that can be served at all, and the most that leaves room for gaps."""
SECOND_MS = 1000


def overload_figures(replay: Replay) -> dict[str, Any] | None:
    """All figures as plain values, the worst overload first; None if there was no lasting overload."""
    if not replay.overloads:
        return None
    parts = [_part(each, replay.capacity_milli) for each in worst_first(replay.overloads)]
    return {"parts": parts, "waits": _waits(replay)}


def worst_first(overloads: Iterable[Overload]) -> list[Overload]:
    """The overloads by their largest backlog, in time of their capacity."""
    return sorted(overloads, key=lambda each: -each.worst.behind_ms)


def _part(overload: Overload, cluster_milli: int) -> dict[str, Any]:
    """One quota or part of the cluster. `node` is the kind of node that most of its GPUs are in."""
    kind, worst = overload.kinds[0], overload.worst
    return {
        "bound_by": "capacity" if overload.team == EVERYBODY else "quota",
        "team": None if overload.team == EVERYBODY else overload.team,
        "is_whole": overload.capacity_milli == cluster_milli,
        "pools": sorted({str(each.pool) for each in overload.kinds}),
        "gpu_types": sorted({str(each.gpu_type) for each in overload.kinds}),
        "gpus": overload.capacity_milli / GPU_MILLI,
        "jobs": overload.jobs,
        "load": overload.load,
        "worst": _stretch(worst),
        "stretches": [_stretch(each) for each in overload.stretches],
        "remedies": [_remedy(overload, *each) for each in _aims(overload)],
        "node": {"pool": str(kind.pool), "gpu_type": str(kind.gpu_type), "gpus": kind.gpus},
    }


def _stretch(stretch: Stretch) -> dict[str, float]:
    return {
        "from_s": stretch.from_ms / SECOND_MS,
        "until_s": stretch.until_ms / SECOND_MS,
        "cleared_s": stretch.cleared_ms / SECOND_MS,
        "load": stretch.load,
        "behind_s": stretch.behind_ms / SECOND_MS,
    }


def _aims(overload: Overload) -> Iterator[tuple[str, float | None, int]]:
    """What remedies aim at: a load over the whole trace or over the worst stretch, or that no overload lasts."""
    for target in TARGETS:
        if overload.load is not None:
            yield "trace", target, overload.missing_milli(overload.load, target=target)
        yield "stretch", target, overload.missing_milli(overload.worst.load, target=target)
    yield "all", None, overload.enough_milli


def _remedy(overload: Overload, over: str, load: float | None, missing_milli: int) -> dict[str, Any]:
    node_milli = overload.kinds[0].gpus * GPU_MILLI
    return {
        "over": over,
        "load": load,
        "more_gpus": -(-missing_milli // GPU_MILLI),
        "more_nodes": -(-missing_milli // node_milli) if overload.team == EVERYBODY else None,
    }


def _waits(replay: Replay) -> dict[str, Any]:
    """How many jobs wait long, in all and by team and tier."""
    outcomes = [outcome for outcome in replay.outcomes if not is_rejected(outcome)]
    end_ms = max((outcome.end_ms or outcome.job.submit_ms for outcome in outcomes), default=0)
    return {
        "longer_than_s": LONG_WAIT_MS / SECOND_MS,
        "slowdown_above": SLOWDOWN,
        **_counts(outcomes, end_ms),
        "by_tier": _by(outcomes, end_ms, lambda outcome: str(outcome.job.tier)),
        "by_team": _by(outcomes, end_ms, lambda outcome: str(outcome.job.team)),
    }


def _by(outcomes: Sequence[JobOutcome], end_ms: int, group: Callable[[JobOutcome], str]) -> dict[str, dict[str, int]]:
    groups: dict[str, list[JobOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(group(outcome), []).append(outcome)
    return {name: _counts(groups[name], end_ms) for name in sorted(groups)}


def _counts(outcomes: Sequence[JobOutcome], end_ms: int) -> dict[str, int]:
    """`long`: wait more than a day in all. `beyond_fifo`: a day more than the overload alone explains."""
    waits_ms = [_wait_ms(outcome, end_ms) for outcome in outcomes]
    waited = list(zip(outcomes, waits_ms, strict=True))
    return {
        "jobs": len(outcomes),
        "long": sum(wait_ms > LONG_WAIT_MS for wait_ms in waits_ms),
        "beyond_fifo": sum(wait_ms > outcome.overload_ms + LONG_WAIT_MS for outcome, wait_ms in waited),
        "slowed": sum(wait_ms > (SLOWDOWN - 1) * max(outcome.job.run_ms, SHORT_RUN_MS) for outcome, wait_ms in waited),
    }


def _wait_ms(outcome: JobOutcome, end_ms: int) -> int:
    """All its waiting. A job that did not end waited to the end of the replay."""
    wait_ms = outcome.total_wait_ms
    if wait_ms is not None:
        return wait_ms
    return max(end_ms - outcome.job.submit_ms, 0) - sum(stint.end_ms - stint.start_ms for stint in outcome.stints)
