"""Arrays: one job file that stands for many tasks, with one id, one progress and a cap on how many are under way.

A task has the id `job-7.3`: the id of the array and its index. A task whose turn has not come is blocked. A task that
got its turn keeps it until it has ended for good, so preempted and retried tasks never wait behind new tasks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muster.model.array import ArrayRecord, task_id
from muster.model.ids import JobId
from muster.model.job import STATES, Job, JobState
from muster.model.records import evolve
from muster.model.spec import ArraySpec, Dependency, JobSpec

INDEX_VARIABLE = "MUSTER_ARRAY_INDEX"
ARRAY_VARIABLE = "MUSTER_ARRAY_JOB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of an array before it has a history."""

    id: JobId
    index: int
    spec: JobSpec
    """The spec of the array, without `array`, and with the index in its environment."""
    awaits_turn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayProgress:
    """Where an array stands, as one line for its user."""

    total: int
    counts: tuple[tuple[JobState, int], ...]
    """Tasks in each state that has any, in the order of the states."""
    percent: int
    """Share of the tasks that have ended, rounded down. 100 means all."""
    state: JobState
    """The state of the array as a whole. Jobs that depend on the array go by it."""


def tasks_of(array: ArrayRecord) -> tuple[JobId, ...]:
    """The ids of all tasks, by index."""
    spec = array.spec.array
    return () if spec is None else tuple(task_id(array.id, index) for index in spec.indices)


def expand(array: JobId, spec: JobSpec) -> tuple[Task, ...]:
    """All tasks of an array in the order of their indices. Tasks beyond the cap wait for their turn."""
    if spec.array is None:
        return ()
    single = evolve(spec, array=None)
    cap = _cap(spec.array)
    return tuple(
        Task(
            id=task_id(array, index),
            index=index,
            spec=evolve(
                single,
                env=(*spec.env, (ARRAY_VARIABLE, array), (INDEX_VARIABLE, str(index))),
                depends_on=_dependencies_of(single, index),
            ),
            awaits_turn=place >= cap,
        )
        for place, index in enumerate(spec.array.indices)
    )


def _dependencies_of(spec: JobSpec, index: int) -> tuple[Dependency, ...]:
    """What one task waits for."""
    if not any(each.same_task for each in spec.depends_on):
        return spec.depends_on
    return tuple(
        Dependency(job=task_id(each.job, index), when=each.when) if each.same_task else each for each in spec.depends_on
    )


def waits_of(submitted: JobId, spec: JobSpec) -> Iterator[tuple[JobId, tuple[Dependency, ...]]]:
    """Who waits for what: the job or array as a whole, and each task of it that waits for a task of another array."""
    together = tuple(each for each in spec.depends_on if not each.same_task)
    if together:
        yield submitted, together
    apart = evolve(spec, depends_on=tuple(each for each in spec.depends_on if each.same_task))
    if apart.depends_on and spec.array is not None:
        for index in spec.array.indices:
            yield task_id(submitted, index), _dependencies_of(apart, index)


def failed_only(spec: JobSpec, tasks: Iterable[Job]) -> JobSpec | None:
    """The same array with only the tasks that failed or timed out; None when there are none.

    A final state stays final, so a retry is a new array with its own id and the same indices.
    """
    failed = tuple(
        task.array_index
        for task in tasks
        if task.array_index is not None and task.state in (JobState.FAILED, JobState.TIMED_OUT)
    )
    if spec.array is None or not failed:
        return None
    return evolve(spec, array=evolve(spec.array, indices=failed))


class ArrayTally:
    """Counts the tasks of one array by state and knows which is next, without looking at all tasks again."""

    def __init__(self, array: JobId, spec: ArraySpec) -> None:
        self.id = array
        self.tasks = tuple(task_id(array, index) for index in spec.indices)
        self._cap = _cap(spec)
        self._counts = dict.fromkeys(JobState, 0)
        self._awaiting: dict[JobId, None] = {}
        self._running_milli = 0
        self._running_milli_ms = 0
        self.retries = 0
        self.preemptions = 0
        self.node_failures = 0
        self.attained_gpu_ms = 0
        self.held = 0
        """Tasks that are held and have not ended."""
        self.first_started_ms: int | None = None
        self.last_ended_ms: int | None = None

    def move(self, before: Job | None, after: Job) -> None:
        """Count a task in its new state instead of its old one."""
        self._counts[after.state] += 1
        if before is not None:
            self._counts[before.state] -= 1
            self._add(before, -1)
        self._add(after, 1)
        began_ms, first_ms = after.first_started_ms, self.first_started_ms
        if began_ms is not None:
            self.first_started_ms = began_ms if first_ms is None else min(began_ms, first_ms)
        if after.ended_ms is not None:
            self.last_ended_ms = max(after.ended_ms, self.last_ended_ms or 0)
        if after.awaits_turn and not after.state.is_final:
            self._awaiting[after.id] = None
        else:
            self._awaiting.pop(after.id, None)

    def _add(self, task: Job, sign: int) -> None:
        self.retries += sign * task.retries_used
        self.preemptions += sign * task.preemptions
        self.node_failures += sign * task.node_failures
        self.attained_gpu_ms += sign * task.attained_gpu_ms
        self.held += sign * (task.held and not task.state.is_final)
        if task.state.holds_resources:
            milli = sum(worker.gpu_milli for worker in (*task.workers, *task.leaving))
            self._running_milli += sign * milli
            self._running_milli_ms += sign * milli * (task.billed_ms or 0)

    def record(self, spec: JobSpec, first: Job) -> ArrayRecord:
        """What is known of all tasks together. `first` is any task; it has what all tasks have in common."""
        progress = self.progress()
        going = sum(count for state, count in progress.counts if not state.is_final)
        return ArrayRecord(
            id=self.id,
            spec=spec,
            state=progress.state,
            submitted_ms=first.submitted_ms,
            number=first.number,
            user=first.user,
            counts=progress.counts,
            retries_used=self.retries,
            preemptions=self.preemptions,
            node_failures=self.node_failures,
            attained_gpu_ms=self.attained_gpu_ms,
            running_milli=self._running_milli,
            running_milli_ms=self._running_milli_ms,
            held=0 < going <= self.held,
            first_started_ms=self.first_started_ms,
            ended_ms=self.last_ended_ms if progress.state.is_final else None,
        )

    def turns(self) -> tuple[JobId, ...]:
        """The tasks that get their turn now: as many as the cap leaves room for, lowest index first."""
        ended = sum(count for state, count in self._counts.items() if state.is_final)
        under_way = len(self.tasks) - ended - len(self._awaiting)
        room = max(self._cap - under_way, 0)
        return tuple(task for _, task in zip(range(room), self._awaiting, strict=False))

    def progress(self) -> ArrayProgress:
        """Counts, percent and the state of the whole array."""
        total = len(self.tasks)
        ended = sum(count for state, count in self._counts.items() if state.is_final)
        return ArrayProgress(
            total=total,
            counts=tuple((state, count) for state, count in self._counts.items() if count),
            percent=100 * ended // total,
            state=next(state for state in STATES if self._counts[state]),
        )


def _cap(spec: ArraySpec) -> int:
    """How many tasks may be under way at once."""
    return len(spec.indices) if spec.concurrency is None else spec.concurrency
