"""Which jobs have not ended, by submission."""

from muster.live.publishing.feed import Feed
from muster.live.publishing.publisher import Publisher
from muster.model.events import Event, JobSubmitted
from muster.model.ids import JobId
from muster.model.requests import JobHeld
from muster.model.spec import ArraySpec
from muster.views.active_jobs import STALE_MAX, ActiveJobs
from muster.views.view import View
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World


def _view(world: World) -> View:
    publisher = Publisher(Feed(0))
    publisher.begin(world.engine.state)
    return publisher.view


def _ids(active: ActiveJobs, view: View, before: int | None = None) -> list[str]:
    return [record.id for record in active.newest(view, before)]


def _submitted(version: int, job: str) -> tuple[int, Event]:
    return version, JobSubmitted(at_ms=version, job=JobId(job), spec=a_job())


def test_jobs_are_walked_newest_first_from_any_number_and_arrays_are_one() -> None:
    world = World()
    for spec in (a_job(), a_job(array=ArraySpec(indices=(0, 1)))):
        world.submit(spec, FOREVER, held=True)
    active = ActiveJobs(_view(world))
    world.submit(a_job(), FOREVER, held=True)
    view = _view(world)
    active.note([_submitted(8, "job-3"), (9, JobHeld(at_ms=4, job=JobId("job-3"))), _submitted(10, "job-2")], view)
    assert active.version == 10
    assert _ids(active, view) == ["job-3", "job-2", "job-1"]
    assert _ids(active, view, before=3) == ["job-2", "job-1"]


def test_what_has_ended_is_passed_by_and_cleared_away() -> None:
    world = World()
    jobs = [world.submit(a_job(), FOREVER, held=True) for _ in range(STALE_MAX * 3)]
    active = ActiveJobs(_view(world))
    for number, job in enumerate(jobs):
        if number % 3:
            world.engine.cancel(job, world.now_ms)
    view = _view(world)
    expected = [job for number, job in enumerate(jobs) if number % 3 == 0][::-1]
    assert _ids(active, view) == expected
    assert _ids(active, view) == expected
    assert len(active._listed) == len(expected)
