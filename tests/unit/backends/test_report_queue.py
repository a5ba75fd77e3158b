"""What is not recorded yet: bounded, in order, and the last save of each job."""

import pytest

from muster.backends.local import report_queue as news_module
from muster.backends.local.report_queue import ReportQueue
from muster.model.events import ObservedEvent
from muster.model.ids import JobId, NodeName
from muster.model.reports import CheckpointSaved, ShardsSaved, WorkersExited

N1 = NodeName("n1")


def saved(number: int, job: str = "job-1", attempt: int = 1) -> CheckpointSaved:
    return CheckpointSaved(at_ms=number, job=JobId(job), attempt=attempt)


def ended(job: str = "job-1") -> ObservedEvent:
    return WorkersExited(at_ms=0, job=JobId(job), attempt=1, generation=1, ranks=(0,), exit_code=0)


def test_of_the_saves_of_a_job_the_last_is_kept_and_the_order_stays() -> None:
    news = ReportQueue()
    for number in range(1, 1_001):
        news.put((N1, number, saved(number)))
    news.put((N1, 1_001, saved(1, attempt=2)))
    news.put((N1, 1_002, ended("job-2")))
    news.put((N1, 1_003, saved(7)))
    assert [number for _, number, _ in news.take()] == [1_001, 1_002, 1_003]
    assert news.take() == ()
    news.put((N1, 1_004, saved(8)))
    assert [number for _, number, _ in news.take()] == [1_004]


def test_it_is_full_until_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news_module, "BACKEND_NEWS", 3)
    news = ReportQueue()
    for number in range(3):
        assert not news.is_full
        news.put((N1, number, ended()))
    assert news.is_full
    news.take()
    assert not news.is_full


def shards(step: int, node: NodeName) -> ShardsSaved:
    return ShardsSaved(at_ms=0, job=JobId("job-1"), attempt=1, node=node, step=step, world=2, ranks=(0,))


def test_of_the_parts_that_each_node_has_saved_those_of_the_newest_saves_are_kept() -> None:
    news, other = ReportQueue(), NodeName("n2")
    for step in range(100):
        news.put((N1, step, shards(step, N1)))
    news.put((other, 1, shards(3, other)))
    assert [event.step for _, _, event in news.take() if isinstance(event, ShardsSaved)] == [96, 97, 98, 99, 3]
    news.put((N1, 200, shards(100, N1)))
    assert len(news.take()) == 1
