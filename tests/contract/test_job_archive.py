"""What every archive of jobs must do."""

import pytest

from muster.model.array import ArrayRecord, JobRecord
from muster.model.events import JobSubmitted
from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.job import Cause, Job, JobState, Worker
from muster.model.records import evolve
from muster.model.spec import ArraySpec
from muster.store.base import EventLog, JobFilter, KeyedRequest
from muster.store.memory import MemoryLog
from muster.store.sql import SqlStore, job_archive
from muster.store.sql.job_archive import SqlJobArchive
from tests.builders import a_job

ALL = JobFilter()


def a_record(job: str, number: int = 1, *, team: str = "nlp", state: JobState = JobState.QUEUED, **fields: str) -> Job:
    return Job(
        id=JobId(job),
        spec=a_job(fields.get("name", "train"), team=team, tier=fields.get("tier", "standard")),
        state=state,
        submitted_ms=number,
        number=number,
        user=fields.get("user", "ann"),
        array_parent=JobId(fields["array"]) if "array" in fields else None,
    )


def an_array(array: str, number: int) -> ArrayRecord:
    spec = a_job("sweep", team="nlp", array=ArraySpec(indices=(0, 1)))
    counts = ((JobState.RUNNING, 1), (JobState.SUCCEEDED, 1))
    return ArrayRecord(
        id=JobId(array), spec=spec, state=JobState.RUNNING, submitted_ms=1, number=number, user="ann", counts=counts
    )


Archive = SqlJobArchive | MemoryLog


@pytest.fixture(params=["kept", "in memory"])
def logs(request: pytest.FixtureRequest, store: SqlStore) -> tuple[EventLog, Archive]:
    """A log, and the archive that goes with it."""
    log = MemoryLog()
    return (log, log) if request.param == "in memory" else (store.log, store.jobs)


def keep(logs: tuple[EventLog, Archive], *jobs: JobRecord) -> Archive:
    logs[0].append([], logs[0].version, jobs=jobs)
    return logs[1]


def found(archive: Archive, filters: JobFilter) -> list[str]:
    return [job.id for job in archive.page(filters, limit=100).jobs]


def test_a_record_is_read_as_it_was_written(logs: tuple[EventLog, Archive]) -> None:
    record = evolve(
        a_record("job-1", state=JobState.RUNNING),
        workers=(Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1)),),
        cause=Cause.PREEMPTED,
        preferred_nodes=(NodeName("n1"),),
    )
    array = an_array("job-2", 2)
    archive = keep(logs, record, array)
    asked = (JobId("job-1"), JobId("job-2"), JobId("job-3"))
    assert archive.find(asked) == {record.id: record, array.id: array}


def test_more_can_be_asked_for_than_fit_into_one_question(logs: tuple[EventLog, Archive]) -> None:
    archive = keep(logs, *(a_record(f"job-{number}", number) for number in range(1, 1_200)))
    assert len(archive.find([JobId(f"job-{number}") for number in range(2_000)])) == 1_199


def test_a_newer_record_takes_the_place_of_the_older(logs: tuple[EventLog, Archive]) -> None:
    keep(logs, a_record("job-1"), a_record("job-1", state=JobState.STARTING))
    archive = keep(logs, a_record("job-1", state=JobState.RUNNING))
    assert archive.page(ALL, limit=10).jobs == (a_record("job-1", state=JobState.RUNNING),)


def test_pages_go_from_the_newest_to_the_oldest(logs: tuple[EventLog, Archive]) -> None:
    archive = keep(logs, *(a_record(f"job-{number}", number) for number in range(1, 8)))
    first = archive.page(ALL, limit=3)
    assert [job.id for job in first.jobs] == ["job-7", "job-6", "job-5"]
    second = archive.page(ALL, limit=3, before=first.next)
    assert [job.id for job in second.jobs] == ["job-4", "job-3", "job-2"]
    last = archive.page(ALL, limit=3, before=second.next)
    assert ([job.id for job in last.jobs], last.next) == (["job-1"], None)


def test_a_page_that_ends_with_the_last_job_is_the_last(logs: tuple[EventLog, Archive]) -> None:
    archive = keep(logs, a_record("job-1", 1), a_record("job-2", 2))
    assert archive.page(ALL, limit=2).next is None


