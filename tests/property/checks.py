"""The properties of a plan as plain functions, so that planted bugs can be shown to them as well."""

from collections.abc import Sequence

from muster.checker import violations
from muster.checker.facts import resized
from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.planning.displacing.last_resort import MOVED
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import RunningJob, Worker
from muster.model.plan import Basis, Plan, Why
from muster.model.policy import Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.property.apply import carried_out, later, next_event_ms
from tests.property.held import held

PREEMPTIONS = (Why.TIER, Why.RECLAIM)
MINIMAL = (*PREEMPTIONS, Why.TURN)


def planned(scenario: Scenario) -> Plan:
    return plan(Snapshot.of(scenario), scenario.now_ms)


def check_nothing_is_violated(scenario: Scenario) -> None:
    found = violations(scenario, planned(scenario))
    assert not found, found


def check_lint_is_clean(scenario: Scenario) -> None:
    snapshot = Snapshot.of(scenario)
    found = lint(plan(snapshot, scenario.now_ms), snapshot)
    assert not found, found


def check_nothing_is_violated_over_time(scenario: Scenario, exits: Sequence[int], cycles: int = 5) -> None:
    """Plan, carry out, let time pass to the next event, again and again, with some jobs ending early."""
    for number in range(cycles):
        made = planned(scenario)
        found = violations(scenario, made)
        assert not found, (number, found)
        scenario = carried_out(scenario, made)
        following_ms = next_event_ms(scenario)
        if following_ms is None:
            return
        early = [exits[number]] if number < len(exits) else []
        gone = [scenario.running[at % len(scenario.running)].id for at in early if scenario.running]
        scenario = later(scenario, scenario.now_ms + 60_000 if gone else following_ms, gone)


def check_promises_are_kept(before: Scenario, after: Scenario) -> None:
    """No waiting job of the most urgent tier has a later start promised in `after` than in `before`.

    The exception is a job that would borrow what a team takes back: it has been told so.
    """
    rank = {tier.name: number for number, tier in enumerate(after.tiers)}
    most_urgent = min((rank[job.spec.tier] for job in after.waiting), default=0)
    made = planned(after)
    starts = {start.job for start in made.starts}
    promised = {promise.job: promise.start_ms for promise in made.promises}
    borrowers = {promise.job for promise in made.promises if promise.moved_because == MOVED}
    for promise in before.promises:
        job = next((job for job in after.waiting if job.id == promise.job), None)
        if job is None or job.id in starts or rank[job.spec.tier] > most_urgent:
            continue
        assert job.id in promised, f"{job.id} lost its promise"
        if job.id in borrowers:
            continue
        assert promised[job.id] <= promise.start_ms, f"{job.id} starts {promised[job.id] - promise.start_ms} ms later"


def check_no_victim_is_superfluous(scenario: Scenario) -> None:
    """With all others gone that are told to leave, a preemptor does not fit beside any one of its victims."""
    made = planned(scenario)
    for eviction in made.evictions:
        if eviction.why in MINIMAL:
            victim = next(job for job in scenario.running if job.id == eviction.job)
            assert not _fits_beside(scenario, made, eviction.for_job, victim), f"{eviction.job} need not leave"
    for resize in made.resizes:
        if resize.for_job is None:
            continue
        whole = next(job for job in scenario.running if job.id == resize.job)
        _, gone, _ = resized(whole.workers, resize.workers)
        for worker in gone if whole.spec.parallelism.tensor == 1 else ():
            kept = evolve(whole, workers=(*resize.workers, worker))
            assert not _fits_beside(scenario, made, resize.for_job, kept), f"{resize.job} need not shrink as far"


