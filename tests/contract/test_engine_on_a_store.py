"""The engine does on a durable log what it does on one in memory, and goes on from it in the next process."""

from muster.backends.fake import GangScript
from muster.model.ids import JobId
from muster.model.spec import ArraySpec, Dependency
from muster.store.sql import SqlStore, open_store
from tests.builders import a_job
from tests.unit.engine.world import World

END_MS = 3_600_000


def live(world: World) -> None:
    """Some jobs of all kinds, some of which fail, wait for each other or are ended."""
    first = world.submit(a_job("first", gpus=2, workers=2, hours=1), GangScript(run_ms=60_000))
    world.submit(a_job("after", gpus=1, depends_on=(Dependency(job=first),)), GangScript(run_ms=60_000))
    world.submit(a_job("array", gpus=1, array=ArraySpec(indices=(0, 1, 2), concurrency=2)), GangScript(run_ms=90_000))
    doomed = world.submit(a_job("doomed", gpus=1), GangScript(run_ms=None))
    world.submit(a_job("failing", gpus=1), GangScript(run_ms=5_000, exit_code=3))
    world.run(120_000)
    world.engine.cancel(doomed, world.now_ms, by="ann")


def test_a_durable_log_makes_no_difference(store: SqlStore) -> None:
    durable, fleeting = World(log=store.log), World()
    for world in (durable, fleeting):
        live(world)
        world.run(END_MS)
    assert list(store.log.read()) == list(fleeting.log.read())
    assert durable.engine.state.jobs == fleeting.engine.state.jobs


def test_the_next_process_goes_on_where_the_last_one_ended(store: SqlStore, url: str) -> None:
    world, fleeting = World(log=store.log), World()
    live(world)
    live(fleeting)
    fleeting.run(END_MS)
    store.close()
    with open_store(url, write=True) as again:
        reopened = World(world.scenario, log=again.log, backend=world.backend)
        assert reopened.engine.state.jobs == world.engine.state.jobs
        reopened.engine.reconnect(world.now_ms)
        reopened.run(END_MS)
        ends = {job.id: (job.state, job.ended_ms) for job in reopened.engine.state.jobs.values()}
        assert ends == {job.id: (job.state, job.ended_ms) for job in fleeting.engine.state.jobs.values()}
        assert again.audit.verify().is_whole


def test_the_archive_says_of_every_job_what_the_engine_says(store: SqlStore) -> None:
    world = World(log=store.log)
    live(world)
    world.run(END_MS)
    state = world.engine.state
    assert store.jobs.find([*state.jobs, *state.arrays]) == {
        **state.jobs,
        **{array: state.array_record(array) for array in state.arrays},
    }
    assert store.log.events_after(0, 100, JobId("job-1"))
