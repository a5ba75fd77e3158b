"""A simulated gang for agreements: ranks that step, nodes that show announcements, and messages that are late or lost.

Ranks do what docs/TRAINING.md says: a rank writes its step, then looks at its board, and waits at an open announcement
for a short time only.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from muster.backends.agreement import GangAgreement
from muster.backends.agreement_terms import Action, Announce, Decide, GiveUp, RankNews, ShownStep
from muster.core.lifecycle.save_interval import SaveTime
from muster.model.ids import NodeName
from muster.train.board import LEAVE

PATIENCE_MS = 5_000
"""How long a rank waits for a decision."""

OPEN, COMMITTED, CANCELLED = 1, 2, 3


@dataclass(slots=True)
class Shown:
    """An announcement on a board."""

    number: int
    kind: int
    step: int
    every: int
    state: int = OPEN


@dataclass(slots=True, kw_only=True)
class Faults:
    """What goes wrong, with which probability, and how long messages and steps take."""

    delay_ms: float = 5
    lost: float = 0.0
    decisions_arrive: bool = False
    step_ms: float = 100
    jitter: float = 0.2
    restarts: int = 0
    hangs: bool = False
    last_step: int = 1_000_000
    save: Callable[[int], SaveTime] | None = None
    """How long the save of a step takes; None for ranks that do not report their saves."""
    restore_ms: float = 0
    """How long ranks load and restore before their first step. Their boards are there from the beginning."""
    resumed: int = 0
    """The step that they restore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSave:
    """A save of one rank."""

    rank: int
    begun_ms: float
    safe_ms: float
    """When its part had a copy on another node, if there is one."""


@dataclass(slots=True, kw_only=True)
class SimulatedRank:
    """One process of the training."""

    rank: int
    node: NodeName
    step: int = 0
    steps_done: int = 0
    """Since it was restored."""
    board: int = 1
    shown: list[Shown] = field(default_factory=list)
    waits_since_ms: float | None = None
    is_closed: bool = False
    has_left: bool = False
    is_hung: bool = False
    every: int = 0
    repeat_at: int = 0


