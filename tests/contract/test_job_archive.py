"""What every archive of jobs must do."""

import pytest

from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.job import Cause, Job, JobState, Worker
from muster.model.records import changed
from muster.store.base import JobCursor, JobFilter
from muster.store.sql import SqlStore
from tests.builders import a_job

ALL = JobFilter()


def a_record(
    job: str, *, submitted_ms: int = 1, team: str = "nlp", state: JobState = JobState.QUEUED, **fields: str
) -> Job:
    return Job(
        id=JobId(job),
        spec=a_job(fields.get("name", "train"), team=team, tier=fields.get("tier", "standard")),
        state=state,
        submitted_ms=submitted_ms,
        user=fields.get("user", "ann"),
        array_parent=JobId(fields["array"]) if "array" in fields else None,
    )


def keep(store: SqlStore, *jobs: Job) -> None:
    store.log.append([], store.log.version, jobs=jobs)


def found(store: SqlStore, filters: JobFilter) -> list[str]:
    return [job.id for job in store.jobs.jobs(filters, limit=100).jobs]


def test_a_record_is_read_as_it_was_written(store: SqlStore) -> None:
    record = changed(
        a_record("job-1", state=JobState.RUNNING),
        workers=(Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1)),),
        cause=Cause.PREEMPTED,
        preferred_nodes=(NodeName("n1"),),
    )
    keep(store, record)
    assert store.jobs.job(JobId("job-1")) == record
    assert store.jobs.job(JobId("job-2")) is None


def test_a_newer_record_takes_the_place_of_the_older(store: SqlStore) -> None:
    keep(store, a_record("job-1"), a_record("job-1", state=JobState.STARTING))
    keep(store, a_record("job-1", state=JobState.RUNNING))
    assert store.jobs.jobs(ALL, limit=10).jobs == (a_record("job-1", state=JobState.RUNNING),)


def test_pages_go_from_the_newest_to_the_oldest_and_then_by_id(store: SqlStore) -> None:
    keep(store, *(a_record(f"job-{number}", submitted_ms=number // 2) for number in range(7)))
    first = store.jobs.jobs(ALL, limit=3)
    assert [job.id for job in first.jobs] == ["job-6", "job-5", "job-4"]
    assert first.next == JobCursor(submitted_ms=2, id=JobId("job-4"))
    second = store.jobs.jobs(ALL, limit=3, cursor=first.next)
    assert [job.id for job in second.jobs] == ["job-3", "job-2", "job-1"]
    last = store.jobs.jobs(ALL, limit=3, cursor=second.next)
    assert [job.id for job in last.jobs] == ["job-0"]
    assert last.next is None


def test_a_page_that_ends_with_the_last_job_is_the_last(store: SqlStore) -> None:
    keep(store, a_record("job-1"), a_record("job-2"))
    assert store.jobs.jobs(ALL, limit=2).next is None


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (JobFilter(team=TeamPath("nlp")), ["sub", "nlp"]),
        (JobFilter(team=TeamPath("nlp/x")), ["sub"]),
        (JobFilter(team=TeamPath("nl")), []),
        (JobFilter(states=(JobState.QUEUED, JobState.FAILED)), ["other", "near", "sub", "nlp"]),
        (JobFilter(states=(JobState.RUNNING,)), ["task"]),
        (JobFilter(user="ben"), ["other"]),
        (JobFilter(name="tune"), ["other"]),
        (JobFilter(tier=TierName("urgent")), ["near"]),
        (JobFilter(array=JobId("arr")), ["task"]),
        (JobFilter(user="ben", team=TeamPath("nlp")), []),
    ],
)
def test_jobs_can_be_chosen(store: SqlStore, filters: JobFilter, expected: list[str]) -> None:
    keep(
        store,
        a_record("nlp", submitted_ms=1),
        a_record("sub", submitted_ms=2, team="nlp/x/y"),
        a_record("near", submitted_ms=3, team="nlp-2", tier="urgent"),
        a_record("other", submitted_ms=4, team="vision", user="ben", name="tune", state=JobState.FAILED),
        a_record("task", submitted_ms=5, team="Nlp", array="arr", state=JobState.RUNNING),
    )
    assert found(store, filters) == expected
