"""The connection between the engine and the tested backend, which does not always work.

Reports about processes get lost, or come twice, late and out of order. Reports about nodes only come late, and in
order: a node is watched, and a watcher that misses something looks again. Commands are lost while the connection is
down.
"""

import heapq
from collections.abc import Callable, Iterator
from random import Random

from muster.model.events import (
    GangsFound,
    NodeChanged,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ObservedEvent,
    StartFailed,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, StartWorkers
from muster.sim.campaign.backends import TestedBackend
from muster.sim.campaign.schedule import RELIABLE, Unreliability

_NodeReport = NodeChanged | NodeUnreachable | NodeReturned | NodeLost


class FaultyLink:
    """A backend for the engine that passes commands and reports on, with faults."""

    def __init__(self, tested: TestedBackend, unreliability: Unreliability, chance: Random) -> None:
        self.tested = tested
        self.problems: list[str] = []
        """Commands that the engine should never have sent, as text."""
        self.is_cut = False
        """True while neither commands nor reports get through."""
        self.sent: list[Command] = []
        self.on_start: Callable[[StartWorkers], None] = lambda _: None
        """Called for every start that the engine sends, whether or not it gets through."""
        self._rates = unreliability
        self._chance = chance
        self._under_way: list[tuple[int, int, ObservedEvent]] = []
        self._posted = 0
        self._attempted: dict[JobId, int] = {}
        """The newest attempt of each job whose start arrived here."""
        self._failed: dict[tuple[JobId, int], None] = {}
        """Attempts that cannot be started."""
        self._generations: dict[JobId, int] = {}
        self._attempts: dict[JobId, int] = {}

    def calm(self) -> None:
        """From now on everything gets through."""
        self._rates = RELIABLE
        self.join()

    def cut(self) -> None:
        """From now on neither commands nor reports get through, and the supervisors know it."""
        self.is_cut = True
        self.tested.fall_silent()

    def join(self) -> None:
        """The connection is up again."""
        self.is_cut = False
        self.tested.hear_again()

    def begin_anew(self, attempts: dict[JobId, int]) -> None:
        """The log was replaced by an older one, which knows these attempts. Forget what was sent."""
        self.sent.clear()
        self._generations.clear()
        self._attempts = attempts

    def drop(self) -> None:
        """Forget all reports under way and all commands sent: they belong to another home."""
        self.tested.poll()
        self._under_way.clear()
        self.sent.clear()

    def know(self, job: JobId, attempt: int) -> None:
        """Note an attempt that another engine started and that goes on."""
        self._attempts[job] = max(attempt, self._attempts.get(job, 0))

    def send(self, command: Command) -> None:
        """Pass a command on if the connection is up. Checks that the engine may send it at all."""
        self.problems += self._misconduct(command)
        if isinstance(command, StartWorkers):
            self.on_start(command)
        if self.is_cut:
            return
        self.sent.append(command)
        if isinstance(command, StartWorkers) and self._fails_to_start(command):
            return
        self.tested.send(command)

    def poll(self) -> tuple[ObservedEvent, ...]:
        """The reports that arrive now."""
        self._post()
        arrived = []
        while self._under_way and self._under_way[0][0] <= self.tested.now_ms:
            arrived.append(heapq.heappop(self._under_way)[2])
        return tuple(arrived)

    @property
    def next_ms(self) -> int | None:
        """When the next report that is under way arrives."""
        return self._under_way[0][0] if self._under_way else None

    def repeat(self, pick: int) -> str:
        """An old command arrives once more. Returns the problem if an outdated command has an effect."""
        if not self.sent or self.is_cut:
            return ""
        command = self.sent[pick % len(self.sent)]
        is_old = command.generation < self.tested.generation(command.job)
        before = self.tested.seats()
        if not isinstance(command, StartWorkers) or not self._fails_to_start(command):
            self.tested.send(command)
        if is_old and self.tested.seats() != before:
            return f"{command.job}: {type(command).__name__} of generation {command.generation} was not refused"
        return ""

    def _misconduct(self, command: Command) -> Iterator[str]:
        """Problems: a generation that goes back, or a start while an earlier attempt is alive."""
        job, known = command.job, self._generations.get(command.job, 0)
        if command.generation < known:
            yield f"{job}: a command of generation {command.generation} was sent after one of {known}"
        self._generations[job] = max(known, command.generation)
        if isinstance(command, StartWorkers):
            newest = self._attempts.get(job, 0)
            self._attempts[job] = max(newest, command.attempt)
            if command.attempt > newest and command.generation <= known:
                yield f"{job}: attempt {command.attempt} has no generation of its own"
            is_refused = command.generation < self.tested.generation(job)
            for seat in () if is_refused else self.tested.seats():
                if seat.job == job and seat.attempt > command.attempt:
                    continue  # a node that knows a newer attempt starts nothing
                if seat.job == job and seat.attempt != command.attempt:
                    yield f"{job}: attempt {command.attempt} is started while attempt {seat.attempt} is alive"
                    break

    def _fails_to_start(self, command: StartWorkers) -> bool:
        """True when an attempt cannot be started, however often it is tried. The tested backend never hears of it."""
        attempt = (command.job, command.attempt)
        is_new = command.attempt > self._attempted.get(command.job, 0)
        self._attempted[command.job] = max(command.attempt, self._attempted.get(command.job, 0))
        if is_new and self._chance.randrange(100) < self._rates.no_start:
            self._failed[attempt] = None
        if attempt not in self._failed:
            return False
        report = StartFailed(
            at_ms=self.tested.now_ms,
            job=command.job,
            attempt=command.attempt,
            generation=command.generation,
            ranks=tuple(worker.rank for worker in command.workers),
            message="no image",
        )
        self._dispatch(report)
        return True

    def _post(self) -> None:
        for report in self.tested.poll():
            if isinstance(report, NodeChanged | NodeUnreachable | NodeReturned | NodeLost):
                self._dispatch_node(report)
            elif isinstance(report, GangsFound):
                self._put(report, 0)
            elif not self.is_cut:
                self._dispatch(report)

    def _dispatch_node(self, report: _NodeReport) -> None:
        """Reports that a node is gone may be late. When the node reports again, they all arrive at once."""
        name = _node_of(report)
        if isinstance(report, NodeChanged | NodeReturned):
            self._hurry(name)
            self._put(report, 0)
        else:
            before_ms = (at_ms for at_ms, _, other in self._under_way if _is_of_node(other, name))
            self._put(report, max((self._delay_ms(), *(at_ms - self.tested.now_ms for at_ms in before_ms))))

    def _hurry(self, name: NodeName) -> None:
        """Reports under way that this node is gone arrive now."""
        now_ms = self.tested.now_ms
        hurried = [
            (now_ms, number, report) if _is_of_node(report, name) else (at_ms, number, report)
            for at_ms, number, report in self._under_way
        ]
        heapq.heapify(hurried)
        self._under_way = hurried

    def _dispatch(self, report: ObservedEvent) -> None:
        dice = self._chance.randrange(100)
        if dice >= self._rates.lost:
            self._put(report, self._delay_ms())
        if self._chance.randrange(100) < self._rates.repeated:
            self._put(report, self._delay_ms())

    def _delay_ms(self) -> int:
        if self._chance.randrange(100) >= self._rates.late:
            return 0
        return self._chance.randint(0, self._rates.late_ms)

    def _put(self, report: ObservedEvent, delay_ms: int) -> None:
        self._posted += 1
        heapq.heappush(self._under_way, (self.tested.now_ms + delay_ms, self._posted, report))


def _node_of(report: _NodeReport) -> NodeName:
    return report.node.name if isinstance(report, NodeChanged) else report.node


def _is_of_node(report: ObservedEvent, name: NodeName) -> bool:
    """True for a report that this node is gone. Such a report may be under way for a while."""
    return isinstance(report, NodeUnreachable | NodeLost) and report.node == name
