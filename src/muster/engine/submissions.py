"""How jobs come in: what a request must satisfy, the id the job gets, and which dependencies it still waits for."""

from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager

from muster.core.admission import Admitted, Rejected
from muster.core.lifecycle.arrays import waits_of
from muster.core.lifecycle.dependencies import Fate, fate, find_cycle, in_order
from muster.engine.decisions import Decisions
from muster.engine.folding.state import State
from muster.engine.past import Past
from muster.model.array import ArrayRecord
from muster.model.errors import Conflict, InvalidInput, KeyReused
from muster.model.events import DependencyFailed, Event, JobSubmitted
from muster.model.ids import JobId
from muster.model.job import JobState
from muster.model.limits import ARRAY_TASKS
from muster.model.plan import ReasonCode
from muster.model.records import Record, evolve
from muster.model.spec import Dependency, JobSpec

NUMBERS_LOOKED_UP = 200
"""Numbers of coming jobs that are looked up in the archive at once. A query for each took a third of a submission."""


class Submitted(Record, frozen=True, kw_only=True):
    """The job is in the log, and the next cycle considers it."""

    job: JobId
    is_new: bool = True
    """False when the same request was made before."""


class Submissions:
    """Checks new jobs and records them."""

    def __init__(
        self,
        state: State,
        decisions: Decisions,
        past: Past,
        *,
        record: Callable[[Event], bool],
        batch: AbstractContextManager[None],
        numbers_from: int,
    ) -> None:
        self._state = state
        self._decisions = decisions
        self._past = past
        self._record = record
        self._batch = batch
        self._numbers_from = numbers_from
        self._looked_up_from, self._looked_up_to = 0, 0
        self._archived: frozenset[JobId] = frozenset()
        """Which of these numbers ended jobs have, as far as it was looked up."""

    def submit(
        self,
        spec: JobSpec,
        now_ms: int,
        *,
        job: JobId | None,
        held: bool,
        by: str,
        key: str,
        fingerprint: str,
    ) -> Submitted | Rejected:
        """Accept a job, or say why not."""
        if (known := self.before(by, key, fingerprint)) is not None:
            return known
        if job is not None:
            self._check_new(job)
            self.look_up_again()
        name = self._new_id() if job is None else job
        answer = self._admit(spec)
        if not isinstance(answer, Admitted):
            return answer
        return self._enter(
            JobSubmitted(at_ms=now_ms, job=name, spec=answer.spec, held=held, by=by, key=key, fingerprint=fingerprint)
        )

    def before(self, by: str, key: str, fingerprint: str) -> Submitted | None:
        """The job of the same request, if it was made before. Raises `KeyReused` when the key was for another."""
        known = self._keyed(by, key) if key else None
        if known is None:
            return None
        if known[1] != fingerprint:
            raise KeyReused(f"the key {key} was used for {known[0]}, which is another request; use a new key")
        return Submitted(job=known[0], is_new=False)

    def submit_all(self, specs: Mapping[JobId, JobSpec], now_ms: int, *, by: str) -> tuple[Submitted, ...] | Rejected:
        """Accept a whole pipeline, or nothing of it."""
        depends_on = {job: tuple(each.job for each in spec.depends_on) for job, spec in specs.items()}
        if ring := find_cycle(depends_on):
            message = f"these jobs wait for each other: {' -> '.join(ring)}; leave one of the dependencies out"
            return Rejected(code=ReasonCode.DEPENDENCY, message=message)
        self.look_up_again()
        admitted: dict[JobId, JobSpec] = {}
        for job, spec in specs.items():
            self._check_new(job)
            answer = self._admit(spec, together_with=specs)
            if isinstance(answer, Rejected):
                return evolve(answer, message=f"{job}: {answer.message}")
            admitted[job] = answer.spec
        with self._batch:
            return tuple(
                self._enter(JobSubmitted(at_ms=now_ms, job=job, spec=admitted[job], by=by))
                for job in in_order(depends_on)
            )

    def _keyed(self, by: str, key: str) -> tuple[JobId, str] | None:
        """The job that was submitted under a key, and the fingerprint of that request."""
        if (alive := self._state.keys.get((by, key))) is not None:
            return alive
        ended = self._past.keyed(by, key)
        return None if ended is None else (ended.job, ended.fingerprint)

    def _new_id(self) -> JobId:
        """The id with the next free number. Callers that bring their own ids may have taken some."""
        number = max(self._state.submissions, self._numbers_from) + 1
        while self._state.is_taken(JobId(f"job-{number}")) or self._is_archived(number):
            number += 1
        return JobId(f"job-{number}")

    def _is_archived(self, number: int) -> bool:
        """True when a job that has ended has this number. One look into the archive serves many submissions."""
        if not self._looked_up_from <= number < self._looked_up_to:
            self._looked_up_from, self._looked_up_to = number, number + NUMBERS_LOOKED_UP
            coming = tuple([JobId(f"job-{each}") for each in range(number, number + NUMBERS_LOOKED_UP)])
            # A job that is known now may have ended and left the state when its number comes.
            present = frozenset(job for job in coming if self._state.is_taken(job))
            self._archived = self._past.known(coming) | present
        return JobId(f"job-{number}") in self._archived

    def look_up_again(self) -> None:
        """A job comes with a number that was not given here: its caller chose it, or a gang was adopted."""
        self._looked_up_to = 0

    def _state_of(self, job: JobId) -> JobState | None:
        state = self._state.state_of(job)
        if state is not None:
            return state
        ended = self._past.find(job)
        return None if ended is None else ended.state

    def _admit(self, spec: JobSpec, *, together_with: Container[JobId] = ()) -> Admitted | Rejected:
        """What admission says about the job file; rejected if it depends on jobs that do not exist."""
        if spec.array is not None and not 0 < len(spec.array.indices) <= ARRAY_TASKS:
            raise InvalidInput(f"an array has between 1 and {ARRAY_TASKS} tasks, not {len(spec.array.indices)}")
        for dependency in spec.depends_on:
            if self._state_of(dependency.job) is None and dependency.job not in together_with:
                message = f"depends on {dependency.job}, which does not exist; submit that job first"
                return Rejected(code=ReasonCode.DEPENDENCY, message=message)
        spec = self._with_tasks(spec)
        return self._decisions.admit(spec, self._state.snapshot)

    def _with_tasks(self, spec: JobSpec) -> JobSpec:
        """The job. Tasks wait for tasks only where both are arrays. Raises `InvalidInput` where a task is missing."""
        return evolve(spec, depends_on=tuple(self._with_task(spec, each) for each in spec.depends_on))

    def _with_task(self, spec: JobSpec, dependency: Dependency) -> Dependency:
        if not dependency.same_task:
            return dependency
        other = self._state.array_specs.get(dependency.job)
        if other is None:
            record = self._past.find(dependency.job)
            other = record.spec if isinstance(record, ArrayRecord) else None
        if spec.array is None or other is None or other.array is None:
            return evolve(dependency, same_task=False)
        missing = sorted(frozenset(spec.array.indices) - frozenset(other.array.indices))
        if missing:
            raise InvalidInput(
                f"each task waits for that of {dependency.job} with its index, which has no {missing[0]}"
            )
        return dependency

    def _enter(self, submission: JobSubmitted) -> Submitted:
        """Record the job with the dependencies it still waits for. If one of them can never be met, record that too."""
        fates: dict[tuple[JobId, JobId], Fate] = {}
        for job, depends_on in waits_of(submission.job, submission.spec):
            for dependency in depends_on:
                state = self._state_of(dependency.job)
                if state is not None and (so_far := fate(state, dependency.when)) is not Fate.MET:
                    fates[job, dependency.job] = so_far
        unmet = tuple(dict.fromkeys(dependency for _, dependency in fates))
        with self._batch:
            self._record(evolve(submission, unmet=unmet) if unmet else submission)
            for job, doomed in [each for each, so_far in fates.items() if so_far is Fate.DOOMED]:
                self._record(DependencyFailed(at_ms=submission.at_ms, job=job, dependency=doomed))
        return Submitted(job=submission.job)

    def _check_new(self, job: JobId) -> None:
        if self._state_of(job) is not None:
            raise Conflict(f"there is a job {job} already; leave the id out to be given one")
