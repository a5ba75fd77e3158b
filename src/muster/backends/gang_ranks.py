"""The ranks of one gang as their nodes report them: who is there, how far they are, how fast they go.

Reports are a second old, so the present step of a rank is guessed from its pace.
"""

from collections.abc import Iterable

from muster.backends.agreement_terms import RankNews, ShownStep
from muster.model.ids import NodeName

STALE_MS = 10_000
"""A rank that was not heard of for this long is not there. Nodes report on each rank every second."""

GUESSED_MS = 3_000
"""For how long after a report a rank is taken to go on stepping at its pace."""

Boards = tuple[tuple[int, int], ...]
"""Each rank with its board: another board is another process."""


class GangRanks:
    """What is known of each rank."""

    def __init__(self) -> None:
        self._news: dict[int, RankNews] = {}
        self._rivals_ms: float | None = None
        """When two workers last had the same rank. Then ranks do not count the whole gang, but parts of it."""

    @property
    def workers(self) -> frozenset[int]:
        """The workers that have ranks."""
        return frozenset(each.worker for each in self._news.values())

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """The nodes that have ranks."""
        return tuple(sorted({each.node for each in self._news.values()}))

    @property
    def boards(self) -> Boards:
        """The processes that are the ranks now."""
        return tuple(sorted((rank, each.board) for rank, each in self._news.items()))

    @property
    def has_ended(self) -> bool:
        """True when a rank has ended its training."""
        return any(each.is_closed for each in self._news.values())

    def is_heard_of(self, now_ms: float) -> bool:
        """True when a rank was heard of lately."""
        return any(now_ms - each.heard_ms <= STALE_MS for each in self._news.values())

    def heard(self, rank: int, news: RankNews) -> None:
        """A node reports how far a rank is."""
        known = self._news.get(rank)
        if known is not None and known.worker != news.worker and news.heard_ms - known.heard_ms <= STALE_MS:
            self._rivals_ms = news.heard_ms
        if known is not None and news.board == known.board:
            news.step = max(news.step, known.step)
            news.step_us = news.step_us or known.step_us
            news.is_closed = news.is_closed or known.is_closed
        self._news[rank] = news
        if any(each.world != news.world for each in self._news.values()):
            self._forget_other_worlds(news)

    def _forget_other_worlds(self, news: RankNews) -> None:
        """Drop ranks of a world that the gang has left: an elastic gang was formed again with another size."""
        self._news = {
            rank: each
            for rank, each in self._news.items()
            if each.world == news.world or news.heard_ms - each.heard_ms <= STALE_MS
        }

    def shown(self, steps: Iterable[ShownStep], now_ms: float) -> None:
        """A node has read the boards of its ranks for an answer."""
        for each in steps:
            known = self._news.get(each.rank)
            if known is not None and known.board == each.board:
                known.step, known.heard_ms = max(known.step, each.step), now_ms
                known.is_closed = known.is_closed or each.is_closed

    def lose(self, workers: Iterable[int]) -> bool:
        """These workers are gone, with their ranks; False when they had none."""
        gone = frozenset(workers)
        left = {rank: each for rank, each in self._news.items() if each.worker not in gone}
        is_smaller, self._news = len(left) < len(self._news), left
        return is_smaller

    def missing(self, now_ms: float) -> str:
        """Why the ranks cannot be told together; empty when they can."""
        if self._rivals_ms is not None and now_ms - self._rivals_ms <= STALE_MS:
            return "two workers have the same rank"
        worlds = {each.world for each in self._news.values()}
        if len(worlds) != 1 or len(self._news) != next(iter(worlds)):
            return "not every rank has a board"
        if max(self._news) >= len(self._news):
            return "the ranks do not count from zero"
        if self.has_ended:
            return "a rank has ended its training"
        if any(now_ms - each.heard_ms > STALE_MS for each in self._news.values()):
            return "a rank was not heard of"
        return ""

    def is_before(self, step: int, boards: Boards) -> bool:
        """True while one of these processes has not come to the step."""
        known = dict(boards)
        return any(each.step < step and known.get(rank) == each.board for rank, each in self._news.items())

    @property
    def step_us(self) -> int:
        """The median duration of a step; 0 when it is not known."""
        known = sorted(each.step_us for each in self._news.values() if each.step_us)
        return known[len(known) // 2] if known else 0

    def highest(self, now_ms: float) -> int:
        """The highest step of any rank by now, if all of them went on at their pace since they were heard of."""
        return max(_guessed(each, now_ms) for each in self._news.values())

    def lowest(self, now_ms: float) -> int:
        """The lowest step of any rank by now."""
        return min(_guessed(each, now_ms) for each in self._news.values())


def _guessed(rank: RankNews, now_ms: float) -> int:
    since_ms = min(max(now_ms - rank.heard_ms, 0), GUESSED_MS)
    return rank.step + (int(since_ms * 1000) // rank.step_us if rank.step_us else 0)
