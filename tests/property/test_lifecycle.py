"""Whatever happens to a job, in whatever order, its record stays sound and it comes to an end."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.core.lifecycle import created, desired_commands, due_ms, occupied, transition
from muster.model.events import (
    CheckpointSaved,
    DependencyFailed,
    DependencyMet,
    Event,
    EvictionOrdered,
    HangFound,
    HangOver,
    HoldsSet,
    ImagePulled,
    JobStarted,
    JobSubmitted,
    NodeChanged,
    NodeLost,
    ResizeOrdered,
    SparesSet,
    StartFailed,
    StragglerFound,
    StragglerGone,
    TimerFired,
    TurnCame,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, Instruction, WakeAt
from muster.model.job import Job, JobState, Worker
from muster.model.limits import FAULTS_IN_A_ROW
from muster.model.node import Node
from muster.model.plan import Why
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested, JobHeld, JobReleased, JobRequeueRequested
from muster.model.spec import CheckpointSpec, JobSpec, Launch, Remedy, RetryCause
from muster.model.telemetry import Hang, Straggler
from tests.unit.core.lifecycle.builders import JOB, a_spec, exits, no_start

PREP = JobId("prep")
NODES = 4
KINDS = 25


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An event before it is known what it happens to."""

    kind: int
    step_ms: int
    is_helpful: bool
    """Instead of this, what brings the job nearest to running happens, if there is such a thing."""
    attempt_off: int
    generation_off: int
    ranks: tuple[int, ...]
    seats: tuple[tuple[int, int], ...]
    node: int
    exit_code: int
    told: bool
    span_ms: int


drafts = st.builds(
    Draft,
    kind=st.integers(0, KINDS - 1),
    step_ms=st.one_of(st.integers(0, 5_000), st.integers(0, 10_000_000)),
    is_helpful=st.booleans(),
    attempt_off=st.sampled_from((0, 0, 0, 1, -1)),
    generation_off=st.sampled_from((0, 0, 0, 1, -1)),
    ranks=st.lists(st.integers(0, 6), min_size=1, max_size=4).map(tuple),
    seats=st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, 2)), min_size=1, max_size=6, unique=True).map(
        tuple
    ),
    node=st.integers(0, NODES - 1),
    exit_code=st.sampled_from((0, 0, 1)),
    told=st.booleans(),
    span_ms=st.integers(0, 100_000),
)
plays = st.lists(drafts, min_size=1, max_size=40)


@st.composite
def specs(draw: st.DrawFn) -> JobSpec:
    workers = draw(st.integers(1, 3))
    spec = a_spec(
        workers=workers,
        workers_max=draw(st.integers(workers, 6)),
        retries=draw(st.integers(0, 3)),
        retry_on=tuple(draw(st.lists(st.sampled_from(RetryCause), unique=True))),
        checkpoint=draw(st.none() | st.just(CheckpointSpec(path="x", grace_ms=60_000))),
        launch=draw(st.sampled_from((Launch.PLAIN, Launch.TORCHFT))),
    )
    return evolve(spec, on_straggler=draw(st.sampled_from(Remedy)), on_hang=draw(st.sampled_from(Remedy)))


def event_of(draft: Draft, job: Job, at_ms: int) -> Event:
    """The event that the draft means for this job, now."""
    return (helpful_event(job, at_ms) if draft.is_helpful else None) or _any_event(draft, job, at_ms)


