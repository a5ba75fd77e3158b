"""A small store with a bit of everything, and all that can be read of it."""

from collections.abc import Iterable

from muster.model.access import Binding, Role, Token
from muster.model.audit import AuditEntry
from muster.model.events import Event, HoldsSet, JobStarted, JobSubmitted, TimerFired
from muster.model.ids import JobId, NodeName, TeamPath, TokenId
from muster.model.job import Job, JobState, Worker
from muster.model.spec import JobSpec
from muster.store.base import JobFilter, SavedState
from muster.store.sql import SqlStore, open_store
from tests.builders import a_job

JOBS = tuple(JobId(f"job-{number}") for number in range(30))
LAYOUTS = ("old", "new")
PAGE = 1_000


def fill(url: str) -> None:
    """Make a store with some pages of every table."""
    with open_store(url, write=True) as store:
        for at_ms, job in enumerate(JOBS):
            events = list(_life(job, at_ms))
            record = Job(
                id=job, spec=_spec(job), state=JobState.RUNNING, submitted_ms=at_ms, user="ann", number=at_ms + 1
            )
            entry = AuditEntry(at_ms=at_ms, by="ann", action="jobs.submit", subject=job, reason="a reason")
            store.log.append(events, store.log.version, jobs=[record], audit=[entry, entry])
            if at_ms < 12:
                binding = Binding(role=Role.LEAD, team=TeamPath("nlp"))
                name = f"t{at_ms}"
                store.tokens.add(
                    Token(
                        id=TokenId(name), name="ann", digest=f"digest of {name}", bindings=(binding,), created_ms=at_ms
                    )
                )
        store.states.save_state(store.log.version - 20, "old", bytes(range(256)) * 30)
        store.states.save_state(store.log.version, "new", bytes(range(255, -1, -1)) * 30)


def read_all(store: SqlStore) -> list[object]:
    """Everything that the ports tell, in every way they tell it; but not what can be made again from it."""
    return [
        store.log.version,
        list(store.log.read()),
        [store.log.events_after(0, PAGE, job) for job in JOBS],
        [(record.seq, record.entry, record.version) for record in store.audit.entries(0, PAGE)],
        store.tokens.all(),
        [store.tokens.find(f"digest of t{number}") for number in range(13)],
        store.jobs.page(JobFilter(), limit=PAGE),
        store.jobs.page(JobFilter(states=(JobState.RUNNING,)), limit=PAGE),
        store.jobs.find(JOBS),
        list(store.jobs.ended()),
        store.jobs.keyed("ann", "key"),
    ]


def read_states(store: SqlStore) -> list[SavedState | None]:
    """The saved states, of which a damaged one is passed over."""
    return [store.states.load_state(layout) for layout in LAYOUTS]


def _life(job: JobId, at_ms: int) -> Iterable[Event]:
    worker = Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1))
    yield JobSubmitted(at_ms=at_ms, job=job, spec=_spec(job), by="ann")
    yield JobStarted(
        at_ms=at_ms, job=job, attempt=1, generation=1, workers=(worker,), max_duration_ms=1_000, stop_grace_ms=10
    )
    yield HoldsSet(at_ms=at_ms, holds=())
    yield from (TimerFired(at_ms=at_ms, job=job) for _ in range(3))


def _spec(job: JobId) -> JobSpec:
    return a_job(job, gpus=2, checkpoint=True)
