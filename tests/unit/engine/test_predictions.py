"""What was learnt from endings orders jobs where the policy asks for the shortest first, and nothing else."""

from muster.backends.fake import GangScript
from muster.core.order.run_times import ENOUGH
from muster.model.events import HoldsSet
from muster.model.ids import JobId
from muster.model.job import JobState
from muster.model.plan import Basis
from muster.model.policy import HOUR_MS, Order, Policy
from muster.model.spec import JobSpec
from tests.builders import a_job, a_scenario, flat
from tests.unit.engine.world import FOREVER, World

LONG, SHORT = a_job("long", hours=9), a_job("short", hours=9)


def an_experienced(order: Order) -> World:
    """A world with one GPU in which long jobs have run for two hours and short ones for ten minutes."""
    world = World(a_scenario(flat(1, gpus=1), now_ms=0, policy=Policy(order=order, turns=False)))
    for _ in range(ENOUGH):
        world.submit(LONG, GangScript(run_ms=2 * HOUR_MS))
        world.submit(SHORT, GangScript(run_ms=HOUR_MS // 6))
    world.run(30 * HOUR_MS)
    return world


def predicted_ms(world: World, job: JobId) -> int | None:
    return world.engine.state.snapshot.queue.jobs[job].predicted_ms


def behind_another(world: World, *specs: JobSpec) -> list[JobId]:
    """Jobs that wait for the only GPU."""
    world.submit(a_job("busy"), GangScript(run_ms=HOUR_MS))
    world.settle()
    jobs = [world.submit(spec, FOREVER) for spec in specs]
    world.settle()
    return jobs


def test_the_shortest_by_what_was_learnt_goes_first() -> None:
    world = an_experienced(Order.SHORTEST)
    long, short = behind_another(world, LONG, SHORT)
    assert (predicted_ms(world, long), predicted_ms(world, short)) == (2 * HOUR_MS, HOUR_MS // 6)
    world.run(world.now_ms + 2 * HOUR_MS)
    assert (world.state_of(short), world.state_of(long)) == (JobState.RUNNING, JobState.QUEUED)


def test_promises_rest_on_limits_whatever_was_learnt() -> None:
    world = an_experienced(Order.SHORTEST)
    since = len(world.events())
    behind_another(world, LONG, SHORT)
    for event in world.events()[since:]:
        if isinstance(event, HoldsSet) and event.holds:
            assert all(promise.basis is Basis.LIMITS for promise in event.holds)
            # The job in front has no limit of its own: it may run for as long as its tier lets it.
            assert event.holds[0].start_ms >= world.now_ms + 100 * HOUR_MS
            return
    raise AssertionError("no job was promised anything")


def test_a_job_that_says_how_long_it_runs_is_believed() -> None:
    world = an_experienced(Order.SHORTEST)
    told, _ = behind_another(world, a_job("long", hours=9, expected_duration_ms=60_000), SHORT)
    assert predicted_ms(world, told) is None
    world.run(world.now_ms + 2 * HOUR_MS)
    assert world.state_of(told) is JobState.RUNNING


def test_other_orders_ask_for_no_prediction() -> None:
    world = an_experienced(Order.FIFO)
    jobs = behind_another(world, LONG, SHORT)
    assert [predicted_ms(world, job) for job in jobs] == [None, None]


def test_a_job_that_waits_keeps_its_prediction() -> None:
    """Otherwise every job that ends would move others to and fro in the queue."""
    world = an_experienced(Order.SHORTEST)
    (job,) = behind_another(world, LONG)
    for _ in range(ENOUGH):
        world.engine.state.snapshot.learn(LONG, 9 * HOUR_MS)
    world.engine.hold(job, world.now_ms)
    world.engine.release(job, world.now_ms)
    assert predicted_ms(world, job) == 2 * HOUR_MS