class SimulatedGang:
    """All ranks with their nodes, and the agreement that talks to them."""

    def __init__(self, random: Random, ranks: int, nodes: int, faults: Faults) -> None:
        self._random = random
        self.faults = faults
        self.now_ms = 0.0
        self.agreement = GangAgreement()
        self.actions: list[Action] = []
        self.acted: list[tuple[int, int, int, int]] = []
        """Rank, number of the announcement, its kind, and the step at which the rank acted on it."""
        self.saves: list[SimulatedSave] = []
        self.ranks = [
            SimulatedRank(rank=rank, node=NodeName(f"n{rank % nodes}"), step=random.randrange(2))
            for rank in range(ranks)
        ]
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._arrived_ms: dict[str, float] = {}
        for each in self.ranks:
            self.after(faults.restore_ms + random.random() * faults.step_ms, partial(self._begin, each))
        for node in sorted({each.node for each in self.ranks}):
            self._report(node)
        self.after(0, self._tick)

    def after(self, delay_ms: float, happen: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._agenda, (self.now_ms + delay_ms, self._count, happen))

    def run(self, until_ms: float) -> None:
        while self._agenda and self._agenda[0][0] <= until_ms:
            self.now_ms, _, happen = heapq.heappop(self._agenda)
            happen()
        self.now_ms = until_ms

    def wish(self, delay_ms: float, kind: int, amount_ms: int) -> None:
        """Wish to save each `amount_ms`, or to leave within it."""

        def happen() -> None:
            now_ms = self.now_ms
            if kind == LEAVE:
                self.send(self.agreement.leave(now_ms + amount_ms, now_ms))
            else:
                self.send(self.agreement.save(amount_ms, now_ms))

        self.after(delay_ms, happen)

    def restart(self, delay_ms: float, rank: int) -> None:
        """Replace the process of a rank, which begins again some steps before."""

        def happen() -> None:
            each = self.ranks[rank]
            each.board, each.shown, each.waits_since_ms = each.board + 1, [], None
            each.step, each.is_closed, each.has_left = max(each.step - 10, 0), False, False
            self._advance(each, each.board)

        self.after(delay_ms, happen)

    def hang(self, delay_ms: float, rank: int) -> None:
        def happen() -> None:
            self.ranks[rank].is_hung = True

        self.after(delay_ms, happen)

    def send(self, actions: list[Action]) -> None:
        self.actions += actions
        for action in actions:
            if not isinstance(action, GiveUp):
                for node in self.agreement.nodes:
                    is_safe = isinstance(action, Decide) and self.faults.decisions_arrive
                    arrive = partial(self._receive, node, action)
                    self._deliver(f"to {node}", arrive, is_safe=is_safe)

    def _deliver(self, way: str, happen: Callable[[], None], *, is_safe: bool = False) -> None:
        """Let a message arrive, late or never, but after those that went the same way before."""
        if is_safe or self._random.random() >= self.faults.lost:
            delay_ms = self._random.random() * 2 * self.faults.delay_ms
            self._arrived_ms[way] = max(self._arrived_ms.get(way, 0), self.now_ms + delay_ms)
            self.after(self._arrived_ms[way] - self.now_ms, happen)

    def _receive(self, node: NodeName, action: Announce | Decide) -> None:
        here = [each for each in self.ranks if each.node == node]
        if isinstance(action, Decide):
            for each in here:
                for shown in each.shown[-2:]:
                    if shown.number == action.number:
                        shown.state = COMMITTED if action.is_kept else CANCELLED
            return
        for each in here:
            each.shown.append(Shown(action.number, action.kind, action.step, action.every))
        self.after(2, lambda: self._answer(node, action.number))

    def _answer(self, node: NodeName, number: int) -> None:
        steps = [
            ShownStep(
                rank=each.rank,
                world=len(self.ranks),
                step=each.step,
                board=each.board,
                is_closed=each.is_closed or each.has_left,
            )
            for each in self.ranks
            if each.node == node
        ]
        self._deliver(f"from {node}", lambda: self.send(self.agreement.answered(node, number, steps, self.now_ms)))

    def _report(self, node: NodeName) -> None:
        """Report the progress of a node's ranks every second."""
        for each in self.ranks:
            if each.node == node:
                news = RankNews(
                    node=node,
                    worker=each.rank,
                    world=len(self.ranks),
                    step=each.step,
                    board=each.board,
                    is_closed=each.is_closed or each.has_left,
                    heard_ms=self.now_ms,
                    step_us=int(self.faults.step_ms * 1000) if each.steps_done > 1 else 0,
                )
                self.agreement.heard(each.rank, news)
                self.send(self.agreement.keep_pace(self.now_ms))
        self.after(1_000, lambda: self._report(node))

    def _tick(self) -> None:
        self.send(self.agreement.look(self.now_ms))
        self.after(100, self._tick)

    def _begin(self, each: SimulatedRank) -> None:
        """End the restoring. What was announced for an earlier step is done at the first one."""
        if self.faults.resumed:
            each.step = self.faults.resumed
        for shown in each.shown:
            shown.step = max(shown.step, each.step + 1)
        self._advance(each, each.board)

    def _advance(self, each: SimulatedRank, board: int) -> None:
        """Finish a step: write it, look at the board, go on or wait."""
        if each.board != board or each.is_hung or each.is_closed or each.has_left:
            return
        if each.waits_since_ms is None:
            each.step += 1
            each.steps_done += 1
        if self._waits(each):
            self.after(1, lambda: self._advance(each, board))
            return
        each.waits_since_ms = None
        stood_ms = self._act(each)
        each.is_closed = each.step >= self.faults.last_step
        low, high = 1 - self.faults.jitter, 1 + self.faults.jitter
        step_ms = self.faults.step_ms * self._random.uniform(low, high)
        self.after(stood_ms + step_ms, lambda: self._advance(each, board))

    def _waits(self, each: SimulatedRank) -> bool:
        """True while the rank is at an open announcement, and has not waited for too long."""
        if not any(shown.state == OPEN and shown.step == each.step for shown in each.shown[-2:]):
            return False
        each.waits_since_ms = self.now_ms if each.waits_since_ms is None else each.waits_since_ms
        return self.now_ms - each.waits_since_ms < PATIENCE_MS

    def _act(self, each: SimulatedRank) -> int:
        """Do what is due at this step; how long training stands still for it."""
        is_due = bool(each.every) and each.step >= each.repeat_at
        for shown in each.shown[-2:]:
            if shown.state == COMMITTED and shown.step == each.step:
                self.acted.append((each.rank, shown.number, shown.kind, each.step))
                each.has_left |= shown.kind == LEAVE
                is_due, each.every = True, shown.every
        if not is_due:
            return 0
        each.repeat_at = each.step + each.every
        return self._save(each, self.faults.save(each.step)) if self.faults.save is not None else 0

    def _save(self, each: SimulatedRank, time: SaveTime) -> int:
        nodes = len({other.node for other in self.ranks})
        safe_ms = self.now_ms + time.safe_ms(nodes)
        self.saves.append(SimulatedSave(rank=each.rank, begun_ms=self.now_ms, safe_ms=safe_ms))
        step = each.step

        def reported() -> None:
            self.agreement.saved(step, time, self.now_ms)

        self.after(time.took_ms, lambda: self._deliver(f"from {each.node}", reported))
        return time.cost_ms
