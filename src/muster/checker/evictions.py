"""Which jobs may be told to leave: by tier, by reclaim, for a promise, because their turn is over, or to be moved."""

from collections import Counter
from collections.abc import Iterator

from muster.checker.facts import Facts, Stay, service_band
from muster.checker.moves import move_problems
from muster.model.ids import GpuType, TeamPath
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import SETTLING_MS
from muster.model.plan import Basis, Eviction, Promise, Why
from muster.model.resources import GPU_MILLI
from muster.model.team import ANY_TYPE, ancestors


def eviction_problems(facts: Facts) -> Iterator[str]:
    """Victims that should have been left alone, and preemptors without the right."""
    for place, eviction in enumerate(facts.plan.evictions):
        victim = facts.running[eviction.job]
        problems = [*_common(facts, eviction, victim), *_by_reason(facts, place, eviction, victim)]
        yield from (f"eviction of {eviction.job} for {eviction.for_job}: {problem}" for problem in problems)
    yield from _too_often(facts)


def _common(facts: Facts, eviction: Eviction, victim: RunningJob) -> Iterator[str]:
    if eviction.for_job not in facts.promises:
        yield "whoever it is for was promised nothing"
    saved_ms = max(victim.started_ms, victim.checkpointed_ms or victim.started_ms)
    gpu_milli = facts.demand(victim.spec, victim.workers)[ANY_TYPE]
    if eviction.lost_gpu_ms != max(0, facts.now_ms - saved_ms) * gpu_milli // GPU_MILLI:
        yield f"it does not lose {eviction.lost_gpu_ms} GPU-milliseconds"
    if eviction.why is Why.PROMISE:
        return
    is_protected = not victim.spec.preemptible or not facts.scenario.tiers[facts.rank(victim.spec)].preemptible
    if is_protected and eviction.why is not Why.RECLAIM:
        yield "it is not preemptible"
    ran_ms = facts.now_ms - victim.started_ms
    if eviction.why is Why.TURN:  # Whatever it did before was saved, so all that it has run counts.
        ran_ms += victim.attained_gpu_ms * GPU_MILLI // max(victim.spec.gang_gpu_milli, 1)
    if ran_ms < facts.scenario.policy.min_runtime_ms:
        yield "it has not run long enough"


def _by_reason(facts: Facts, place: int, eviction: Eviction, victim: RunningJob) -> Iterator[str]:
    match eviction.why:
        case Why.TIER:
            yield from _rights(facts, eviction)
            yield from _tier(facts, eviction, victim)
            yield from _sheltered(facts, place, eviction, victim)
        case Why.RECLAIM:
            yield from _rights(facts, eviction)
            yield from _reclaim(facts, place, eviction, victim)
        case Why.PROMISE:
            if not facts.is_overdue(victim):
                yield "it has not outstayed its time"
            if not _in_the_way(facts, eviction, victim):
                yield "it is not in the way of the promise"
        case Why.TURN:
            yield from _turn(facts, eviction, victim)
            yield from _sheltered(facts, place, eviction, victim)
        case Why.CONSOLIDATION:
            yield from move_problems(facts, eviction, victim)
        case Why.DRAIN | Why.RESERVATION:
            yield "no plan decides that"


def _turn(facts: Facts, eviction: Eviction, victim: RunningJob) -> Iterator[str]:
    """The victim must be of the same tier, be able to resume, have settled, and have a worse place."""
    turn_ms, policy = facts.scenario.turn_ms, facts.scenario.policy
    preemptor = facts.waiting.get(eviction.for_job)
    if preemptor is None or turn_ms is None or not policy.turns or not policy.preemption:
        yield "nobody takes turns"
        return
    if facts.rank(victim.spec) != facts.rank(preemptor.spec):
        yield "the victim's tier is another"
    if not victim.spec.can_resume:
        yield "it cannot resume"
    ran_ms = facts.now_ms - victim.started_ms
    if ran_ms < SETTLING_MS:
        yield "it has only just started"
    received = victim.attained_gpu_ms + ran_ms * victim.spec.gang_gpu_milli // GPU_MILLI
    theirs, ours = service_band(received, victim), service_band(preemptor.attained_gpu_ms, preemptor)
    if theirs < ours or (theirs == ours and _aged_ms(facts, victim) <= _aged_ms(facts, preemptor)):
        yield "whoever it is for has no better place"
    elif theirs == ours and ran_ms < turn_ms:
        yield "its turn is not over"


def _aged_ms(facts: Facts, job: RunningJob | WaitingJob) -> int:
    return job.submitted_ms - job.spec.priority * facts.scenario.policy.ageing_ms


def _tier(facts: Facts, eviction: Eviction, victim: RunningJob) -> Iterator[str]:
    preemptor = facts.spec(eviction.for_job)
    if not facts.scenario.tiers[facts.rank(preemptor)].preempts:
        yield "its tier does not preempt"
    if facts.rank(victim.spec) <= facts.rank(preemptor):
        yield "the victim's tier is not lower"