def test_a_page_looks_at_so_many_submissions_and_the_next_goes_on_there(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_archive, "JOBS_SCANNED", 10)
    jobs = [a_record(f"job-{number}", number, user="ben" if number == 3 else "ann") for number in range(1, 26)]
    archive = keep((store.log, store.jobs), *jobs)
    page, pages = archive.page(JobFilter(user="ben"), limit=5), 1
    while not page.jobs and page.next is not None:
        page, pages = archive.page(JobFilter(user="ben"), limit=5, before=page.next), pages + 1
    assert ([job.id for job in page.jobs], page.next, pages) == (["job-3"], None, 3)


def test_a_page_reads_only_so_much_of_long_records(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_archive, "PAGE_RECORD_BYTES", 10_000)
    long = [evolve(a_record(f"job-{n}", n), spec=a_job("long", setup="#" * 6_000)) for n in range(1, 6)]
    archive = keep((store.log, store.jobs), *long)
    pages: list[list[str]] = []
    before: int | None = None
    while not pages or before is not None:
        page = archive.page(ALL, limit=100, before=before)
        pages, before = [*pages, [job.id for job in page.jobs]], page.next
    assert pages == [["job-5", "job-4"], ["job-3", "job-2"], ["job-1"]]
    monkeypatch.setattr(job_archive, "PAGE_RECORD_BYTES", 1)
    assert [job.id for job in archive.page(ALL, limit=100).jobs] == ["job-5"]


def test_what_has_ended_is_told_in_the_order_of_submission(logs: tuple[EventLog, Archive]) -> None:
    over = evolve(a_record("late", 9, state=JobState.FAILED), ended_ms=10)
    task = evolve(a_record("a.0", 4, array="a", state=JobState.SUCCEEDED), ended_ms=10)
    archive = keep(logs, over, task, a_record("going", 5), an_array("a", 4))
    assert [job.id for job in archive.ended()] == ["a.0", "late"]


def test_a_request_is_found_by_its_key_and_its_subject(logs: tuple[EventLog, Archive]) -> None:
    log, archive = logs
    spec = a_job()
    log.append([JobSubmitted(at_ms=1, job=JobId("job-1"), spec=spec, by="ann", key="k", fingerprint="f")], 0)
    log.append([JobSubmitted(at_ms=1, job=JobId("job-2"), spec=spec, by="ann")], 1)
    assert archive.keyed("ann", "k") == KeyedRequest(job=JobId("job-1"), fingerprint="f")
    assert archive.keyed("ben", "k") is None


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (ALL, ["arr", "other", "near", "sub", "nlp"]),
        (JobFilter(team=TeamPath("nlp")), ["arr", "sub", "nlp"]),
        (JobFilter(team=TeamPath("nlp/x")), ["sub"]),
        (JobFilter(team=TeamPath("nl")), []),
        (JobFilter(teams=(TeamPath("nlp/x"), TeamPath("vision"))), ["other", "sub"]),
        (JobFilter(teams=()), []),
        (JobFilter(teams=(TeamPath("nlp"),), team=TeamPath("nlp/x")), ["sub"]),
        (JobFilter(states=(JobState.QUEUED, JobState.FAILED)), ["other", "near", "sub", "nlp"]),
        (JobFilter(states=(JobState.RUNNING,)), ["arr"]),
        (JobFilter(user="ben"), ["other"]),
        (JobFilter(name="tune"), ["other"]),
        (JobFilter(tier=TierName("urgent")), ["near"]),
        (JobFilter(user="ben", team=TeamPath("nlp")), []),
    ],
)
def test_jobs_can_be_chosen(logs: tuple[EventLog, Archive], filters: JobFilter, expected: list[str]) -> None:
    archive = keep(
        logs,
        a_record("nlp", 1),
        a_record("sub", 2, team="nlp/x/y"),
        a_record("near", 3, team="nlp-2", tier="urgent"),
        a_record("other", 4, team="vision", user="ben", name="tune", state=JobState.FAILED),
        a_record("arr.0", 5, team="nlp", array="arr", state=JobState.RUNNING),
        an_array("arr", 5),
    )
    assert found(archive, filters) == expected
