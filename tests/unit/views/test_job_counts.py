from muster.backends.fake import GangScript
from muster.engine.folding.projection import is_leaver
from muster.live.publishing.feed import Feed
from muster.live.publishing.publisher import Publisher
from muster.model.policy import MINUTE_MS
from muster.views.job_counts import Counting
from tests.builders import a_job
from tests.unit.engine.world import World, a_small_cluster

STUBBORN = GangScript(run_ms=None, stop_ms=None)


def test_workers_that_a_job_gave_up_use_gpus_and_are_no_job() -> None:
    world = World(a_small_cluster(1, 4))
    world.submit(a_job(workers=(1, 4), checkpoint=True), STUBBORN)
    world.run(until_ms=30 * MINUTE_MS)
    world.submit(a_job(workers=2, tier="production"), STUBBORN)
    world.settle()
    state = world.engine.state
    assert [is_leaver(job) for job in state.snapshot.running] == [False, True]
    publisher = Publisher(Feed(0))
    publisher.begin(state)
    counts = Counting().job_counts(publisher.view)
    assert sum(counts.running.values()) == 1
    assert sum(counts.gpus_used_milli.values()) == 4_000