def _rights(facts: Facts, eviction: Eviction) -> Iterator[str]:
    waiting = facts.waiting.get(eviction.for_job)
    if not facts.scenario.policy.preemption:
        yield "the policy has no preemption"
    # Where tiers are bound to teams, no job that borrows can stop a job inside a guarantee in return.
    may_return = eviction.why is Why.RECLAIM and _is_closed(facts)
    if waiting is None or (waiting.requeued and not may_return):
        yield "it was preempted itself"


def _reclaim(facts: Facts, place: int, eviction: Eviction, victim: RunningJob) -> Iterator[str]:
    """Judged where the two branches of the team tree part: the preemptor's side is owed, the victim's side borrows.

    This holds in every tier.
    """
    promise = facts.promises.get(eviction.for_job)
    if promise is None:
        return
    mine, theirs = _parting(facts.spec(eviction.for_job).team, victim.spec.team)
    if not _is_owed(facts, mine, promise):
        yield f"team {mine} would be beyond its guarantee"
    if not _borrows(facts, place, theirs, victim):
        yield f"team {theirs} does not borrow"


def _sheltered(facts: Facts, place: int, eviction: Eviction, victim: RunningJob) -> Iterator[str]:
    """Where tiers are bound to teams, a team that would borrow may not stop a job of a team inside its guarantee."""
    promise = facts.promises.get(eviction.for_job)
    mine, theirs = _parting(facts.spec(eviction.for_job).team, victim.spec.team)
    if promise is None or mine == theirs or not _is_closed(facts):
        return
    if not _is_owed(facts, mine, promise) and not _borrows(facts, place, theirs, victim):
        yield f"team {theirs} is inside its guarantee and team {mine} is not"


def _is_closed(facts: Facts) -> bool:
    return any(team.tiers is not None for team in facts.scenario.teams)


def _is_owed(facts: Facts, team: TeamPath, promise: Promise) -> bool:
    """True when the team would be inside its guarantee with the promised start added."""
    staying = [
        stay
        for stay in facts.stays()
        if not stay.is_new and stay.job not in facts.evictions and not _leaves(facts, stay)
    ]
    owed = _guaranteed(facts, team)
    wanted = facts.demand(facts.spec(promise.job), promise.workers)
    using = facts.usage(team, staying) + wanted
    named = [gpu_type for gpu_type, milli in wanted.items() if milli and gpu_type in owed]
    return bool(named) and all(using[gpu_type] <= owed[gpu_type] for gpu_type in named)


def _borrows(facts: Facts, place: int, team: TeamPath, victim: RunningJob) -> bool:
    """True when the team still used more than its guarantee after the evictions before this one."""
    gone = {entry.job: None for entry in facts.plan.evictions[:place]}
    departures = {promise.job: None for promise in facts.plan.promises if promise.basis is Basis.DEPARTURES}
    there = [
        stay
        for stay in facts.stays()
        if stay.job not in gone and not _leaves(facts, stay) and (not stay.is_promised or stay.job in departures)
    ]
    using, owed = facts.usage(team, there), _guaranteed(facts, team)
    named = [
        gpu_type for gpu_type, milli in facts.demand(victim.spec, victim.workers).items() if milli and gpu_type in owed
    ]
    return not named or any(using[gpu_type] > owed[gpu_type] for gpu_type in named)


def _leaves(facts: Facts, stay: Stay) -> bool:
    if stay.is_given_up:
        return True
    job = facts.running.get(stay.job)
    return job is not None and not stay.is_promised and job.leaving_by_ms is not None


def _guaranteed(facts: Facts, team: TeamPath) -> Counter[GpuType]:
    declared = facts.teams.get(team)
    return Counter() if declared is None else Counter(dict(declared.guaranteed))


def _parting(one: TeamPath, other: TeamPath) -> tuple[TeamPath, TeamPath]:
    """The topmost ancestors that differ. A team's own jobs count as one more sub-team."""
    mine, theirs = ([*reversed(ancestors(team)), TeamPath(f"{team}/.")] for team in (one, other))
    return next(((left, right) for left, right in zip(mine, theirs, strict=False) if left != right), (one, other))


def _in_the_way(facts: Facts, eviction: Eviction, victim: RunningJob) -> bool:
    promise = facts.promises.get(eviction.for_job)
    if promise is None:
        return False
    spec = facts.spec(eviction.for_job)
    for theirs in victim.workers:
        for ours in promise.workers:
            if theirs.node != ours.node:
                continue
            used, wanted = victim.spec.role(theirs.role).request, spec.role(ours.role).request
            if any(gpu in ours.gpus for gpu in theirs.gpus):
                return True
            if (used.cpu_milli and wanted.cpu_milli) or (used.memory_bytes and wanted.memory_bytes):
                return True
            if used.disk_bytes and wanted.disk_bytes:
                return True
    return False


def _too_often(facts: Facts) -> Iterator[str]:
    recent = dict(facts.scenario.recent_preemptions)
    told = Counter(facts.spec(entry.job).team for entry in facts.plan.evictions if entry.why is not Why.PROMISE)
    for team, count in told.items():
        if count + recent.get(team, 0) > facts.scenario.policy.preemptions_per_team_hour:
            yield f"team {team}: more of its jobs are told to leave than may be in an hour"
