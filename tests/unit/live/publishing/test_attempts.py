"""GPU time and endings are counted whichever way an attempt began, and whatever says that it is over."""

from collections.abc import Callable

from muster.backends.fake import GangScript
from muster.live.publishing.attempts import Attempts, Ended
from muster.model.events import GangsFound, NodeLost
from muster.model.ids import JobId, NodeName
from muster.model.job import Cause, JobState, Worker
from muster.model.machines.quarantine import FoundGang
from muster.model.policy import MINUTE_MS
from muster.model.spec import JobSpec
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World

N1 = NodeName("n1")
OLD = JobId("job-7")


def counted(world: World, attempts: Attempts, act: Callable[[], object]) -> list[Ended]:
    """What ended by an action."""
    before = len(world.events())
    act()
    return [ended for event in world.events()[before:] for ended in attempts.follow(event, world.engine.state)]


def found(world: World, job: JobId, spec: JobSpec) -> None:
    """Its node greets, and says that it runs a gang of the job that was not started from here."""
    workers = (Worker(rank=0, role="worker", node=N1, gpus=(0, 1)),)
    gang = FoundGang(job=job, attempt=1, generation=3, workers=workers, spec=spec)
    world.engine.observe(GangsFound(at_ms=world.now_ms, node=N1, gangs=(gang,)))


def test_the_gpu_time_of_an_adopted_attempt_is_counted() -> None:
    world = World()
    attempts = Attempts(world.engine.state)
    found(world, OLD, a_job(gpus=2))
    world.backend.script(OLD, GangScript(run_ms=MINUTE_MS))
    assert counted(world, attempts, lambda: world.engine.adopt(OLD, world.now_ms)) == []
    (ended,) = counted(world, attempts, lambda: world.run(until_ms=2 * MINUTE_MS))
    assert (ended.job, ended.state) == (OLD, JobState.SUCCEEDED)
    assert ended.allocated_gpu_ms == ended.useful_gpu_ms == 2 * MINUTE_MS


def a_cancelled_job(world: World) -> JobId:
    """One that ends when a worker in quarantine has."""
    job = world.submit(a_job(gpus=2), FOREVER, held=True)
    found(world, job, world.engine.job(job).spec)
    world.engine.cancel(job, world.now_ms)
    assert not world.engine.job(job).state.is_final
    return job


def test_a_cancel_that_a_greeting_completes_is_counted() -> None:
    world = World()
    job = a_cancelled_job(world)
    empty = GangsFound(at_ms=world.now_ms, node=N1, gangs=())
    (ended,) = counted(world, Attempts(world.engine.state), lambda: world.engine.observe(empty))
    assert (ended.job, ended.cause, ended.state) == (job, Cause.CANCELLED, JobState.CANCELLED)


def test_a_cancel_that_a_lost_node_completes_is_counted() -> None:
    world = World()
    job = a_cancelled_job(world)
    lost = NodeLost(at_ms=world.now_ms, node=N1, because="switched off")
    (ended,) = counted(world, Attempts(world.engine.state), lambda: world.engine.observe(lost))
    assert (ended.job, ended.state) == (job, JobState.CANCELLED)