def _fits_beside(scenario: Scenario, made: Plan, preemptor: JobId, stays: RunningJob) -> bool:
    """True when the preemptor starts in a world without the other victims, where promises are as good as taken.

    A victim on whose GPUs, CPUs or memory another job was promised a place must leave for that job in any case, and so
    must one that cannot share a node with that job because one of them wants it for itself.
    The preemptor has to be gone when a reservation opens although it starts only when others have left.
    """
    waits_ms = max([promise.start_ms - scenario.now_ms for promise in made.promises if promise.job == preemptor])
    others = [promise for promise in made.promises if promise.job != preemptor]
    if any(_share_a_gpu(stays.workers, promise.workers) for promise in others):
        return False
    if any(_exclude_each_other(stays, _as_running(scenario, promise.job, promise.workers)) for promise in others):
        return False
    gone = {entry.job for entry in made.evictions} | {
        job.id for job in scenario.running if job.leaving_by_ms is not None
    }
    shrunk = {entry.job: entry.workers for entry in made.resizes}
    running = [
        stays if job.id == stays.id else evolve(job, workers=shrunk.get(job.id, job.workers))
        for job in scenario.running
        if job.id == stays.id or job.id not in gone
    ]
    running += [_as_running(scenario, start.job, start.workers) for start in made.starts]
    soon = [promise for promise in others if promise.basis is Basis.DEPARTURES]
    if _is_overbooked(scenario, [*running, *(_as_running(scenario, promise.job, promise.workers) for promise in soon)]):
        return False
    running += [_as_running(scenario, promise.job, promise.workers) for promise in others]
    alone = evolve(
        scenario,
        teams=(),
        running=tuple(running),
        waiting=tuple(job for job in scenario.waiting if job.id == preemptor),
        promises=(),
        reservations=tuple(evolve(each, from_ms=each.from_ms - waits_ms) for each in scenario.reservations),
        policy=Policy(preemption=False, elastic=False, consolidation=False),
    )
    return bool(planned(alone).starts)


def _share_a_gpu(some: tuple[Worker, ...], others: tuple[Worker, ...]) -> bool:
    taken = {(worker.node, gpu) for worker in some for gpu in worker.gpus}
    return any((worker.node, gpu) in taken for worker in others for gpu in worker.gpus)


def _exclude_each_other(one: RunningJob, other: RunningJob) -> bool:
    nodes = {worker.node for worker in one.workers}
    return (one.spec.exclusive or other.spec.exclusive) and any(worker.node in nodes for worker in other.workers)


def _is_overbooked(scenario: Scenario, running: Sequence[RunningJob]) -> bool:
    for node in scenario.cluster.nodes:
        there = [job.spec.role(each.role).request for job in running for each in job.workers if each.node == node.name]
        if (
            sum(request.cpu_milli for request in there) > node.cpu_milli
            or sum(request.memory_bytes for request in there) > node.memory_bytes
            or sum(request.disk_bytes for request in there) > node.disk_bytes
        ):
            return True
    return False


def _as_running(scenario: Scenario, job: JobId, workers: tuple[Worker, ...]) -> RunningJob:
    specs = {each.id: each.spec for each in scenario.waiting} | {each.id: each.spec for each in scenario.running}
    return RunningJob(id=JobId(f"{job}-placed"), spec=specs[job], started_ms=scenario.now_ms, workers=workers)


def check_preemption_comes_to_rest(scenario: Scenario, cycles: int = 12) -> None:
    """Victims leave and wait again: none of them makes others leave, and after a few cycles no job is told to.

    Where tiers are bound to teams, victims may take back what their team is guaranteed.
    """
    told: list[JobId] = []
    is_closed = any(team.tiers is not None for team in scenario.teams)
    for _ in range(cycles):
        made = planned(scenario)
        again = {job.id for job in scenario.waiting if job.requeued}
        for eviction in made.evictions:
            if eviction.why in PREEMPTIONS and not (eviction.why is Why.RECLAIM and is_closed):
                assert eviction.for_job not in again, f"{eviction.for_job} was preempted and preempts {eviction.job}"
        told = [entry.job for entry in made.evictions if entry.why in PREEMPTIONS]
        scenario = later(carried_out(scenario, made), scenario.now_ms + 120_000)
    assert not told, f"after {cycles} cycles {told} are still told to leave"


def check_order_of_lists_decides_nothing(scenario: Scenario, shuffled: Scenario) -> None:
    assert settled(planned(scenario)) == settled(planned(shuffled))


def check_rebuilding_changes_nothing(snapshot: Snapshot, now_ms: int) -> None:
    rebuilt = Snapshot.of(snapshot.scenario(now_ms))
    assert settled(plan(snapshot, now_ms)) == settled(plan(rebuilt, now_ms))


def check_planning_changes_nothing(scenario: Scenario) -> None:
    snapshot = Snapshot.of(scenario)
    before = held(snapshot)
    first = plan(snapshot, scenario.now_ms)
    assert held(snapshot) == before, "planning wrote to what it reads"
    assert plan(snapshot, scenario.now_ms) == first


def settled(made: Plan) -> tuple[object, ...]:
    """A plan without what the order of lists may decide: the version and the order in which jobs are told apart."""
    return (
        sorted(made.starts, key=lambda entry: entry.job),
        sorted(made.evictions, key=lambda entry: entry.job),
        sorted(made.resizes, key=lambda entry: entry.job),
        sorted(made.promises, key=lambda entry: entry.job),
        sorted((job, entry.code, entry.detail) for entry in made.blocked for job in entry.jobs),
        made.wake_ms,
    )
