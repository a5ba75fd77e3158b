"""What the records say of checkpoints, against what was really saved: nothing is invented, and nothing forgotten.

The log says which checkpoints were found damaged or removed. The files of the tested backend say which parts exist.
"""

from collections.abc import Iterable, Iterator

from muster.core.lifecycle.checkpoints import OTHERS_LISTED
from muster.engine.folding.state import State
from muster.model.checkpoint import Checkpoint
from muster.model.events import CheckpointDamaged, CheckpointRemoved, Event
from muster.model.ids import JobId
from muster.model.instructions import StartWorkers
from muster.model.job import Cause, Job, JobState
from muster.sim.campaign.backends import TestedBackend

ACTIVE = (JobState.STARTING, JobState.RUNNING)


class CheckpointInvariants:
    """Follows the checkpoints of all jobs of one schedule."""

    def __init__(self, tested: TestedBackend) -> None:
        self._tested = tested
        self._records: dict[JobId, Job] = {}
        """The last record of every job that saves by steps."""
        self._bad: dict[tuple[JobId, int], int] = {}
        """Steps that were found damaged or were removed, each with the newest attempt that can have saved it."""
        self._hopeless: dict[JobId, int] = {}
        """Jobs that were heard to be unable to restore a checkpoint, and the attempt."""

    def begin_anew(self, state: State, events: Iterable[Event]) -> None:
        """The log was replaced by an older one with these events."""
        self._records = {job.id: job for job in state.jobs.values() if job.checkpoints}
        self._bad, self._hopeless = {}, {}
        for event in events:
            self._note(event)

    def problems(self, state: State, events: Iterable[Event], *, is_exact: bool) -> Iterator[str]:
        """What is wrong after these events. If `is_exact`, the times in the log are those of the backend."""
        for event in events:
            self._note(event)
        yield from self._tested.misled
        for job in state.jobs.values():
            before = self._records.get(job.id)
            if before is job or not (job.checkpoints or before or self._tested.files.has_any(job.id)):
                continue
            self._records[job.id] = job
            found = (self._untrue(job, is_exact=is_exact), self._misused(job), _kept(job), self._dropped(before, job))
            yield from (f"{job.id}: {problem}" for problems in found for problem in problems)
            yield from self._retries(before, job)

    def damage_problems(self, report: CheckpointDamaged, before: Job, job: Job) -> Iterator[str]:
        """A gang that says it cannot restore what it was told is ended. Called after the report was recorded."""
        if report.attempt != before.attempt or not before.state.holds_resources:
            return
        self._hopeless[job.id] = report.attempt
        if before.state in ACTIVE and job.attempt == before.attempt and job.state in ACTIVE:
            yield f"{job.id}: cannot restore step {report.step}, and its attempt goes on"

    def start_problems(self, command: StartWorkers, job: Job) -> Iterator[str]:
        """Why a job must not be started from the step that its workers are told."""
        step, good = command.resume_step, [each for each in job.checkpoints if _is_good(each)]
        newest = max(good, key=lambda each: each.step, default=None)
        if newest is None or step != newest.step:
            if newest is not None or step is not None:
                yield f"{job.id}: is to resume from step {step}, and its newest complete checkpoint is {newest}"
            return
        files = self._tested.files.find(job.id, newest.step, newest.attempt)
        if files is None or not files.is_whole:
            yield f"{job.id}: is to resume from step {step}, which was not saved by all ranks"
        elif command.is_resume_durable and not files.was_uploaded:
            yield f"{job.id}: step {step} is to be restored from durable storage, and never came there"

    def _note(self, event: Event) -> None:
        if isinstance(event, CheckpointRemoved):
            known = self._records[event.job].checkpoints if event.job in self._records else ()
            saved_in = (each.attempt for each in known if each.step == event.step)
            self._bad[event.job, event.step] = max(saved_in, default=-1)
        elif isinstance(event, CheckpointDamaged):
            self._bad[event.job, event.step] = event.attempt - 1

    def _untrue(self, job: Job, *, is_exact: bool) -> Iterator[str]:
        """What the record says of checkpoints although the files say otherwise."""
        for each in job.checkpoints:
            files = self._tested.files.find(job.id, each.step, each.attempt)
            name = f"step {each.step} of attempt {each.attempt}"
            if files is None or files.world != each.world:
                yield f"{name} with {each.world} ranks is listed, and no such gang has saved it"
                continue
            if each.is_complete and not files.is_whole:
                yield f"{name} counts as complete, and {len(files.parts)} of {files.world} parts were written"
            if any(rank not in files.parts for rank in each.ranks):
                yield f"{name} counts parts of ranks {each.ranks}, and {sorted(files.parts)} were written"
            if each.is_durable and not files.was_uploaded:
                yield f"{name} counts as durable, and never came to durable storage"
            if is_exact and each.is_complete and files.written_ms is not None and each.saved_ms > files.written_ms:
                yield f"{name} counts as saved at {each.saved_ms}, and was at {files.written_ms}"

    def _misused(self, job: Job) -> Iterator[str]:
        """Checkpoints that count as good although the log says that they are damaged or removed."""
        for each in job.checkpoints:
            if _is_good(each) and each.attempt <= self._bad.get((job.id, each.step), -1):
                yield f"step {each.step} of attempt {each.attempt} counts as good, and was damaged or removed"

    def _dropped(self, before: Job | None, job: Job) -> Iterator[str]:
        """Good checkpoints that vanished although neither damage, nor a user, nor newer ones are the reason."""
        keep = 1 if job.spec.checkpoint is None else job.spec.checkpoint.keep
        good = [each for each in job.checkpoints if _is_good(each)]
        for each in () if before is None else before.checkpoints:
            is_there = any(other.step == each.step and other.attempt >= each.attempt for other in good)
            is_bad = each.attempt <= self._bad.get((job.id, each.step), -1)
            newer = sum(other.step > each.step for other in good)
            if _is_good(each) and not is_there and not is_bad and newer < keep:
                yield f"step {each.step} was good and is forgotten, with {newer} newer ones of {keep} that are kept"

    def _retries(self, before: Job | None, job: Job) -> Iterator[str]:
        """A checkpoint that cannot be restored is no failure of the job's own."""
        was_alive = before is not None and before.state.holds_resources
        is_hopeless = self._hopeless.get(job.id) == job.attempt
        if is_hopeless and was_alive and not job.state.holds_resources and job.cause is Cause.ERROR:
            yield f"{job.id}: attempt {job.attempt} could not restore its checkpoint, and counts as failed by itself"


def _kept(job: Job) -> Iterator[str]:
    """How many checkpoints are listed, in which order, and the work that counts as safe."""
    keep = 1 if job.spec.checkpoint is None else job.spec.checkpoint.keep
    good = [each for each in job.checkpoints if _is_good(each)]
    steps = [each.step for each in job.checkpoints]
    if len(good) > keep or len(steps) - len(good) > OTHERS_LISTED:
        yield f"keeps {keep} checkpoints, and {len(good)} good and {len(steps) - len(good)} others are listed"
    if steps != sorted(set(steps)):
        yield f"its checkpoints are listed as {steps}"
    safe_ms = max((each.saved_ms for each in good), default=None)
    if job.checkpointed_ms != safe_ms:
        yield f"its work counts as safe until {job.checkpointed_ms}, and its checkpoints hold that until {safe_ms}"


def _is_good(checkpoint: Checkpoint) -> bool:
    return checkpoint.is_complete and not checkpoint.problem and not checkpoint.is_removed
