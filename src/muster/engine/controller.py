"""Event -> transition -> log -> instructions.

An event is folded at once, together with its consequences, and waits to be written. `commit` writes all waiting events
in one go and returns the commands that follow from them: nothing is sent before it is durable. When writing fails, the
state is ahead of the log and nothing more can be recorded. Then a new controller has to start from the log.
"""

from muster.core.lifecycle import due_ms
from muster.engine.consequences import consequences
from muster.engine.folding.folding import fold
from muster.engine.folding.state import Follow, Move, Outcome, State
from muster.engine.story.steps import story
from muster.engine.timers import Timers
from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import InvariantViolated
from muster.model.events import CheckpointSaved, Event, ShardsSaved
from muster.model.ids import JobId
from muster.model.instructions import Command, WakeAt
from muster.model.job import Job
from muster.model.limits import CONSEQUENCES_PER_EVENT
from muster.model.records import evolve
from muster.store.base import EventLog


class Controller:
    """Records events and their consequences."""

    def __init__(self, state: State, log: EventLog, follow: Follow | None = None) -> None:
        self.state = state
        self._follow = follow
        self.timers = Timers()
        self._log = log
        self._unwritten: list[Event] = []
        self._touched: dict[JobId, Job] = {}
        """The present records of the jobs that unwritten events changed."""
        self._ended: list[JobId] = []
        self._unaudited: list[AuditEntry] = []
        self._unsent: list[Command] = []
        self._stopped = ""
        """Why nothing more can be recorded."""
        for job in state.jobs.values():
            self._set_timer(job.id)

    def record(self, event: Event) -> bool:
        """Fold an event and its consequences. False when it was stale or said nothing new."""
        if self._stopped:
            raise InvariantViolated(f"the writer has stopped: {self._stopped}")
        to_fold = [self._in_order(event)]
        changes = 0
        # The list grows while the loop runs: consequences of an event are appended to it.
        for next_event in to_fold:
            outcome = self._fold(next_event)
            if outcome.is_change:
                self._unwritten.append(next_event)
                if self._follow is not None:
                    self._follow(self.state, next_event, outcome)
                self._take_instructions(outcome)
                to_fold += consequences(self.state, next_event, outcome)
                changes += 1
            if changes > CONSEQUENCES_PER_EVENT:
                raise InvariantViolated(f"{type(event).__name__} has consequences without end")
        return changes > 0

    def audit(self, entry: AuditEntry) -> None:
        """Write at the next commit who did this, together with what was recorded."""
        self._unaudited.append(entry)

    def commit(self) -> tuple[Command, ...]:
        """Write all that was recorded, or nothing, and return the commands to send now. Once stopped, do nothing."""
        if self._stopped:
            return ()
        if self._unwritten or self._unaudited:
            self._stopped = "its last write failed, so the state is ahead of the log; start again from the log"
            self._log.append(
                self._unwritten,
                self.state.version - len(self._unwritten),
                jobs=self._records(),
                audit=tuple(self._unaudited),
            )
            self._stopped = ""
            self._unwritten, self._unaudited = [], []
            self._touched.clear()
        if not self._unsent:
            return ()
        commands, self._unsent = tuple(self._unsent), []
        return commands

    def _records(self) -> tuple[JobRecord, ...]:
        """The jobs and tasks that unwritten events changed, followed by the arrays of those tasks."""
        parents = dict.fromkeys(job.array_parent for job in self._touched.values() if job.array_parent is not None)
        return (*self._touched.values(), *map(self.state.array_record, parents))

    def take_ended(self) -> tuple[JobId, ...]:
        """The jobs that have ended since the last call. Call it after `commit`, when their ends are durable."""
        ended, self._ended = tuple(self._ended), []
        return ended

    def story(self, job: JobId) -> str:
        """How a job got where it is, including events that are not written yet."""
        return story((*self._log.read(), *self._unwritten), job)

    def _in_order(self, event: Event) -> Event:
        """The event, not earlier than the last one: other clocks may be behind, but times in the log never go back."""
        if event.at_ms >= self.state.now_ms:
            return event
        if isinstance(event, CheckpointSaved | ShardsSaved) and event.saved_ms is None:
            return evolve(event, at_ms=self.state.now_ms, saved_ms=event.at_ms)
        return evolve(event, at_ms=self.state.now_ms)

    def _fold(self, event: Event) -> Outcome:
        try:
            outcome = fold(self.state, event)
        except (KeyError, ValueError, IndexError) as error:
            raise self._violation(f"cannot be folded: {error!r}", event) from error
        for move in outcome.moves:
            if problem := broken_invariant(move):
                raise self._violation(f"{move.after.id} is {problem}", event, move.after.id)
        return outcome

    def _violation(self, problem: str, event: Event, job: JobId | None = None) -> InvariantViolated:
        """Stop the writer, and put the job's story into the error."""
        self._stopped = f"{type(event).__name__}: {problem}"
        subject = job or getattr(event, "job", None)
        told = "" if subject is None else "\n" + story((*self._log.read(), *self._unwritten, event), subject)
        return InvariantViolated(f"{self._stopped}{told}")

    def _take_instructions(self, outcome: Outcome) -> None:
        self._unsent += outcome.commands
        for move in outcome.moves:
            self._touched[move.after.id] = move.after
            if move.after.state.is_final:
                self._ended.append(move.after.id)
            for instruction in move.instructions:
                if isinstance(instruction, WakeAt):
                    self.timers.set(instruction.job, instruction.at_ms)
                else:
                    self._unsent.append(instruction)

    def _set_timer(self, job: JobId) -> None:
        due = due_ms(self.state.jobs[job])
        if due is not None:
            self.timers.set(job, due)


def broken_invariant(move: Move) -> str:
    """The invariant that a job breaks, in words; empty when it breaks none."""
    before, after = move.before, move.after
    if after.state.holds_resources != bool(after.workers or after.leaving):
        return f"{after.state} with {len(after.workers)} workers"
    if after.state.is_final != (after.ended_ms is not None):
        return f"{after.state}, but its end is {after.ended_ms}"
    if before is not None and after.generation < before.generation:
        return f"at generation {after.generation}, and was at {before.generation}"
    if before is not None and before.state.is_final:
        return f"{after.state}, and had ended as {before.state}"
    return ""
