"""A plan that the engine does not make because nothing new calls for one would not have changed anything."""

from collections.abc import Callable
from random import Random

from hypothesis import assume, given

from muster.core.planning import plan
from muster.core.planning.standstill import rest
from muster.core.snapshot import Snapshot
from muster.model.job import RunningJob
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS, Order
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec, TopologySpec
from tests.property.effort import examples
from tests.property.situations import SEEDS, situations
from tests.property.work import waits_at_random

JOINING = 6
PLANS = 12
MOMENTS = 12


@examples(400)
@given(situations(), SEEDS)
def test_a_job_that_joins_others_that_are_stuck_needs_no_plan(scenario: Scenario, seed: int) -> None:
    check_no_plan_is_missed(scenario, seed)


@examples(200)
@given(situations(), SEEDS)
def test_a_job_behind_a_blocked_one_that_nothing_may_pass_needs_no_plan(scenario: Scenario, seed: int) -> None:
    strict = evolve(scenario.policy, backfill=False, order=Order.FIFO, preemption=False)
    check_no_plan_is_missed(evolve(scenario, policy=strict, promises=()), seed)


@examples(200)
@given(situations(), SEEDS)
def test_an_exit_too_small_for_the_job_in_front_needs_no_plan_in_a_strict_order(scenario: Scenario, seed: int) -> None:
    check_no_plan_is_missed_after_exits(_in_strict_order(scenario), seed)


@examples(200)
@given(situations(), SEEDS)
def test_an_exit_too_small_for_all_jobs_that_gave_way_needs_no_plan(scenario: Scenario, seed: int) -> None:
    waiting = tuple(evolve(job, attained_gpu_ms=60_000, requeued=True, starved=False) for job in scenario.waiting)
    policy = evolve(scenario.policy, preemption=True, turns=True)
    check_no_plan_is_missed_after_exits(evolve(scenario, policy=policy, waiting=waiting, promises=()), seed)


@examples(100)
@given(situations(), SEEDS)
def test_at_rest_a_plan_changes_nothing(scenario: Scenario, seed: int) -> None:
    check_no_plan_is_missed_at_rest(scenario, seed, lambda spec: spec)


@examples(300)
@given(situations(), SEEDS)
def test_at_rest_a_plan_changes_nothing_where_jobs_only_take_turns(scenario: Scenario, seed: int) -> None:
    tier, chance = scenario.tiers[-1], Random(seed)

    def rigid(spec: JobSpec) -> JobSpec:
        roles = tuple([evolve(role, workers_max=role.workers_min) for role in spec.roles])
        return evolve(spec, tier=tier.name, roles=roles, topology=TopologySpec())

    running = [evolve(job, spec=evolve(job.spec, tier=tier.name), can_resize=False) for job in scenario.running]
    waiting = [
        evolve(job, spec=rigid(job.spec), attained_gpu_ms=chance.choice((0, 1, 10, 100)) * HOUR_MS)
        for job in scenario.waiting
    ]
    policy = evolve(scenario.policy, preemption=True, turns=True, throughput=())
    rules = evolve(scenario, tiers=(tier,), pools=(), teams=(), usage=(), policy=policy, turn_ms=HOUR_MS)
    check_no_plan_is_missed_at_rest(evolve(rules, running=tuple(running), waiting=tuple(waiting)), seed, rigid)


