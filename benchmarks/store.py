"""How fast the store writes and starts: one JSON line per case. Run with `make bench`.

Writing waits for the disk, so its figures depend on the disk under the temporary folder. Wall time is measured.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.core import report
from muster.model.audit import AuditEntry
from muster.model.events import CheckpointSaved, Event, JobStarted, JobSubmitted, WorkersExited, WorkersStarted
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState, Worker
from muster.store.base import JobFilter
from muster.store.sql import SqlStore, open_store
from tests.builders import a_job

JOBS = 10_000
EVENTS = 1_000_000
TAIL = 20_000
STATE_BYTES = 30_000_000
"""About the size of a saved state with ten thousand jobs."""


def life(job: JobId, events: int) -> Iterator[Event]:
    """The events of one job: it is submitted, runs, saves many times and ends."""
    workers = tuple(
        Worker(rank=rank, role="worker", node=NodeName(f"n{rank}"), gpus=tuple(range(8))) for rank in range(4)
    )
    ranks = tuple(range(4))
    yield JobSubmitted(at_ms=1, job=job, spec=a_job(gpus=8, workers=4, checkpoint=True), by="ann")
    yield JobStarted(
        at_ms=2, job=job, attempt=1, generation=1, workers=workers, max_duration_ms=86_400_000, stop_grace_ms=120_000
    )
    yield WorkersStarted(at_ms=3, job=job, attempt=1, generation=1, ranks=ranks)
    for at_ms in range(4, events):
        yield CheckpointSaved(at_ms=at_ms, job=job, attempt=1, cost_ms=900)
    yield WorkersExited(at_ms=events, job=job, attempt=1, generation=1, ranks=ranks, exit_code=0)


def record(job: JobId) -> Job:
    """The record of the job after these events."""
    spec = a_job(gpus=8, workers=4, checkpoint=True)
    return Job(id=job, spec=spec, state=JobState.SUCCEEDED, submitted_ms=1, ended_ms=100, user="ann")


def appending(folder: Path, *, batch: int, commits: int) -> None:
    """Appends as the writer's thread makes them: events with the resulting job records and audit entries."""
    with open_store(f"sqlite:///{folder}/append-{batch}.db", write=True) as store:
        entry = AuditEntry(at_ms=1, by="ann", action="jobs.submit", subject="job-1")
        times_ms: list[float] = []
        for number in range(commits):
            job = JobId(f"job-{number}")
            events = list(life(job, max(batch, 5)))[:batch]
            began = time.perf_counter()
            store.log.append(events, number * batch, jobs=[record(job)], audit=[entry])
            times_ms.append((time.perf_counter() - began) * 1000)
    times_ms.sort()
    report(
        f"append of {batch} per commit, SQLite",
        commits=commits,
        events_per_s=round(batch * commits / (sum(times_ms) / 1000)),
        p50_ms=times_ms[commits // 2],
        p99_ms=times_ms[int(commits * 0.99) - 1],
    )


def filled(folder: Path) -> str:
    """Fill a store with a long log, and return its URL."""
    url = f"sqlite:///{folder}/long.db"
    jobs = [JobId(f"job-{number}") for number in range(JOBS)]
    began = time.perf_counter()
    with open_store(url, write=True) as store:
        for some in (jobs[first : first + 100] for first in range(0, JOBS, 100)):
            events = [event for job in some for event in life(job, EVENTS // JOBS)]
            store.log.append(events, store.log.version, jobs=[record(job) for job in some])
        store.states.save_state(store.log.version - TAIL, "layout", bytes(STATE_BYTES))
        report("filling a store", events=store.log.version, wall_s=time.perf_counter() - began)
    return url


def starting(folder: Path) -> None:
    """Restarts with a long log, first with nothing of the file in memory and then with all of it."""
    url = filled(folder)
    forget(folder / "long.db")
    restart(url, folder, "nothing in memory")
    restart(url, folder, "all in memory")
    with open_store(url, write=False) as store:
        reading(store)


def forget(path: Path) -> None:
    """Drop a file from the page cache, as after a reboot."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def restart(url: str, folder: Path, circumstance: str) -> None:
    """What a restart of the control plane does with a long log: open, load the state, read the tail."""
    steps: dict[str, float] = {}
    began = time.perf_counter()

    def done(step: str) -> None:
        nonlocal began
        steps[f"{step}_wall_ms"] = (time.perf_counter() - began) * 1000
        began = time.perf_counter()

    with open_store(url, write=True) as store:
        done("open")
        state = store.states.load_state("layout")
        assert state is not None
        done("load_state")
        assert sum(1 for _ in store.log.read(state.version)) == TAIL
        done("read_tail")
        report(
            f"restart with a long past, {circumstance}",
            jobs=JOBS,
            events=EVENTS,
            file_mb=(folder / "long.db").stat().st_size / 1e6,
            total_wall_ms=sum(steps.values()),
            **steps,
        )


def reading(store: SqlStore) -> None:
    """Queries that are made all the time, and one that is rare: `verify_all`."""
    steps: dict[str, float] = {}
    questions: dict[str, Callable[[], object]] = {
        "page_of_100_jobs": lambda: store.jobs.page(JobFilter(), limit=100),
        "story_of_a_job": lambda: store.log.events_after(0, 1_000, JobId("job-5000")),
        "page_of_1000_events": lambda: store.log.events_after(500_000, 1_000),
        "verify_all": store.audit.verify,
    }
    for name, ask in questions.items():
        began = time.perf_counter()
        ask()
        steps[f"{name}_ms"] = (time.perf_counter() - began) * 1000
    report("reading a long past", **steps)


def main(chosen: list[str]) -> None:
    """Run all cases, or the cases named on the command line."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        cases: dict[str, Callable[[], object]] = {
            "append-1": lambda: appending(folder, batch=1, commits=500),
            "append-50": lambda: appending(folder, batch=50, commits=200),
            "restart": lambda: starting(folder),
        }
        for case, run in cases.items():
            if not chosen or case in chosen:
                run()


if __name__ == "__main__":
    main(sys.argv[1:])