def _any_event(draft: Draft, job: Job, at_ms: int) -> Event:
    attempt, generation = job.attempt + draft.attempt_off, job.generation + draft.generation_off
    workers = tuple(
        Worker(rank=rank, role="worker", node=NodeName(f"n{node}"), gpus=(gpu,))
        for rank, (node, gpu) in enumerate(draft.seats)
    )
    about: dict[str, Any] = {"at_ms": at_ms, "job": JOB}
    fenced: dict[str, Any] = {"attempt": attempt, "generation": generation, "ranks": draft.ranks, **about}
    events: tuple[Event, ...] = (
        WorkersStarted(**fenced),
        WorkersExited(exit_code=draft.exit_code, told=draft.told, **fenced),
        StartFailed(**fenced),
        ImagePulled(attempt=attempt, node=NodeName("n1"), image="train:1", took_ms=draft.span_ms, **about),
        TimerFired(**about),
        JobStarted(
            attempt=attempt + 1,
            generation=generation + 1,
            workers=workers,
            max_duration_ms=1 + 100 * draft.span_ms,
            stop_grace_ms=30_000,
            **about,
        ),
        EvictionOrdered(attempt=attempt, why=Why.TIER, for_job=PREP, by_ms=at_ms - 1 + draft.span_ms, **about),
        ResizeOrdered(attempt=attempt, workers=workers, **about),
        CheckpointSaved(attempt=attempt, cost_ms=draft.span_ms, **about),
        NodeLost(at_ms=at_ms, node=NodeName(f"n{draft.node}")),
        JobCancelRequested(**about),
        JobHeld(**about),
        JobReleased(**about),
        JobRequeueRequested(**about),
        TurnCame(**about),
        DependencyMet(dependency=PREP, **about),
        DependencyFailed(dependency=PREP, **about),
        HoldsSet(at_ms=at_ms, holds=()),
        SparesSet(at_ms=at_ms, nodes=(NodeName("n1"),)),
        NodeChanged(at_ms=at_ms, node=Node(name=NodeName(f"n{draft.node}"), gpus=3, bad_gpus=(0,) * draft.told)),
        JobSubmitted(spec=job.spec, **about),
        StragglerFound(
            attempt=attempt,
            straggler=Straggler(
                rank=draft.ranks[0],
                worker=draft.ranks[0],
                node=NodeName(f"n{draft.node}"),
                slowdown_milli=1300,
                since_ms=at_ms,
            ),
            **about,
        ),
        StragglerGone(attempt=attempt, rank=draft.ranks[0], **about),
        HangFound(
            attempt=attempt,
            hang=Hang(since_ms=at_ms, ranks=draft.ranks, nodes=(NodeName(f"n{draft.node}"),) * draft.told),
            **about,
        ),
        HangOver(attempt=attempt, **about),
    )
    assert len(events) == KINDS
    return events[draft.kind]


def helpful_event(job: Job, at_ms: int) -> Event | None:
    """The event that brings the job nearest to running, so that random play also gets that far."""
    match job.state:
        case JobState.QUEUED:
            return JobStarted(
                at_ms=at_ms,
                job=JOB,
                attempt=job.attempt + 1,
                generation=job.generation + 1,
                workers=tuple(
                    Worker(rank=rank, role="worker", node=NodeName(f"n{rank % NODES}"), gpus=(rank,))
                    for rank in range(job.spec.roles[0].workers_max)
                ),
                max_duration_ms=3_600_000,
                stop_grace_ms=30_000,
            )
        case JobState.STARTING:
            all_ranks = tuple(worker.rank for worker in job.workers)
            return WorkersStarted(at_ms=at_ms, job=JOB, attempt=job.attempt, generation=job.generation, ranks=all_ranks)
        case _:
            return None


def check_step(before: Job, after: Job, instructions: tuple[Instruction, ...]) -> None:
    """What holds for every step."""
    assert after.generation >= before.generation
    assert after.attempt >= before.attempt
    assert after.attained_gpu_ms >= before.attained_gpu_ms
    if before.state.is_final:
        assert (after, instructions) == (before, ())
    commands = [each for each in instructions if isinstance(each, Command)]
    for command in commands:
        assert (command.job, command.generation) == (after.id, after.generation)
        assert command.attempt == max(before.attempt, after.attempt)
    if commands:
        assert after.generation == before.generation + 1
    wakes = [each.at_ms for each in instructions if isinstance(each, WakeAt)]
    assert wakes == ([due_ms(after)] if due_ms(after) not in (None, due_ms(before)) else [])


