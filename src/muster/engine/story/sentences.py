"""A job's story in sentences: what happened to it, and how that changed it.

The story tells nothing about other teams: the job that preempted this one is not named. Events that came too late, or
that matter only inside Muster, are left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from muster.core.lifecycle.checkpoints import resume_from
from muster.engine.story.steps import StoryStep
from muster.engine.story.verdicts import judged, ranks_text
from muster.formats.text.ranges import node_ranges
from muster.formats.text.units import duration_text, plain_number, time_text
from muster.model.checkpoint import Checkpoint
from muster.model.events import (
    HEALTH,
    CheckpointDamaged,
    CheckpointEvent,
    CheckpointRemoved,
    CheckpointSaved,
    CheckpointUploaded,
    DependencyFailed,
    DependencyMet,
    Event,
    EvictionOrdered,
    GangAdopted,
    GangsFound,
    HangFound,
    HangOver,
    ImagePulled,
    JobStarted,
    JobStarved,
    JobSubmitted,
    JobUpdated,
    NodeChanged,
    NodeLost,
    NodeUnreachable,
    ResizeOrdered,
    ShardsSaved,
    StartFailed,
    StragglerFound,
    StragglerGone,
    TimerFired,
    TurnCame,
    WorkersExited,
)
from muster.model.instructions import KillWorkers
from muster.model.job import FINAL_STATES, STATES, Cause, Job, JobState, Placement
from muster.model.node import NodeState
from muster.model.plan import Why
from muster.model.records import Record, evolve
from muster.model.requests import JobRequest
from muster.model.spec import JobChanges, JobSpec

SAVED: Final = "saved itself"

FAILURES_TOLD: Final = 20
"""How many failed tasks of an array are listed; the others are only counted."""

_BECAUSE: Final = {
    Why.TIER: "a job of a higher tier needs its GPUs",
    Why.RECLAIM: "a team takes back what it is guaranteed",
    Why.PROMISE: "its time is over and its GPUs are promised to another job",
    Why.CONSOLIDATION: "it moves to where it is less in the way, or faster",
    Why.TURN: "it has had its turn",
    Why.DRAIN: "its node is being emptied",
    Why.RESERVATION: "its node is set aside for others from now on",
}


class Sentence(Record, frozen=True, kw_only=True):
    """One thing that happened to a job, in words."""

    at_ms: int
    event: str
    """The kind of event."""
    state: JobState | None
    """The state of the job afterwards; None in the story of an array, because each task has its own."""
    text: str
    times: int = 1
    """How often it happened in a row; `at_ms` is the last time."""


def told(turns: Iterable[StoryStep]) -> tuple[Sentence, ...]:
    """The story, oldest first. Several checkpoints in a row are one sentence."""
    sentences: list[Sentence] = []
    for turn in turns:
        text = _sentence(turn)
        if not text:
            continue
        kind, state = type(turn.event).__name__, turn.after.state
        sentence = Sentence(at_ms=turn.event.at_ms, event=kind, state=state, text=text)
        if text == SAVED and sentences and sentences[-1].text == SAVED:
            sentences[-1] = evolve(sentence, times=sentences[-1].times + 1)
        else:
            sentences.append(sentence)
    return tuple(sentences)


def told_of_array(events: Iterable[Event], tasks: Sequence[Job]) -> tuple[Sentence, ...]:
    """The story of an array: requests for all its tasks, the first start, failures, and the end of the last task."""
    said = [_sentence_to_all(event, tasks) for event in events]
    return tuple(sorted([*(each for each in said if each.text), *_milestones(tasks)], key=lambda each: each.at_ms))


def _sentence_to_all(event: Event, tasks: Sequence[Job]) -> Sentence:
    if isinstance(event, JobSubmitted):
        text = f"submitted{_by(event.by)}: {_count(len(tasks), 'task')}, each {_asked(event.spec)}"
    else:
        text = _requested(event)
    return Sentence(at_ms=event.at_ms, event=type(event).__name__, state=None, text=text)


def _milestones(tasks: Sequence[Job]) -> list[Sentence]:
    """What follows from the records of the tasks. The events of a task are in the story of that task."""
    found: list[Sentence] = []
    starts = sorted((task.first_started_ms, task.id) for task in tasks if task.first_started_ms is not None)
    if starts:
        found.append(_milestone(starts[0][0], JobStarted, f"{starts[0][1]} is the first task that starts"))
    ends = sorted((task.ended_ms, task.array_index or 0, task) for task in tasks if task.ended_ms is not None)
    failed = [task for _, _, task in ends if task.state in (JobState.FAILED, JobState.TIMED_OUT)]
    found += [
        _milestone(task.ended_ms or 0, WorkersExited, f"{task.id}: {_ended(task)}") for task in failed[:FAILURES_TOLD]
    ]
    if len(failed) > FAILURES_TOLD:
        rest = _count(len(failed) - FAILURES_TOLD, "more task")
        found.append(_milestone(failed[-1].ended_ms or 0, WorkersExited, f"{rest} failed until now"))
    if len(ends) == len(tasks):
        counts = Counter(task.state for task in tasks)
        summed = ", ".join(f"{counts[state]} {state.replace('_', ' ')}" for state in FINAL_STATES if counts[state])
        found.append(_milestone(ends[-1][0], WorkersExited, f"all tasks have ended: {summed}"))
    return found


def _milestone(at_ms: int, kind: type[Event], text: str) -> Sentence:
    return Sentence(at_ms=at_ms, event=kind.__name__, state=None, text=text)


def _sentence(turn: StoryStep) -> str:
    """What happened and what followed from it; empty when it is not worth telling."""
    before, after, event = turn.before, turn.after, turn.event
    if before is None:
        return f"{_born(after)}: {_waiting(after)}"
    if after == before:
        return ""
    outcome = _outcome(before, after, event.at_ms)
    happened = _kills(turn) or _requested(event) or _decided(event, before, after) or _reported(event, before, after)
    return f"{happened}: {outcome}" if happened and outcome else happened or outcome


def _born(job: Job) -> str:
    task = f" as a task of {job.array_parent}" if job.array_parent is not None else ""
    return f"submitted{_by(job.user)}{task}, {_asked(job.spec)}"


def _asked(spec: JobSpec) -> str:
    workers = _count(sum(role.workers_min for role in spec.roles), "worker")
    return f"tier {spec.tier}, {workers} with {_gpus(spec.gang_gpu_milli)}"


def _requested(event: Event) -> str:
    """What a user asked for."""
    match event:
        case JobUpdated(changes=changes, by=by):
            return f"changed{_by(by)}: {_changes(changes)}"
        case JobRequest(words=words, by=by):
            return f"{words.done}{_by(by)}"
        case _:
            return ""


def _decided(event: Event, before: Job, after: Job) -> str:
    """What the engine or a plan decided."""
    match event:
        case DependencyMet(dependency=dependency):
            return f"{dependency} ended as it had to"
        case DependencyFailed(dependency=dependency):
            return f"{dependency} did not end as it had to, so this job can never run"
        case TurnCame():
            return "its turn in the array came"
        case JobStarved():
            return "it has waited too long after it gave way, and may now ask others to give way"
        case JobStarted(workers=workers):
            again = f", attempt {after.attempt}{_resumed(before)}" if after.attempt > 1 else ""
            return f"starts on {_seats(workers)}{again}"
        case GangAdopted(workers=workers, by=by):
            return f"goes on with what was found running on {_seats(workers)}, let in{_by(by)}"
        case EvictionOrdered(why=why):
            words = f": {event.because}" if event.because else ""
            return f"told to leave{_by(event.by)}, because {_BECAUSE[why]}{words}"
        case ResizeOrdered():
            size = len(after.next_gang or after.workers)
            return f"goes on with {_count(size, 'worker')} instead of {len(before.workers)}"
        case _:
            return ""


def _reported(event: Event, before: Job, after: Job) -> str:
    """What nodes reported, and what was removed."""
    match event:
        case WorkersExited():
            return _exit(event, after) if after.state is not before.state else ""
        case ImagePulled(image=image, node=node, took_ms=took_ms):
            return f"pulled {image} on {node} in {max(round(took_ms / 1000), 1)} s"
        case StartFailed(message=message):
            return f"could not be started{f' ({message})' if message else ''}"
        case CheckpointSaved() | ShardsSaved() | CheckpointUploaded() | CheckpointDamaged() | CheckpointRemoved():
            return _checkpointed(event, before, after)
        case StragglerFound() | StragglerGone() | HangFound() | HangOver():
            return judged(event)
        case NodeLost(node=node, because=because):
            return f"node {node} was lost{f' ({because})' if because else ''}{_goes_on(before, after)}"
        case NodeUnreachable(node=node, because=because):
            return f"node {node} cannot be reached{f' ({because})' if because else ''}{_goes_on(before, after)}"
        case NodeChanged():
            return _node_changed(event, before, after)
        case GangsFound(node=name):
            return f"node {name} runs workers of it that were not known"
        case _:
            return ""


def _goes_on(before: Job, after: Job) -> str:
    """With whom a gang goes on that has lost workers and does not start again; empty when that is not so."""
    if after.state is not JobState.RUNNING or len(after.workers) >= len(before.workers):
        return ""
    gone = [worker.rank for worker in before.workers if worker not in after.workers]
    first = after.workers[0].rank
    lead = f", and rank {first} is its first worker now" if first > min(gone) else ""
    return f", and it goes on without {ranks_text(gone)}{lead}"


def _node_changed(event: NodeChanged, before: Job, after: Job) -> str:
    node = event.node
    if node.state is NodeState.DOWN:
        return f"node {node.name} is down{_goes_on(before, after)}"
    what = f"node {node.name}" if event.condemns else f"a GPU of node {node.name}"
    leaves = f"{f' ({event.because})' if event.because else ''}, so it saves and moves" if event.by == HEALTH else ""
    leaves = leaves if after.state is not JobState.RUNNING else _goes_on(before, after)
    return f"{what} is bad{leaves}"


def _checkpointed(event: CheckpointEvent, before: Job, after: Job) -> str:
    """What became of a checkpoint."""
    match event:
        case CheckpointSaved():
            return SAVED
        case CheckpointRemoved(step=step, by=by):
            return f"its checkpoint of step {step} was removed{_by(by)}"
        case ShardsSaved(step=step):
            return f"{SAVED} at step {step}" if _is_complete(after, step) and not _is_complete(before, step) else ""
        case CheckpointUploaded(step=step, problem=""):
            return f"its checkpoint of step {step} is in durable storage"
        case CheckpointUploaded(step=step, problem=problem):
            return f"its checkpoint of step {step} cannot be copied to durable storage yet ({problem})"
        case CheckpointDamaged(step=step, rank=rank, problem=problem):
            return f"rank {rank} cannot restore step {step} ({problem}); {_instead(after)}"


def _is_complete(job: Job, step: int) -> bool:
    return any(each.step == step and each.is_complete for each in job.checkpoints)


def _instead(job: Job) -> str:
    """What a job resumes from when a checkpoint is damaged."""
    left = [each.step for each in job.checkpoints if each.is_good]
    return f"it goes back to step {left[-1]}" if left else "no other checkpoint is left, so it begins from the start"


def _exit(event: WorkersExited, after: Job) -> str:
    who = _count(len(event.ranks), "worker")
    if after.state is JobState.SUCCEEDED:
        return "all workers ended well"
    if event.ended_for is not None:
        return event.because or f"{who} ended with their allocation"
    if event.oom:
        return f"{who} ran out of memory"
    if event.timed_out:
        return "its maximum duration was over"
    if event.problem:
        return f"{who} could not be started: {event.problem}"
    return "its workers have left" if event.told else f"{who} exited with code {event.exit_code}"


def _kills(turn: StoryStep) -> str:
    """What a timer did: workers that did not leave in time are killed."""
    is_kill = isinstance(turn.event, TimerFired) and any(isinstance(each, KillWorkers) for each in turn.instructions)
    return "workers that had not left in time were killed" if is_kill else ""


def _outcome(before: Job, after: Job, at_ms: int) -> str:
    """The new state of the job in words; empty when it has not changed, or starts."""
    state = after.state
    if state is before.state or state is JobState.STARTING:
        return ""
    if state is JobState.RUNNING:
        return f"all {_count(len(after.workers), 'worker')} run" if len(after.workers) > 1 else "it runs"
    if state.is_final:
        return _ended(after)
    if state is JobState.STOPPING:
        if after.cause is Cause.TIMEOUT:
            return "its maximum duration is over, and it is told to end"
        return "the others are told to end" if after.exited_ranks else "its workers are told to end"
    if state.holds_resources:
        return _leaving(after)
    if not before.state.holds_resources:
        return _waiting(after)
    if after.next_gang:
        return "it starts again at once"
    retry = f", retry {after.retries_used} of {after.spec.retry.limit}" * (after.retries_used > before.retries_used)
    why = " after it gave way" * (after.cause is Cause.PREEMPTED)
    lost = _lost_work(before, after, at_ms)
    return _waiting(after) if state is not JobState.QUEUED else f"it waits in the queue again{why}{retry}{lost}"


def _leaving(job: Job) -> str:
    """What a job does that was told to leave its GPUs."""
    if job.state is JobState.CHECKPOINTING and not job.spec.can_resume:
        return f"it {'leaves, and begins' if job.next_gang else 'leaves, to begin'} anew: it has no checkpoint"
    return "it saves itself and starts again" if job.next_gang else STATES[job.state].story


def _resumed(job: Job) -> str:
    """What a further attempt resumes from, where that is known by its step."""
    newest = resume_from(job)
    return "" if newest is None else f", from step {newest.step}"


def _has_left(job: Job, newest: Checkpoint) -> bool:
    """True when a job that was told to leave has saved itself after that."""
    told_ms = 0 if job.deadline_ms is None else job.deadline_ms - job.grace_ms
    return job.state is JobState.CHECKPOINTING and newest.saved_ms >= told_ms


def _lost_work(before: Job, after: Job, at_ms: int) -> str:
    """How much work has to be done again after an attempt, for a job that saves by steps."""
    newest = resume_from(after)
    if newest is None or before.started_ms is None or _has_left(before, newest):
        return ""
    lost_s = (at_ms - max(newest.saved_ms, before.started_ms)) // 1000
    return f"; the last {duration_text(lost_s * 1000)} of its work have to be done again" if lost_s > 0 else ""


def _ended(job: Job) -> str:
    code = f" with exit code {job.exit_code}" if job.exit_code and job.state is JobState.FAILED else ""
    if job.state is JobState.FAILED and job.cause is not None and job.cause.is_infrastructure:
        return "it has failed: the nodes failed it too often in a row"
    return f"{STATES[job.state].story}{code}"


def _waiting(job: Job) -> str:
    """What a job without GPUs waits for."""
    if story := STATES[job.state].story:
        return story
    if job.unmet:
        return f"it waits for {', '.join(job.unmet)}"
    if job.awaits_turn:
        return "it waits for its turn in the array"
    if job.not_before_ms == job.spec.begin.begins_ms(job.submitted_ms):
        return f"it does not start before {time_text(job.not_before_ms)}"
    is_paused = job.not_before_ms is not None
    return "it is tried again after a pause" if is_paused else "it waits until it is known what runs of it"


def _changes(changes: JobChanges) -> str:
    limit_ms = changes.max_duration_ms
    said = (
        ("priority", changes.priority),
        ("tier", changes.tier),
        ("maximum duration", None if limit_ms is None else duration_text(limit_ms)),
        ("tags", None if changes.tags is None else " ".join(f"{key}={value}" for key, value in changes.tags)),
    )
    return ", ".join(f"{name} {value}" for name, value in said if value is not None)


def _seats(workers: Placement) -> str:
    return f"{node_ranges(worker.node for worker in workers)} with {_gpus(sum(each.gpu_milli for each in workers))}"


def _gpus(milli: int) -> str:
    return "no GPU" if not milli else "1 GPU" if milli == 1000 else f"{plain_number(milli)} GPUs"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _by(who: str) -> str:
    return f" by {who}" if who else ""
