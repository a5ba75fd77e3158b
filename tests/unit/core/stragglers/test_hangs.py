"""Whether a training stands still, since when, and which ranks the others wait for."""

import pytest

from muster.core.stragglers.hangs import (
    FIRST_STEP_MS,
    HANG_MIN_MS,
    SAVING_MS,
    SILENT_MS,
    UNKNOWN_STEP_MS,
    HangWatch,
    blamed,
    innermost,
)
from muster.model.ids import NodeName
from muster.model.telemetry import Hang, RankProgress
from tests.unit.core.stragglers.builders import a_report

STEP_US = 100_000
LONG_AGO_MS = -FIRST_STEP_MS


class Watched:
    """Four ranks, as they are seen each second."""

    def __init__(self, *, p50_us: int = STEP_US, started_ms: int = LONG_AGO_MS) -> None:
        self.watch, self.p50_us, self.now_ms = HangWatch(started_ms), p50_us, 0
        self.ranks: dict[int, RankProgress] = {rank: a_report(rank) for rank in range(4)}
        self.heard_ms = dict.fromkeys(range(4), 0)
        self.silent: tuple[int, ...] = ()

    def shows(self, *reports: RankProgress) -> "Watched":
        self.ranks |= {each.rank: each for each in reports}
        return self

    def after(self, span_ms: int) -> Hang | None:
        self.now_ms += span_ms
        self.heard_ms |= {rank: self.now_ms for rank in self.ranks if rank not in self.silent}
        self.watch.look(self.ranks, self.heard_ms, self.p50_us, self.now_ms)
        return self.watch.hang


def test_no_step_for_the_shortest_time_is_a_hang_of_all_ranks_that_are_equally_far() -> None:
    seen = Watched()
    assert seen.after(0) is None
    assert seen.after(HANG_MIN_MS - 1) is None
    assert seen.after(1) == Hang(since_ms=0, ranks=(0, 1, 2, 3), step=10)


def test_a_rank_that_is_behind_is_the_one_that_the_others_wait_for() -> None:
    seen = Watched().shows(a_report(2, step=9))
    seen.after(0)
    assert seen.after(HANG_MIN_MS) == Hang(since_ms=0, ranks=(2,), nodes=(NodeName("n2"),), step=10)


def test_a_rank_that_is_silent_is_to_blame_as_well() -> None:
    seen = Watched()
    seen.after(0)
    seen.silent = (1,)
    hang = seen.after(HANG_MIN_MS)
    assert hang is not None
    assert hang.ranks == (1,)


def test_while_all_ranks_are_silent_nothing_is_known() -> None:
    seen = Watched()
    seen.after(0)
    seen.silent = (0, 1, 2, 3)
    assert seen.after(10 * HANG_MIN_MS) is None
    assert SILENT_MS < HANG_MIN_MS


def test_long_steps_may_take_longer() -> None:
    seen = Watched(p50_us=60_000_000)
    seen.after(0)
    assert seen.after(7 * 60_000) is None
    assert seen.after(60_000) is not None


def test_a_step_ends_a_hang_and_such_a_pause_is_allowed_from_then_on() -> None:
    seen = Watched()
    seen.after(0)
    assert seen.after(HANG_MIN_MS) is not None
    assert seen.after(HANG_MIN_MS) is not None
    assert seen.shows(a_report(0, step=11)).after(0) is None
    assert seen.after(3 * HANG_MIN_MS) is None
    assert seen.after(HANG_MIN_MS) is not None


def test_ranks_that_begin_anew_at_an_older_step_move() -> None:
    seen = Watched()
    seen.after(0)
    assert seen.after(HANG_MIN_MS) is not None
    assert seen.shows(*(a_report(rank, step=2) for rank in range(4))).after(0) is None


def test_a_rank_that_saves_gets_more_time() -> None:
    seen = Watched().shows(a_report(0, is_saving=True))
    seen.after(0)
    assert seen.after(SAVING_MS - 1) is None
    assert seen.after(1) is not None


