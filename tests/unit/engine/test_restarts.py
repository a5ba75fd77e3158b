"""What a new engine makes of the log, and of commands that were lost."""

from muster.backends.fake import GangScript
from muster.engine.folding.folding import fold
from muster.engine.folding.state import State
from muster.model.events import JobStarted
from muster.model.ids import NodeName
from muster.model.instructions import Command, StartWorkers
from muster.model.job import JobState
from muster.model.policy import MINUTE_MS
from muster.model.records import evolve
from muster.model.spec import ArraySpec, Retry
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World

HOUR_MS = 60 * MINUTE_MS
DONE = GangScript(run_ms=HOUR_MS)
BROKEN = GangScript(run_ms=MINUTE_MS, exit_code=1)


def test_a_restarted_engine_knows_everything_and_goes_on() -> None:
    world = World()
    job = world.submit(a_job(workers=2, hours=1), FOREVER)
    waiting = world.submit(a_job(workers=4), DONE)
    world.run(until_ms=MINUTE_MS)
    again = world.restarted()
    assert again.engine.state.jobs == world.engine.state.jobs
    assert again.engine.state.snapshot.scenario(0) == world.engine.state.snapshot.scenario(0)
    again.run(until_ms=HOUR_MS)
    assert again.state_of(job) is JobState.TIMED_OUT
    assert again.state_of(waiting) is JobState.RUNNING
    assert len(again.events(JobStarted)) == 2


class DeafBackend:
    """A backend that the engine cannot reach."""

    def send(self, command: Command) -> None:
        """Lose the command."""

    def poll(self) -> tuple[()]:
        """Hear nothing."""
        return ()


def test_commands_that_were_lost_in_a_crash_are_made_up_for() -> None:
    world = World()
    job = world.submit(a_job(), DONE)
    world.engine._backend = DeafBackend()
    world.engine.tick(0)
    assert (world.state_of(job), world.backend.alive(job)) == (JobState.STARTING, ())
    again = world.restarted()
    again.run(until_ms=HOUR_MS)
    assert again.state_of(job) is JobState.SUCCEEDED


def test_a_stop_for_a_gang_that_was_never_started_ends_it() -> None:
    world = World()
    job = world.submit(a_job(), DONE)
    world.engine._backend = DeafBackend()
    world.engine.tick(0)
    world.engine.cancel(job, 0)
    again = world.restarted()
    again.settle()
    assert again.state_of(job) is JobState.CANCELLED


def test_the_log_alone_gives_the_same_state() -> None:
    world = World()
    world.submit(evolve(a_job(), array=ArraySpec(indices=(0, 1, 2), concurrency=1), retry=Retry(limit=1)), BROKEN)
    world.submit(a_job(workers=2, checkpoint=True), GangScript(run_ms=HOUR_MS, saves=True))
    world.run(until_ms=30 * MINUTE_MS)
    world.backend.lose_node(NodeName("n1"))
    world.run(until_ms=2 * HOUR_MS)
    replayed = State(world.scenario)
    for event in world.log.read():
        assert fold(replayed, event).is_change
    assert replayed.jobs == world.engine.state.jobs
    assert replayed.version == world.log.version
    now_ms = world.now_ms
    assert replayed.snapshot.scenario(now_ms) == world.engine.state.snapshot.scenario(now_ms)


def test_commands_name_the_whole_gang() -> None:
    sent: list[Command] = []

    class Listening(DeafBackend):
        def send(self, command: Command) -> None:
            sent.append(command)

    world = World()
    world.submit(a_job(workers=2))
    world.engine._backend = Listening()
    world.engine.tick(0)
    (command,) = sent
    assert isinstance(command, StartWorkers)
    assert command.workers == command.gang
    assert len(command.gang) == 2
