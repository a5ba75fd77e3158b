"""Nodes pull the images of jobs that were promised a start there, before it."""

from dataclasses import replace

from immutables import Map

from muster.live.publishing.publisher import NOTHING
from muster.live.watching.image_watch import ImageWatch
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, Worker
from muster.model.node_limits import PULL_AHEAD_MS
from muster.model.plan import Promise
from muster.model.records import evolve
from muster.views.view import View
from tests.unit.core.lifecycle.builders import a_spec
from tests.unit.core.stragglers.builders import a_training

NOW_MS = 1_000_000
SOON_MS = NOW_MS + PULL_AHEAD_MS


def promised(*promises: tuple[str, str, int, tuple[str, ...]]) -> View:
    """Jobs with an image that were promised a start on some nodes."""
    jobs: dict[JobId, Job] = {}
    found: dict[JobId, Promise] = {}
    for name, image, start_ms, nodes in promises:
        job = JobId(name)
        jobs[job] = evolve(a_training(), id=job, spec=evolve(a_spec(), image=image))
        workers = tuple(Worker(rank=rank, role="worker", node=NodeName(node)) for rank, node in enumerate(nodes))
        found[job] = Promise(job=job, start_ms=start_ms, workers=workers, made_ms=0)
    return replace(NOTHING, jobs=Map(jobs), promises=found)


class Watching:
    """What nodes are told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[str, ...]]] = []
        self.watch = ImageWatch(lambda node, images: self.told.append((node, images)))

    def look(self, view: View, now_ms: int = NOW_MS) -> list[tuple[str, tuple[str, ...]]]:
        self.told.clear()
        assert self.watch.look(view, now_ms) == ()
        return list(self.told)


def test_the_nodes_of_a_promised_start_are_told_once_about_its_image() -> None:
    watching = Watching()
    view = promised(("job-1", "train:1", SOON_MS, ("n1", "n2")))
    assert watching.look(view) == [("n1", ("train:1",)), ("n2", ("train:1",))]
    assert watching.look(view) == []


def test_a_start_that_is_far_away_or_needs_no_image_is_no_news() -> None:
    watching = Watching()
    view = promised(("job-1", "train:1", SOON_MS + 1, ("n1",)), ("job-2", "", SOON_MS, ("n2",)))
    assert watching.look(view) == []
    assert watching.look(view, NOW_MS + 1) == [("n1", ("train:1",))]


def test_a_promise_that_moves_tells_the_new_node_and_what_starts_first_is_pulled_first() -> None:
    watching = Watching()
    watching.look(promised(("job-1", "train:1", SOON_MS, ("n1",))))
    both = promised(("job-1", "train:1", SOON_MS, ("n2",)), ("job-2", "eval:3", SOON_MS - 1, ("n2",)))
    assert watching.look(both) == [("n2", ("eval:3", "train:1"))]
    assert watching.look(promised(("job-1", "train:1", SOON_MS, ("n1",)))) == [("n1", ("train:1",))]