def test_the_first_step_gets_more_time_counted_from_the_start_of_the_attempt() -> None:
    seen = Watched(p50_us=0, started_ms=0)
    seen.after(0)
    assert seen.after(FIRST_STEP_MS - 1) is None
    assert seen.after(1) is not None


def test_a_training_whose_steps_were_not_seen_gets_more_time_also_later() -> None:
    seen = Watched(p50_us=0)
    seen.after(0)
    assert seen.after(UNKNOWN_STEP_MS - 1) is None
    assert seen.after(1) is not None


def test_ranks_that_are_done_are_not_waited_for() -> None:
    seen = Watched().shows(*(a_report(rank, is_closed=True) for rank in range(4)))
    seen.after(0)
    assert seen.after(10 * HANG_MIN_MS) is None
    other = Watched().shows(*(a_report(rank, is_closed=True) for rank in range(3)))
    other.after(0)
    hang = other.after(HANG_MIN_MS)
    assert hang is not None
    assert hang.ranks == (3,)


def test_a_hang_that_was_found_before_stays_until_a_later_step() -> None:
    known = Hang(since_ms=-5, ranks=(2,), step=10)
    seen = Watched().shows(*(a_report(rank, step=9) for rank in range(4)))
    seen.watch.presume(known)
    assert seen.after(0) == known
    assert seen.shows(a_report(0, step=10)).after(1_000) == known
    assert seen.shows(a_report(0, step=11)).after(1_000) is None


WAITING = 'Thread 1\n  File "distributed.py", line 90 in all_reduce\n  File "train.py", line 7 in main\n'
STUCK = 'Thread 1\n  File "loader.py", line 12 in read\n  File "train.py", line 5 in main\n'
NODES = {rank: NodeName(f"n{rank}") for rank in range(4)}
ALL = Hang(since_ms=0, ranks=(0, 1, 2, 3), step=7)


def test_the_rank_that_stands_elsewhere_than_the_others_is_to_blame() -> None:
    stacks = {0: WAITING, 1: STUCK, 2: WAITING, 3: WAITING.replace("90", "91")}
    assert blamed(ALL, stacks, NODES) == Hang(since_ms=0, ranks=(1,), nodes=(NodeName("n1"),), step=7)


def test_a_rank_that_cannot_say_where_it_stands_is_to_blame() -> None:
    found = blamed(ALL, {0: WAITING, 1: WAITING, 3: WAITING}, {})
    assert (found.ranks, found.nodes) == ((2,), ())


@pytest.mark.parametrize(
    "stacks",
    [
        {},
        dict.fromkeys(range(4), WAITING),
        {0: WAITING, 1: STUCK, 2: WAITING, 3: STUCK},
    ],
)
def test_nobody_is_blamed_when_stacks_do_not_tell(stacks: dict[int, str]) -> None:
    assert blamed(ALL, stacks, NODES) == ALL


def test_steps_tell_more_than_stacks() -> None:
    known = Hang(since_ms=0, ranks=(3,), nodes=(NodeName("n3"),), step=7)
    assert blamed(known, {0: WAITING, 1: STUCK, 2: WAITING, 3: WAITING}, NODES) == known


FAULTHANDLER = """Thread 0x0000700 (most recent call first):
  File "threading.py", line 331 in wait

Current thread 0x0000712 (most recent call first):
  File "distributed.py", line 90 in all_reduce
  File "train.py", line 7 in <module>
"""
PY_SPY = """Process 12: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 12 (idle): "MainThread"
    all_reduce (distributed.py:90)
    <module> (train.py:7)
Thread 15 (idle): "writer"
    wait (threading.py:331)
"""


@pytest.mark.parametrize(
    ("stack", "call"),
    [
        (FAULTHANDLER, 'File "distributed.py" in all_reduce'),
        (PY_SPY, "all_reduce (distributed.py)"),
        ("Process 12: python train.py\n", ""),
        ("Thread 0x1 (most recent call first):\n", ""),
    ],
)
def test_the_innermost_call_of_the_main_thread_tells_where_a_rank_stands(stack: str, call: str) -> None:
    assert innermost(stack) == call
