"""Simulated gangs that save by steps: what they write, what is left of it, and what they say when they resume."""

from typing import TypeVar

from muster.backends.fake import GangScript, ShardScript
from muster.backends.fake.checkpoint_files import StorageTier
from muster.backends.fake.training import COPY_MS, UPLOAD_RETRY_MS, TrainingBackend
from muster.model.events import CheckpointDamaged, CheckpointUploaded, ObservedEvent, ShardsSaved
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint, KillWorkers, StartWorkers
from muster.model.job import Worker
from muster.model.policy import MINUTE_MS
from tests.builders import a_job

JOB = JobId("j1")
N0, N1 = NodeName("n0"), NodeName("n1")
GANG = (
    Worker(rank=0, role="worker", node=N0, gpus=(0,)),
    Worker(rank=1, role="worker", node=N1, gpus=(0,)),
)
Kind = TypeVar("Kind")


def a_backend(**shards: int) -> TrainingBackend:
    script = GangScript(run_ms=None, saves=True, stop_ms=None, shards=ShardScript(**shards))
    return TrainingBackend({JOB: (script,)})


def started(backend: TrainingBackend, attempt: int = 1, resume_step: int | None = None) -> TrainingBackend:
    start = StartWorkers(
        job=JOB,
        attempt=attempt,
        generation=attempt * 10,
        spec=a_job(gpus=1, workers=2, checkpoint=True),
        workers=GANG,
        gang=GANG,
        resume_step=resume_step,
    )
    backend.send(start)
    backend.advance(backend.now_ms)
    return backend


def saved(backend: TrainingBackend, at_ms: int) -> tuple[ObservedEvent, ...]:
    """What is reported when the gang is asked to save at this time."""
    backend.advance(at_ms)
    backend.poll()
    generation = backend._gangs[JOB].generation + 1
    backend.send(AskCheckpoint(job=JOB, attempt=backend._gangs[JOB].attempt, generation=generation))
    return backend.poll()


def of_kind(reports: tuple[ObservedEvent, ...], kind: type[Kind]) -> list[Kind]:
    return [each for each in reports if isinstance(each, kind)]


def resumed(backend: TrainingBackend, step: int) -> list[CheckpointDamaged]:
    """What the next attempt says that is told this step."""
    backend.poll()
    return of_kind(started(backend, attempt=2, resume_step=step).poll(), CheckpointDamaged)


def test_every_node_reports_the_parts_that_its_processes_have_written() -> None:
    backend = started(a_backend(skew_ms=1_000))
    [first] = of_kind(saved(backend, 3 * MINUTE_MS), ShardsSaved)
    assert (first.node, first.step, first.world, first.ranks) == (N0, 3, 2, (0,))
    backend.advance(backend.now_ms + 1_000)
    [second] = of_kind(backend.poll(), ShardsSaved)
    assert (second.node, second.step, second.ranks) == (N1, 3, (1,))


def test_a_step_is_saved_once() -> None:
    backend = started(a_backend())
    saved(backend, MINUTE_MS)
    assert not of_kind(saved(backend, MINUTE_MS + 1), ShardsSaved)


def test_a_node_that_is_lost_in_between_never_writes_its_part() -> None:
    backend = started(a_backend(skew_ms=1_000))
    saved(backend, MINUTE_MS)
    backend.lose_node(N1)
    backend.advance(10 * MINUTE_MS)
    assert not of_kind(backend.poll(), ShardsSaved)
    files = backend.files.find(JOB, 1, 1)
    assert files is not None
    assert not files.is_whole


def test_the_neighbour_keeps_what_a_lost_node_had() -> None:
    backend = started(a_backend(upload_ms=60 * MINUTE_MS))
    saved(backend, MINUTE_MS)
    backend.advance(backend.now_ms + COPY_MS)
    backend.lose_node(N1)
    assert backend.files.broken_rank(JOB, 1) is None


def test_without_any_copy_a_gang_says_so_and_waits() -> None:
    backend = started(a_backend(upload_ms=60 * MINUTE_MS))
    saved(backend, MINUTE_MS)
    backend.lose_node(N1)
    backend._lost_nodes.clear()
    [damaged] = resumed(backend, 1)
    assert (damaged.attempt, damaged.step, damaged.rank) == (2, 1, 1)
    assert backend.alive(JOB) == (0, 1)


def test_a_damaged_part_is_restored_from_durable_storage_while_that_is_intact() -> None:
    backend = started(a_backend())
    saved(backend, MINUTE_MS)
    backend.advance(10 * MINUTE_MS)
    [files] = backend.files.of(JOB)
    files.damage(0, StorageTier.HOT)
    assert backend.files.broken_rank(JOB, 1) is None
    files.damage(0, StorageTier.DURABLE)
    assert [each.rank for each in resumed(backend, 1)] == [0]


def test_a_resumed_gang_goes_on_from_its_step() -> None:
    backend = started(a_backend())
    saved(backend, 4 * MINUTE_MS)
    assert not resumed(backend, 4)
    assert {each.step for each in of_kind(saved(backend, backend.now_ms + 2 * MINUTE_MS), ShardsSaved)} == {6}


def test_a_copy_that_fails_is_made_again_also_after_the_attempt() -> None:
    backend = started(a_backend(upload_ms=MINUTE_MS, upload_failures=1))
    saved(backend, MINUTE_MS)
    backend.send(KillWorkers(job=JOB, attempt=1, generation=99, ranks=(0, 1)))
    backend.advance(2 * MINUTE_MS)
    assert [each.problem for each in of_kind(backend.poll(), CheckpointUploaded)] == ["access denied"]
    backend.refuse_uploads(UPLOAD_RETRY_MS + 1)
    backend.advance(2 * MINUTE_MS + UPLOAD_RETRY_MS)
    assert [each.problem for each in of_kind(backend.poll(), CheckpointUploaded)] == ["access denied"]
    backend.advance(2 * MINUTE_MS + 2 * UPLOAD_RETRY_MS)
    assert [each.problem for each in of_kind(backend.poll(), CheckpointUploaded)] == [""]


def test_what_a_user_removed_cannot_be_restored() -> None:
    backend = started(a_backend())
    saved(backend, MINUTE_MS)
    backend.files.remove(JOB, 1)
    assert backend.files.of(JOB) == ()
    assert resumed(backend, 1)
