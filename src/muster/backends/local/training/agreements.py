"""Lets the ranks of gangs agree on steps at which they save or leave: between `GangAgreement` and the nodes.

Only the thread that runs the loop calls it.
"""

import logging
import time
from collections.abc import Callable
from typing import Any, assert_never

from muster.backends.agreement import GangAgreement
from muster.backends.agreement_terms import Action, Announce, Decide, GiveUp, RankNews, ShownStep
from muster.core.lifecycle.save_interval import SaveTime
from muster.model.events import ObservedEvent, ShardsSaved, StartFailed, WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint, Command, SignalStop
from muster.model.telemetry import RankProgress
from muster.worker.loop import Loop
from muster.worker.messages import BadMessage
from muster.worker.service import Message
from muster.worker.worker_process import agreement_ms

LOOK_MS = 100
"""How often agreements that are under way look at the clock."""

GANGS_MOST = 20_000
"""Gangs that are followed at the most: those of the largest cluster, with a worker on each GPU."""

_log = logging.getLogger("muster.backends.local")


class Agreements:
    """The agreements of all gangs whose ranks have boards."""

    def __init__(
        self, loop: Loop, say: Callable[[NodeName, Message], None], understands: Callable[[NodeName], bool]
    ) -> None:
        """`say` sends a message to a node, and `understands` is true for a node that is up and knows announcements."""
        self._loop = loop
        self._say = say
        self._understands = understands
        self._gangs: dict[JobId, tuple[int, GangAgreement]] = {}
        """By job, the newest attempt that was heard of, and its agreement."""
        self._wishes: dict[JobId, AskCheckpoint] = {}
        """Requests to save that came before all ranks had boards: a gang that is still loading saves once it can."""
        self._is_looking = False

    def heard(self, post: NodeName, progress: RankProgress) -> None:
        """A supervisor reports how far a rank is. `post` is where it serves, which is where announcements go."""
        agreement = self._of(progress.job, progress.attempt)
        if agreement is None:
            return
        news = RankNews(
            node=post,
            worker=progress.worker,
            world=progress.world,
            step=progress.step,
            board=progress.board,
            is_closed=progress.is_closed,
            heard_ms=_now_ms(),
            step_us=progress.step_us,
        )
        agreement.heard(progress.rank, news)
        wish = self._wishes.get(progress.job)
        if wish is not None and (wish.attempt < progress.attempt or self.takes(wish)):
            del self._wishes[progress.job]
            if wish.attempt == progress.attempt:
                self.begin(wish)
        self._keep_pace(progress.job, agreement)

    def _keep_pace(self, job: JobId, agreement: GangAgreement) -> None:
        actions = agreement.keep_pace(_now_ms())
        if actions:
            self._send(job, actions)
            self._wind_clock()

    def reported(self, event: ObservedEvent) -> None:
        """A node reports on workers, or on what their ranks have saved."""
        match event:
            case WorkersExited() | StartFailed():
                self._ended(event)
            case ShardsSaved(took_ms=took_ms) if took_ms:
                attempt, agreement = self._gangs.get(event.job, (0, None))
                if agreement is not None and attempt == event.attempt:
                    agreement.saved(event.step, SaveTime(cost_ms=event.cost_ms, took_ms=took_ms), _now_ms())
                    self._keep_pace(event.job, agreement)
            case _:
                pass

    def takes(self, command: Command) -> bool:
        """True when the ranks of the gang can agree on when to do what the command says. Then call `begin`."""
        if not isinstance(command, AskCheckpoint | SignalStop):
            return False
        attempt, agreement = self._gangs.get(command.job, (0, None))
        if agreement is None or attempt != command.attempt or not agreement.is_complete(_now_ms()):
            if isinstance(command, AskCheckpoint) and command.attempt >= attempt and len(self._wishes) < GANGS_MOST:
                self._wishes[command.job] = command
            return False
        if isinstance(command, SignalStop) and agreement.workers != frozenset(command.ranks):
            return False  # only some of the workers leave, or one of them has no board
        return all(self._understands(node) for node in agreement.nodes)

    def begin(self, command: Command) -> None:
        """Have the ranks agree. The command was sent to their nodes."""
        _, agreement = self._gangs[command.job]
        now_ms = _now_ms()
        match command:
            case SignalStop(grace_ms=grace_ms):
                self._send(command.job, agreement.leave(now_ms + agreement_ms(grace_ms), now_ms))
            case AskCheckpoint(every_ms=every_ms, cost_ms=cost_ms, took_ms=took_ms):
                expected = SaveTime(cost_ms=cost_ms, took_ms=took_ms) if took_ms else None
                self._send(command.job, agreement.save(every_ms, now_ms, expected))
            case _:
                raise AssertionError("only a stop or a save is agreed on")
        self._wind_clock()

    def answered(self, node: NodeName, body: dict[str, Any]) -> None:
        """A node has shown an announcement."""
        match body:
            case {"job": str(name), "attempt": int(attempt), "number": int(number), "ranks": list(ranks)}:
                job, known = JobId(name), self._gangs.get(JobId(name))
            case _:
                raise BadMessage("not an answer to an announcement")
        if known is not None and known[0] == attempt:
            self._send(job, known[1].answered(node, number, map(_shown, ranks), _now_ms()))

    def _ended(self, report: WorkersExited | StartFailed) -> None:
        """These workers are gone. What was wished of their gang is, too: most programs never have boards."""
        wish = self._wishes.get(report.job)
        if wish is not None and wish.attempt <= report.attempt:
            del self._wishes[report.job]
        attempt, agreement = self._gangs.get(report.job, (0, None))
        if agreement is None or attempt != report.attempt:
            return
        has_finished = isinstance(report, WorkersExited) and report.exit_code == 0
        self._send(report.job, agreement.lost(report.ranks, have_finished=has_finished))
        if not agreement.workers:
            del self._gangs[report.job]

    def _of(self, job: JobId, attempt: int) -> GangAgreement | None:
        """The agreement of an attempt. A newer attempt replaces an older one, and an older one is not followed."""
        known = self._gangs.get(job)
        if known is not None and known[0] == attempt:
            return known[1]
        if known is None and len(self._gangs) >= GANGS_MOST:
            self._gangs = {each: gang for each, gang in self._gangs.items() if gang[1].is_heard_of(_now_ms())}
        if (known is not None and known[0] > attempt) or len(self._gangs) >= GANGS_MOST:
            return None
        agreement = GangAgreement(first_number=time.time_ns() // 1_000_000)
        self._gangs[job] = (attempt, agreement)
        return agreement

    def _wind_clock(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._loop.after(LOOK_MS, self._look)

    def _look(self) -> None:
        self._is_looking = False
        busy = [(job, agreement) for job, (_, agreement) in self._gangs.items() if agreement.is_busy]
        for job, agreement in busy:
            self._send(job, agreement.look(_now_ms()))
        if busy:
            self._wind_clock()

    def _send(self, job: JobId, actions: list[Action]) -> None:
        attempt, agreement = self._gangs[job]
        for action in actions:
            message = _message(action, {"job": job, "attempt": attempt})
            if isinstance(action, GiveUp):
                _log.info("ranks could not agree to leave", extra={"job": job, "cause": action.because})
            if message is not None:
                for node in agreement.nodes:
                    self._say(node, message)


def _message(action: Action, gang: Message) -> Message | None:
    match action:
        case Announce(number=number, kind=kind, step=step, every=every):
            return {"announce": {**gang, "number": number, "kind": kind, "step": step, "every": every}}
        case Decide(number=number, is_kept=is_kept):
            return {"decide": {**gang, "number": number, "kept": is_kept}}
        case GiveUp(is_ending=is_ending):
            return None if is_ending else {"hasten": gang}
        case _:
            assert_never(action)


def _shown(row: object) -> ShownStep:
    match row:
        case [int(rank), int(world), int(step), int(board), bool(is_closed)]:
            return ShownStep(rank=rank, world=world, step=step, board=board, is_closed=is_closed)
        case _:
            raise BadMessage("not an answer to an announcement")


def _now_ms() -> float:
    return time.monotonic() * 1000
