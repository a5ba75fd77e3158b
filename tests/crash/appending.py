"""A process that appends numbered batches until it is killed, and says after each that it is safe.

`python -m tests.crash.appending URL BATCHES` prints one number per line: first the version at which it found the log,
then the version after each append, and `saved N` after each state.
"""

import sys

from muster.model.audit import AuditEntry
from muster.model.events import Event, TimerFired
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.store.sql import open_store
from tests.builders import a_job

BATCH = 3
LAYOUT = "layout"


def batch(number: int) -> list[Event]:
    return [TimerFired(at_ms=number, job=JobId(f"job-{each}")) for each in range(BATCH)]


def record(number: int) -> Job:
    """How the batch leaves the one job whose record is kept."""
    return Job(id=JobId("job"), spec=a_job(), state=JobState.RUNNING, submitted_ms=0, attempt=number)


def body(version: int) -> bytes:
    """A state of several pages."""
    return f"{version:<8}".encode() * 4_000


def main(url: str, batches: int) -> None:
    with open_store(url, write=True) as store:
        version = store.log.version
        say(version)
        for _ in range(batches):
            number = version // BATCH
            entry = AuditEntry(at_ms=number, by="ann", action="jobs.submit", subject=str(number))
            version = store.log.append(batch(number), version, jobs=[record(number)], audit=[entry])
            say(version)
            if number % 2:
                store.states.save_state(version, LAYOUT, body(version))
                say(f"saved {version}")


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
