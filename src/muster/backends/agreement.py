"""How all ranks of a gang come to save, or to leave, at the same step, without asking each other.

A step is announced that is ahead of every rank. Each node shows it to its ranks and answers with their steps, read
after that. If every rank is before the announced step, all of them will see it in time, and it is committed. If one is
not, or an answer is missing, it is cancelled and a later step is announced: a few times, then it is given up.

          ┌──────────── a rank was too far, or no answer ────────────┐
          ▼                                                          │
    idle ── a wish, all ranks seen ──▶ announced ── all answered ──▶ decided: committed or cancelled

After a commit nothing is announced until every rank has passed the step, so that no rank overlooks it.

Ranks that were told to save again and again count steps. Shortly before a save is due by the clock, an earlier step is
announced if they would come to theirs too late, and another number of steps if theirs does not fit any more.

Pure: it is told the time, in milliseconds of any monotonic clock, and returns what is to be sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.backends.agreement_terms import Action, Announce, Decide, GiveUp, RankNews, ShownStep
from muster.backends.gang_ranks import Boards, GangRanks
from muster.backends.save_pace import SavePace
from muster.core.lifecycle.save_interval import SaveTime
from muster.model.ids import NodeName
from muster.train.agreement import NEVER
from muster.train.board import LEAVE, SAVE

ANSWER_MS = 1_000
"""How long nodes may take to answer. Ranks that have come to the announced step wait five times this long for the
decision, so that it reaches them in time."""

TRIES = 6
"""How many steps are announced for one wish. Each is twice as far ahead of the ranks as the one before."""

PROPAGATION_MS = 250
"""How long the first announcement may take until it is on all boards: a round of the loops of both sides, on machines
that are busy."""

SLOW_STEP_MS = 2_000
"""With steps that take this long the step that is under way is announced: an announcement nearly always comes in time,
and if it does not, another is tried."""

UNKNOWN_PACE_BITS = 3
"""While no step was measured, the first try is the next step, and each further one eight times as far ahead."""

SETTLING_MS = 60_000
SETTLING_TIMES = 4
"""How long after a commit the next announcement waits at the most until all ranks have passed the step: so many times
as long as that should take, and as long as this."""

INTERVAL_PART = 4
"""A wish to save at an interval that differs from the present one by less than one part in this many changes nothing.
"""

AHEAD_MS = 1_500
"""How long before a save is due its step is announced: a report on each rank comes in meanwhile."""

PACE_LOOK_MS = 200
"""Pause between two looks whether a save is due: each goes through all ranks."""

PACE_REST_MS = 5_000
"""How long the pace is left alone when the ranks did not agree on it. They go on saving as they were told before."""


@dataclass(slots=True, kw_only=True)
class _Round:
    """One announcement that is not decided."""

    announced: Announce
    until_ms: float
    waiting: set[NodeName]
    answers: dict[int, ShownStep] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Committed:
    """What all ranks will do, or have done."""

    step: int
    every: int
    """The steps between the saves that follow; 0 for none."""
    boards: Boards
    until_ms: float
    """When to wait no longer for ranks to pass the step."""


class GangAgreement:
    """One attempt of one gang."""

    def __init__(self, first_number: int = 1) -> None:
        """Announcements are numbered from `first_number` on."""
        self._ranks = GangRanks()
        self._number = first_number - 1
        self._round: _Round | None = None
        self._save_every_ms: int | None = None
        """A wish to save that is not fulfilled: how long to train between saves, 0 for once."""
        self._leaves_by_ms: float | None = None
        """A wish to leave that is not fulfilled, and until when it is worth trying."""
        self._tries = 0
        self._committed: _Committed | None = None
        self._pace = SavePace()
        self._paced_ms = 0.0
        """When to look next whether a save is due."""
        self.is_leaving = False
        """True once all ranks have agreed to leave."""

    @property
    def is_busy(self) -> bool:
        """True while it has to look at the clock."""
        return self._round is not None or self._save_every_ms is not None or self._leaves_by_ms is not None

    @property
    def workers(self) -> frozenset[int]:
        """The workers that have ranks."""
        return self._ranks.workers

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """The nodes that have ranks."""
        return self._ranks.nodes

    def is_heard_of(self, now_ms: float) -> bool:
        """True when a rank was heard of lately."""
        return self._ranks.is_heard_of(now_ms)

    def is_complete(self, now_ms: float) -> bool:
        """True when every rank of the world was heard of lately, and none has ended its training."""
        return not self._ranks.missing(now_ms)

    def heard(self, rank: int, news: RankNews) -> None:
        """A node reports how far a rank is."""
        self._ranks.heard(rank, news)

    def lost(self, workers: Iterable[int], *, have_finished: bool) -> list[Action]:
        """These workers are gone, with their ranks."""
        return self._broken("a worker has ended", is_ending=have_finished) if self._ranks.lose(workers) else []

    def save(self, every_ms: int, now_ms: float, expected: SaveTime | None = None) -> list[Action]:
        """Have all ranks save soon, and then again within `every_ms` each time; 0 means once.

        `expected` is how long a save took lately, as far as that is known from before these ranks were there.
        """
        self._pace.every_ms = every_ms
        if expected is not None:
            self._pace.expect(expected, len(self.nodes))
        if self.is_leaving or self._leaves_by_ms is not None or self._saves_by_itself(now_ms):
            return []
        if self._save_every_ms is None:
            self._tries = 0
        self._save_every_ms = every_ms
        return self.look(now_ms)

    def saved(self, step: int, time: SaveTime, now_ms: float) -> None:
        """Ranks on one node have saved their parts of a step, which took so long."""
        if step > self._pace.step and not self.is_busy:
            self._tries = 0
        self._pace.saved(step, time, len(self.nodes), now_ms)

    def keep_pace(self, now_ms: float) -> list[Action]:
        """What is to be sent so that the ranks save in time by themselves. Call it whenever a rank was heard of.

        Processes that were replaced do not count the steps of those before them. So a gang that was formed anew is told
        to save at once, as a new attempt is.
        """
        last = self._committed
        if last is None or not self._pace.every_ms or self.is_busy or self.is_leaving or now_ms < self._paced_ms:
            return []
        self._paced_ms = now_ms + PACE_LOOK_MS
        if self._ranks.missing(now_ms):
            return []
        if not self._knows(last):
            self._paced_ms = now_ms + PACE_REST_MS
            return self.save(self._pace.every_ms, now_ms)
        step = self._paced_step(last, now_ms)
        if step is None or self._is_settling(now_ms):
            return []
        if self._tries >= TRIES:
            self._tries, self._paced_ms = 0, now_ms + PACE_REST_MS
            return []
        return [self._announced(SAVE, step, self._pace.steps(self._ranks.step_us), now_ms)]

    def _paced_step(self, last: _Committed, now_ms: float) -> int | None:
        """The step at which to save next, if the ranks are to be told another than theirs or another number of steps.

        Ranks that were told to save once, because nobody knew yet how long their steps take, have no step of theirs.
        While a save is not reported it is under way, or has failed. Then no earlier step is announced.
        """
        step_us, highest = self._ranks.step_us, self._ranks.highest(now_ms)
        if not step_us or highest < last.step:
            return None
        before = last.step + ((highest - last.step) // last.every * last.every if last.every else 0)
        step = theirs = before + last.every if last.every else NEVER
        soonest = highest + 1 + self._margin(step_us)
        due_ms = self._pace.due_ms
        if due_ms is not None and self._pace.step >= before:
            steps_left = int(max(due_ms - now_ms, 0) * 1000) // step_us
            step = min(theirs, max(self._ranks.lowest(now_ms) + steps_left, soonest))
        is_near = (step - soonest) * step_us <= max(AHEAD_MS * 1000, step_us)
        if not is_near or step < soonest or (step == theirs and self._is_fitting(last)):
            return None
        return step

    def leave(self, by_ms: float, now_ms: float) -> list[Action]:
        """Have all ranks save and leave soon. It is given up at `by_ms` at the latest."""
        if self.is_leaving or self._leaves_by_ms is not None:
            return []
        self._leaves_by_ms, self._save_every_ms, self._tries = by_ms, None, 0
        return [*self._cancelled(), *self.look(now_ms)]

    def answered(self, node: NodeName, number: int, shown: Iterable[ShownStep], now_ms: float) -> list[Action]:
        """A node has shown an announcement, and read the steps of its ranks after that."""
        steps = tuple(shown)
        self._ranks.shown(steps, now_ms)
        current = self._round
        if current is None or current.announced.number != number or node not in current.waiting:
            return []
        current.waiting.discard(node)
        for each in steps:
            if each.rank in current.answers:
                current.problem = f"two processes are rank {each.rank}"
            current.answers[each.rank] = each
        return self.look(now_ms)

    def look(self, now_ms: float) -> list[Action]:
        """What is to be sent now. Call it about ten times a second while it is busy, too."""
        actions: list[Action] = []
        if self._round is not None:
            actions += self._judged(self._round, now_ms)
        if self._round is None:
            actions += self._next(now_ms)
        return actions

    def _judged(self, current: _Round, now_ms: float) -> list[Action]:
        """Decide an announcement when all nodes have answered, or when one has not in time."""
        if current.waiting and now_ms < current.until_ms:
            return []
        self._round = None
        announced = current.announced
        is_kept = now_ms < current.until_ms and not current.problem and self._is_ahead(current)
        if is_kept:
            self._commit(current, now_ms)
        return [Decide(number=announced.number, is_kept=is_kept)]

    def _is_ahead(self, current: _Round) -> bool:
        """True when the boards of all ranks have shown that they are before the announced step."""
        answers = current.answers
        world = next((each.world for each in answers.values()), 0)
        is_whole = len(answers) == world and all(
            each.world == world and each.rank < world and not each.is_closed for each in answers.values()
        )
        return is_whole and all(each.step < current.announced.step for each in answers.values())

    def _commit(self, current: _Round, now_ms: float) -> None:
        announced = current.announced
        left = announced.step - min(each.step for each in current.answers.values())
        expected_ms = left * self._ranks.step_us / 1000 or SETTLING_MS
        boards = tuple(sorted((each.rank, each.board) for each in current.answers.values()))
        if self._committed is not None and self._committed.boards != boards:
            self._pace.forget_steps()
        self._committed = _Committed(
            step=announced.step,
            every=announced.every,
            boards=boards,
            until_ms=now_ms + min(ANSWER_MS + SETTLING_TIMES * expected_ms, SETTLING_MS),
        )
        self._tries, self._paced_ms = 0, 0.0
        if announced.kind == LEAVE:
            self.is_leaving, self._leaves_by_ms = True, None
        else:
            self._save_every_ms = None

    def _next(self, now_ms: float) -> list[Action]:
        """Announce a step if there is a wish, or give it up."""
        if self._save_every_ms is None and self._leaves_by_ms is None:
            return []
        problem = self._hopeless(now_ms)
        if problem:
            return self._broken(problem, is_ending=self._ranks.has_ended)
        if self._is_settling(now_ms):
            return []
        kind = SAVE if self._leaves_by_ms is None else LEAVE
        step_us = self._ranks.step_us
        every = self._pace.steps(step_us) if kind == SAVE else 0
        return [self._announced(kind, self._ranks.highest(now_ms) + 1 + self._margin(step_us), every, now_ms)]

    def _announced(self, kind: int, step: int, every: int, now_ms: float) -> Announce:
        self._number += 1
        self._tries += 1
        announced = Announce(number=self._number, kind=kind, step=step, every=every)
        self._round = _Round(announced=announced, until_ms=now_ms + ANSWER_MS, waiting=set(self.nodes))
        return announced

    def _hopeless(self, now_ms: float) -> str:
        """Why nothing more is tried; empty while it may succeed."""
        if self._tries >= TRIES:
            return f"no step was ahead of all ranks in {TRIES} tries"
        if self._leaves_by_ms is not None and now_ms >= self._leaves_by_ms:
            return "the time to agree is over"
        return self._ranks.missing(now_ms)

    def _broken(self, because: str, *, is_ending: bool) -> list[Action]:
        """Give up every wish."""
        was_leaving = self._leaves_by_ms is not None
        self._save_every_ms = self._leaves_by_ms = None
        self._tries = 0
        given_up = [GiveUp(because=because, is_ending=is_ending)] if was_leaving else []
        return [*self._cancelled(), *given_up]

    def _cancelled(self) -> list[Action]:
        current, self._round = self._round, None
        return [] if current is None else [Decide(number=current.announced.number, is_kept=False)]

    def _is_settling(self, now_ms: float) -> bool:
        """True while a rank has not come to the step that was committed last."""
        last = self._committed
        if last is None or now_ms >= last.until_ms:
            return False
        return self._ranks.is_before(last.step, last.boards)

    def _saves_by_itself(self, now_ms: float) -> bool:
        """True when the ranks save at nearly the wanted interval anyway, and none of them was replaced since."""
        last = self._committed
        if last is None or self._is_settling(now_ms):
            return last is not None
        return bool(last.every) and self._knows(last) and self._is_fitting(last)

    def _is_fitting(self, last: _Committed) -> bool:
        """True when the ranks make about as many steps between saves as they should."""
        wanted = self._pace.steps(self._ranks.step_us)
        return abs(last.every - wanted) * INTERVAL_PART <= wanted

    def _knows(self, last: _Committed) -> bool:
        """True when no process was replaced since the ranks agreed: all of them count the same steps."""
        return last.boards == self._ranks.boards

    def _margin(self, step_us: int) -> int:
        """How many steps an announcement may take to arrive."""
        if not step_us:
            return (1 << UNKNOWN_PACE_BITS * self._tries) - 1
        if step_us >= SLOW_STEP_MS * 1000:
            return max(self._tries - 1, 0)
        return -(-(PROPAGATION_MS << self._tries) * 1000 // step_us)
