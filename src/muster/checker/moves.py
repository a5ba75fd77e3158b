"""Which jobs may be moved: for a gang that waits only because of fragmentation, or for themselves, to faster GPUs."""

from collections.abc import Iterator

from muster.checker.facts import Facts, service_band
from muster.model.job import Placement, RunningJob, WaitingJob
from muster.model.plan import Eviction, Promise
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec
from muster.model.team import ANY_TYPE


def move_problems(facts: Facts, eviction: Eviction, victim: RunningJob) -> Iterator[str]:
    """Only a job that has saved itself may move, and only to a place that it is promised."""
    if not facts.scenario.policy.consolidation or not victim.spec.can_resume or victim.checkpointed_ms is None:
        yield "it cannot be moved"
    promise = facts.promises.get(victim.id)
    if promise is None:
        yield "it has nowhere to go"
    elif eviction.for_job == victim.id:
        yield from _for_itself(facts, eviction, victim, promise)


def _for_itself(facts: Facts, eviction: Eviction, victim: RunningJob, promise: Promise) -> Iterator[str]:
    """A job may move to faster GPUs if that pays, and only while no job waits that comes before it."""
    before_milli, after_milli = (_speed_milli(facts, victim.spec, each) for each in (victim.workers, promise.workers))
    if after_milli <= before_milli:
        yield "it moves to GPUs that are no faster"
    elif not _pays(facts, eviction, victim, before_milli, after_milli):
        yield "it gains less than the move costs"
    blocked = [job for entry in facts.plan.blocked for job in entry.jobs]
    promised = [job for job in facts.promises if job in facts.waiting]
    if any(_comes_before(facts, facts.waiting[job], victim) for job in blocked) or (promised and not _by_due(facts)):
        yield "it takes for itself what somebody waits for"


def _comes_before(facts: Facts, waiting: WaitingJob, mover: RunningJob) -> bool:
    """True when a waiting job comes before the job that would move.

    Where jobs take turns by what they are due, this excludes jobs of lower tiers, and jobs of the same tier that are no
    newcomers. Elsewhere every waiting job comes first.
    """
    rank, own = facts.rank(waiting.spec), facts.rank(mover.spec)
    is_new = service_band(waiting.attained_gpu_ms, waiting) == 0
    return not _by_due(facts) or rank < own or (rank == own and is_new)


def _by_due(facts: Facts) -> bool:
    """True where jobs take turns by what they are due. There a job that is behind may move while other jobs wait."""
    return bool(facts.scenario.teams) and facts.scenario.policy.takes_turns


def _speed_milli(facts: Facts, spec: JobSpec, workers: Placement) -> int:
    """The speed of the slowest worker, in thousandths."""
    speeds: list[int] = []
    for worker in workers:
        request = spec.role(worker.role).request
        if request.gpu_milli:
            known = dict(facts.scenario.policy.throughput) | dict(request.throughput)
            speeds.append(known.get(facts.nodes[worker.node].gpu_type, GPU_MILLI))
    return min(speeds, default=GPU_MILLI)


def _pays(facts: Facts, eviction: Eviction, victim: RunningJob, before_milli: int, after_milli: int) -> bool:
    """True when the move saves enough, assuming that the job runs as long again as it has run so far.

    The cost is the lost work and the restart. The saving must be more than `consolidation_gain_milli` times the cost.
    """
    policy = facts.scenario.policy
    gpu_milli = facts.demand(victim.spec, victim.workers)[ANY_TYPE]
    ran_ms = facts.now_ms - victim.started_ms + victim.attained_gpu_ms * GPU_MILLI // max(victim.spec.gang_gpu_milli, 1)
    saved_gpu_ms = ran_ms * (after_milli - before_milli) // after_milli * gpu_milli // GPU_MILLI
    cost_gpu_ms = eviction.lost_gpu_ms + policy.restart_cost_ms * gpu_milli // GPU_MILLI
    return saved_gpu_ms * GPU_MILLI > cost_gpu_ms * policy.consolidation_gain_milli
