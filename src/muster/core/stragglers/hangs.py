"""Whether a training stands still: no rank makes a step for many times as long as a step takes.

A rank that has left or finished is not waited for. A training that saves, or has not made its first step yet, gets more
time. So does one that was wrongly called a hang before, because it evaluates its model between steps.
"""

import re
from collections.abc import Mapping

from muster.model.ids import NodeName
from muster.model.telemetry import Hang, RankProgress

STEPS_MISSED = 8
"""A training hangs when so many steps could have been made. With the time that it takes to capture the stacks of its
ranks, a hang is named within ten steps."""

HANG_MIN_MS = 45_000
"""A pause that is shorter is never called a hang: a garbage collection, a slow file system, a short evaluation. With
the time for stacks, a hang is named within a minute."""

FIRST_STEP_MS = 30 * 60_000
"""How long after its start a training may take for its first step: it loads data and a checkpoint, and compiles."""

UNKNOWN_STEP_MS = 10 * 60_000
"""How long one whose step time is not known may stand still, also later."""

SAVING_MS = 10 * 60_000
"""How long one may stand still while a rank saves."""

PAUSE_FACTOR = 2
"""A pause that was called a hang and was none is allowed again, and so many times as long."""

_THREAD = ("Thread ", "Current thread ")
_LINE_NUMBER = re.compile(r", line \d+|:\d+(?=\))")

SILENT_MS = 15_000
"""A rank that nothing was heard of for this long is silent. While all are, nothing is known."""


class HangWatch:
    """Follows the steps of one attempt."""

    def __init__(self, started_ms: int) -> None:
        self._started_ms = started_ms
        self._moved_ms: int | None = None
        """When the last step was seen, or the first report."""
        self._step = -1
        self._pause_ms = 0
        """The longest pause that was called a hang and was none."""
        self._is_presumed = False
        """The first reports after a hang that was found before may be those of the ranks that are behind."""
        self.hang: Hang | None = None

    def presume(self, hang: Hang) -> None:
        """Count the attempt as hanging, as was found before, until a later step says otherwise."""
        self.hang, self._moved_ms, self._step, self._is_presumed = hang, hang.since_ms, hang.step, True

    def look(self, ranks: Mapping[int, RankProgress], heard_ms: Mapping[int, int], p50_us: int, now_ms: int) -> bool:
        """Look at the newest reports of all ranks, and when they came. True when the verdict changed."""
        going = [each for each in ranks.values() if not each.is_closed]
        step = max([each.step for each in going], default=self._step)
        has_moved = step > self._step or (step < self._step and not self._is_presumed)
        if self._moved_ms is None or has_moved or not going:
            return self._moved(step, now_ms)
        if self.hang is not None or all(now_ms - heard_ms[each.rank] > SILENT_MS for each in going):
            return False
        if now_ms - self._moved_ms < self._limit_ms(going, p50_us):
            return False
        self.hang = _hang(going, heard_ms, step, self._moved_ms, now_ms)
        return True

    def _moved(self, step: int, now_ms: int) -> bool:
        """A step was made, or there is nobody to wait for."""
        if self.hang is not None and self._moved_ms is not None:
            self._pause_ms = max(self._pause_ms, now_ms - self._moved_ms)
        was_hang, self.hang = self.hang is not None, None
        self._moved_ms, self._step, self._is_presumed = now_ms, step, False
        return was_hang

    def _limit_ms(self, going: list[RankProgress], p50_us: int) -> int:
        """How long the training may stand still now."""
        begun_ms = self._moved_ms or 0
        limit_ms = max(HANG_MIN_MS, STEPS_MISSED * p50_us // 1000, PAUSE_FACTOR * self._pause_ms)
        if not p50_us:
            limit_ms = max(limit_ms, UNKNOWN_STEP_MS, self._started_ms + FIRST_STEP_MS - begun_ms)
        return max(limit_ms, SAVING_MS) if any(each.is_saving for each in going) else limit_ms


def _hang(going: list[RankProgress], heard_ms: Mapping[int, int], step: int, since_ms: int, now_ms: int) -> Hang:
    """The verdict, with the ranks that are behind the others or are silent; all when there is no such rank."""
    late = [each for each in going if each.step < step or now_ms - heard_ms[each.rank] > SILENT_MS]
    if not late or len(late) == len(going):
        return Hang(since_ms=since_ms, ranks=tuple(sorted([each.rank for each in going])), step=step)
    nodes = tuple(sorted({each.node for each in late}))
    return Hang(since_ms=since_ms, ranks=tuple(sorted([each.rank for each in late])), nodes=nodes, step=step)


def blamed(hang: Hang, stacks: Mapping[int, str], nodes: Mapping[int, NodeName]) -> Hang:
    """The verdict with what stacks tell: a rank that stands elsewhere than most others is the one they wait for.

    Only used when steps do not tell it. `nodes` says where each rank is. The stack of a process is a text with its
    innermost call first; a rank without a stack stands elsewhere as well.
    """
    if hang.nodes or len(hang.ranks) < 3:
        return hang
    places = {rank: innermost(stacks.get(rank, "")) for rank in hang.ranks}
    counts: dict[str, int] = {}
    for place in places.values():
        counts[place] = counts.get(place, 0) + 1
    common = max(sorted(counts), key=lambda place: counts[place])
    odd = tuple(rank for rank in hang.ranks if places[rank] != common)
    if not odd or not common or len(odd) * 2 >= len(hang.ranks):
        return hang
    return Hang(
        since_ms=hang.since_ms,
        ranks=odd,
        nodes=tuple(sorted({nodes[rank] for rank in odd if rank in nodes})),
        step=hang.step,
    )


def innermost(stack: str) -> str:
    """The innermost call of the main thread, without the number of its line; empty when there is none.

    Understands what faulthandler and py-spy write: a line for each thread, and below it a line for each call.
    """
    threads: list[list[str]] = []
    for line in stack.splitlines():
        words = line.strip()
        if words.startswith(_THREAD):
            threads.append([words])
        elif threads and words:
            threads[-1].append(words)
    called = [each for each in threads if len(each) > 1]
    if not called:
        return ""
    main = [each for each in called if "MainThread" in each[0] or each[0].startswith("Current thread")]
    return _LINE_NUMBER.sub("", (main or called)[-1][1])