def check_no_plan_is_missed_at_rest(scenario: Scenario, seed: int, shape: Callable[[JobSpec], JobSpec]) -> None:
    """Jobs come and go, and time passes."""
    snapshot, chance, now_ms = Snapshot.of(scenario), Random(seed), scenario.now_ms
    for number in range(MOMENTS):
        event = chance.random()
        if snapshot.running and event < 0.3:
            snapshot.finish(chance.choice(list(snapshot.running)))
        elif event < 0.5:
            job = waits_at_random(chance.getrandbits(32), f"x{number}", scenario.cluster, scenario.tiers, now_ms=now_ms)
            known = list(snapshot.queue.jobs.values())
            like = chance.choice(known) if known and chance.random() < 0.7 else evolve(job, spec=shape(job.spec))
            snapshot.enqueue(evolve(like, id=job.id, submitted_ms=job.submitted_ms))
        resting, made = rest(snapshot, now_ms), plan(snapshot, now_ms)
        if resting is not None:
            assert not made.changes_anything
            assert not made.promises
            assert resting.wake_ms == made.wake_ms
        assume(_comes_to_rest(snapshot, now_ms))
        now_ms = chance.choice((made.wake_ms or now_ms, now_ms + chance.randrange(HOUR_MS), now_ms))


def check_no_plan_is_missed_after_exits(scenario: Scenario, seed: int) -> None:
    snapshot, chance = Snapshot.of(scenario), Random(seed)
    assume(_comes_to_rest(snapshot, scenario.now_ms))
    for number in range(JOINING):
        before = snapshot.news
        if snapshot.running and chance.random() < 0.7:
            snapshot.finish(chance.choice(list(snapshot.running)))
        else:
            job = waits_at_random(chance.getrandbits(32), f"x{number}", scenario.cluster, scenario.tiers)
            snapshot.enqueue(evolve(job, submitted_ms=scenario.now_ms))
        if snapshot.news == before:
            made = plan(snapshot, scenario.now_ms)
            assert not made.changes_anything
            assert {promise.job: promise for promise in made.promises} == snapshot.promises
        else:
            assume(_comes_to_rest(snapshot, scenario.now_ms))


def _in_strict_order(scenario: Scenario) -> Scenario:
    policy = evolve(
        scenario.policy,
        order=Order.FIFO,
        backfill=False,
        hold_depth=0,
        preemption=False,
        consolidation=False,
        elastic=False,
    )
    assert policy.is_strict
    return evolve(scenario, policy=policy, promises=())


def check_no_plan_is_missed(scenario: Scenario, seed: int) -> None:
    chance = Random(seed)
    snapshot = Snapshot.of(scenario)
    assume(_comes_to_rest(snapshot, scenario.now_ms))
    known_specs = [job.spec for job in snapshot.queue.jobs.values()]
    for number in range(JOINING):
        before, promises = snapshot.news, dict(snapshot.promises)
        job = waits_at_random(chance.getrandbits(32), f"x{number}", scenario.cluster, scenario.tiers)
        if known_specs and chance.random() < 0.8:
            job = evolve(job, spec=chance.choice(known_specs))
        snapshot.enqueue(evolve(job, submitted_ms=scenario.now_ms))
        if snapshot.news == before:
            made = plan(snapshot, scenario.now_ms)
            assert (made.starts, made.evictions, made.resizes) == ((), (), ())
            assert {promise.job: promise for promise in made.promises} == promises
        assume(_comes_to_rest(snapshot, scenario.now_ms))


def _comes_to_rest(snapshot: Snapshot, now_ms: int) -> bool:
    """Carry plans out until one changes nothing; false when none does while time stands still."""
    for _ in range(PLANS):
        made = plan(snapshot, now_ms)
        snapshot.queue.remember_stuck(made.blocked, snapshot.releases)
        is_quiet = not (made.starts or made.evictions or made.resizes)
        if is_quiet and {promise.job: promise for promise in made.promises} == snapshot.promises:
            return True
        _carry_out(snapshot, made)
    return False


def _carry_out(snapshot: Snapshot, made: Plan) -> None:
    for eviction in made.evictions:
        spec = snapshot.running[eviction.job].spec
        snapshot.leaving(eviction.job, made.now_ms + snapshot.setting.grace_ms(spec))
    for resize in made.resizes:
        snapshot.resize(resize.job, resize.workers)
    for start in made.starts:
        job = snapshot.queue.jobs[start.job]
        snapshot.start(RunningJob(id=job.id, spec=job.spec, started_ms=made.now_ms, workers=start.workers))
    snapshot.promise(made.promises)
