"""When the engine plans, what becomes of a plan, and which jobs leave for others."""

from muster.backends.fake import GangScript
from muster.engine.apply import Applied, Dropped
from muster.model.events import EvictionOrdered
from muster.model.job import JobState
from muster.model.limits import REPLAN_AFTER_DROP_MS
from muster.model.plan import Plan, Start
from muster.model.policy import MINUTE_MS, Policy
from muster.model.records import evolve
from tests.builders import a_job, a_team
from tests.unit.engine.world import FOREVER, PlannedByHand, World, a_small_cluster, seats

HOUR_MS = 60 * MINUTE_MS
DONE = GangScript(run_ms=HOUR_MS)


def test_a_tick_without_news_plans_nothing() -> None:
    hand = PlannedByHand()
    world = World(decisions=hand.decisions)
    world.submit(a_job())
    due = world.engine.next_ms
    assert due == 0
    assert world.engine.tick(0) is not None
    assert world.engine.tick(1) is None
    assert (hand.calls, world.engine.next_ms) == (1, None)


def test_a_plan_can_ask_to_be_made_again_later() -> None:
    hand = PlannedByHand()
    world = World(decisions=hand.decisions)
    world.submit(a_job())
    hand.plans = [Plan(version=world.engine.state.snapshot.version, now_ms=0, wake_ms=5_000)]
    world.engine.tick(0)
    assert world.engine.next_ms == 5_000
    assert world.engine.tick(4_999) is None
    assert world.engine.tick(5_000) is not None


def test_a_plan_with_problems_is_dropped_and_not_made_again_at_once() -> None:
    hand = PlannedByHand()
    hand.problems = ("GPU 0 of n1 is given to two jobs",)
    world = World(decisions=hand.decisions)
    world.submit(a_job())
    report = world.engine.tick(0)
    assert report is not None
    assert report.outcome == Dropped(reasons=hand.problems)
    assert world.engine.tick(REPLAN_AFTER_DROP_MS - 1) is None
    assert world.engine.next_ms == REPLAN_AFTER_DROP_MS
    assert world.engine.tick(REPLAN_AFTER_DROP_MS) is not None


def test_a_stale_plan_is_dropped_and_made_again() -> None:
    hand = PlannedByHand()
    world = World(decisions=hand.decisions)
    job = world.submit(a_job())
    hand.plans = [Plan(version=-1, now_ms=0, starts=(Start(job=job, workers=seats(("n1", 0))),))]
    report = world.engine.tick(0)
    assert report is not None
    assert isinstance(report.outcome, Dropped)
    again = world.engine.tick(0)
    assert again is not None
    assert again.outcome == Applied(events=())


def test_an_urgent_job_takes_the_place_of_another_which_comes_back() -> None:
    world = World(a_small_cluster(1, 1))
    script = GangScript(run_ms=3 * HOUR_MS, saves=True, save_cost_ms=5_000, stop_ms=10_000)
    victim = world.submit(a_job(tier="exploratory", checkpoint=True), script)
    world.run(until_ms=HOUR_MS)
    urgent = world.submit(a_job(tier="production"), DONE)
    world.settle()
    assert world.state_of(victim) is JobState.CHECKPOINTING
    (eviction,) = world.events(EvictionOrdered)
    assert isinstance(eviction, EvictionOrdered)
    assert (eviction.for_job, eviction.by_ms) == (urgent, HOUR_MS + 120_000)
    world.run(until_ms=HOUR_MS + 10_000)
    assert world.state_of(urgent) is JobState.RUNNING
    record = world.engine.job(victim)
    assert (record.state, record.requeued, record.checkpointed_ms) == (JobState.QUEUED, True, HOUR_MS + 5_000)
    world.run(until_ms=2 * HOUR_MS + 10_000)
    assert world.state_of(victim) is JobState.RUNNING
    assert not world.engine.job(victim).requeued


def test_a_job_that_was_promised_a_distant_start_preempts_once_its_victim_has_run_long_enough() -> None:
    world = World(evolve(a_small_cluster(nodes=1), policy=Policy(turns=False)))
    low = world.submit(a_job(gpus=2, tier="exploratory"), FOREVER)
    world.settle()
    high = world.submit(a_job(gpus=2), FOREVER)
    world.run(until_ms=9 * MINUTE_MS)
    assert world.state_of(low) is JobState.RUNNING
    assert world.engine.state.snapshot.promises[high].start_ms > HOUR_MS
    world.run(until_ms=11 * MINUTE_MS)
    assert world.state_of(low) is JobState.QUEUED
    assert world.state_of(high) is JobState.RUNNING


def test_a_team_takes_its_guarantee_back_although_it_was_promised_a_distant_start() -> None:
    scenario = evolve(a_small_cluster(nodes=1), teams=(a_team("nlp", guaranteed={"*": 2}), a_team("cv")))
    world = World(scenario)
    borrower = world.submit(a_job(gpus=2, team="cv"), FOREVER)
    world.settle()
    owner = world.submit(a_job(gpus=2, team="nlp"), FOREVER)
    world.run(until_ms=11 * MINUTE_MS)
    assert world.state_of(borrower) is JobState.QUEUED
    assert world.state_of(owner) is JobState.RUNNING


def test_no_job_is_preempted_for_a_start_that_would_come_as_soon_without() -> None:
    for hours, preempted in ((0.2, 0), (2.0, 1)):
        world = World(a_small_cluster(nodes=1))
        spec = a_job(gpus=2, tier="exploratory", hours=hours, checkpoint=True, grace_ms=5 * MINUTE_MS)
        low = world.submit(spec, FOREVER)
        world.settle()
        world.submit(a_job(gpus=2), FOREVER)
        world.run(until_ms=HOUR_MS)
        assert world.engine.job(low).preemptions == preempted