def check_record(job: Job) -> None:
    """What holds for every job."""
    members = [worker.rank for worker in job.workers]
    all_ranks = [worker.rank for worker in occupied(job)]
    assert bool(all_ranks) == job.state.holds_resources
    assert len(set(all_ranks)) == len(all_ranks)
    assert set(job.finished_ranks) <= set(job.exited_ranks) <= set(members)
    assert set(job.ready_ranks) <= set(members)
    assert all(rank < job.next_rank for rank in all_ranks)
    assert (job.ended_ms is not None) == job.state.is_final
    pauses = job.state is JobState.BLOCKED and job.not_before_ms is not None
    assert (due_ms(job) is not None) == (job.state.holds_resources or pauses)
    assert all(command.generation == job.generation for command in desired_commands(job, 0))
    devices = [(worker.node, gpu) for worker in occupied(job) for gpu in worker.gpus]
    assert len(set(devices)) == len(devices)
    if job.state in (JobState.CHECKPOINTING, JobState.STOPPING):
        assert job.cause is not None
        assert job.deadline_ms is not None


@given(play=plays, spec=specs(), blocked=st.booleans())
def test_every_event_in_every_state_has_a_sound_outcome(play: list[Draft], spec: JobSpec, blocked: bool) -> None:
    submission = JobSubmitted(at_ms=0, job=JOB, spec=spec, unmet=(PREP,) if blocked else ())
    job, at_ms, held_gpu_ms = created(submission)[0], 0, 0
    for draft in play:
        held_gpu_ms += sum(len(worker.gpus) for worker in occupied(job)) * draft.step_ms
        at_ms += draft.step_ms
        after, instructions = transition(job, event_of(draft, job, at_ms))
        check_step(job, after, instructions)
        check_record(after)
        job = after
    if not job.state.holds_resources:
        assert job.attained_gpu_ms == held_gpu_ms


@given(play=plays, spec=specs())
def test_a_job_that_is_told_to_leave_is_gone_once_its_workers_are(play: list[Draft], spec: JobSpec) -> None:
    job = played(play, spec)
    job, _ = transition(job, JobCancelRequested(at_ms=0, job=JOB))
    while job.state.holds_resources:
        due = due_ms(job)
        assert due is not None
        job, instructions = transition(job, TimerFired(at_ms=due, job=JOB))
        assert instructions
        all_ranks = tuple(worker.rank for worker in occupied(job))
        job, _ = transition(job, exits(job, *all_ranks, code=137, told=True, at_ms=due))
    assert job.state.is_final


@given(failures=st.lists(st.booleans(), min_size=FAULTS_IN_A_ROW + 3, max_size=FAULTS_IN_A_ROW + 3), spec=specs())
def test_retries_come_to_an_end(failures: list[bool], spec: JobSpec) -> None:
    """Without saves, preemptions or success, a job is given up after as many attempts as retries and faults allow."""
    job = played((), spec)
    for is_fault in failures:
        if job.state.is_final:
            break
        job, _ = transition(job, TimerFired(at_ms=due_ms(job) or 0, job=JOB))
        started = helpful_event(job, 0)
        assert started is not None
        job, _ = transition(job, started)
        job, _ = transition(job, no_start(job) if is_fault else exits(job, code=1))
    assert job.state is JobState.FAILED


COUNTS_ONCE = (
    WorkersStarted,
    WorkersExited,
    StartFailed,
    ImagePulled,
    JobCancelRequested,
    NodeLost,
    NodeChanged,
    JobStarted,
)


@given(play=plays, spec=specs())
def test_a_report_that_comes_twice_counts_once(play: list[Draft], spec: JobSpec) -> None:
    job, at_ms = played((), spec), 0
    for draft in play:
        at_ms += draft.step_ms
        event = event_of(draft, job, at_ms)
        job, _ = transition(job, event)
        if isinstance(event, COUNTS_ONCE):
            assert transition(job, event) == (job, ())


def played(play: Iterable[Draft], spec: JobSpec) -> Job:
    """What becomes of a job to which all this happens."""
    job, at_ms = created(JobSubmitted(at_ms=0, job=JOB, spec=spec))[0], 0
    for draft in play:
        at_ms += draft.step_ms
        job, _ = transition(job, event_of(draft, job, at_ms))
    return job
