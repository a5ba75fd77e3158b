"""Time passes, whatever is done to the wall clock."""

from itertools import pairwise

from muster.live.clock import SystemClock
from muster.model.limits import CLOCK_DRAW_PART

START_MS = 1_800_000_000_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


class Times:
    """A machine with a wall clock that can be set and another that cannot."""

    def __init__(self) -> None:
        self.wall_ms = START_MS
        self.steady_ms = 5_000
        self.clock = self.another_clock()

    def another_clock(self) -> SystemClock:
        return SystemClock(
            wall_ns=lambda: self.wall_ms * 1_000_000,
            steady_ns=lambda: self.steady_ms * 1_000_000,
        )

    def pass_by(self, by_ms: int) -> None:
        self.wall_ms += by_ms
        self.steady_ms += by_ms

    def seen_every_minute(self, minutes: int) -> list[int]:
        """What the clock shows at the end of each of so many minutes."""
        seen = []
        for _ in range(minutes):
            self.pass_by(MINUTE_MS)
            seen.append(self.clock.now_ms())
        return seen


def steps(seen: list[int]) -> list[int]:
    return [after - before for before, after in pairwise(seen)]


def test_it_shows_the_wall_clock_while_that_is_not_set() -> None:
    times = Times()
    assert times.clock.now_ms() == START_MS
    assert times.seen_every_minute(3) == [START_MS + count * MINUTE_MS for count in (1, 2, 3)]


def test_time_does_not_stand_still_when_the_wall_clock_is_set_back() -> None:
    times = Times()
    times.wall_ms -= HOUR_MS
    seen = times.seen_every_minute(60)
    slower = MINUTE_MS - MINUTE_MS // CLOCK_DRAW_PART
    assert steps(seen) == [slower] * 59
    assert seen[0] == START_MS + slower


def test_no_time_is_skipped_when_the_wall_clock_is_set_ahead() -> None:
    times = Times()
    times.wall_ms += HOUR_MS
    assert steps(times.seen_every_minute(60)) == [MINUTE_MS + MINUTE_MS // CLOCK_DRAW_PART] * 59


def test_both_clocks_agree_in_the_end() -> None:
    for step_ms in (-HOUR_MS, HOUR_MS):
        times = Times()
        times.wall_ms += step_ms
        seen = times.seen_every_minute(60 * CLOCK_DRAW_PART)
        assert seen[-2] != times.wall_ms - MINUTE_MS
        assert seen[-1] == times.wall_ms
        assert times.seen_every_minute(1) == [times.wall_ms]


def test_looking_often_changes_nothing() -> None:
    rarely, often = Times(), Times()
    for times in (rarely, often):
        times.wall_ms -= HOUR_MS
    for _ in range(MINUTE_MS):
        often.pass_by(1)
        often.clock.now_ms()
    rarely.pass_by(MINUTE_MS)
    assert often.clock.now_ms() == rarely.clock.now_ms()


def test_a_restart_goes_on_at_the_end_of_the_log() -> None:
    times = Times()
    times.wall_ms -= HOUR_MS
    again = times.another_clock()
    again.not_before(START_MS)
    assert again.now_ms() == START_MS
    times.pass_by(MINUTE_MS)
    assert again.now_ms() == START_MS + MINUTE_MS - MINUTE_MS // CLOCK_DRAW_PART
    again.not_before(START_MS)
    assert again.now_ms() > START_MS


def test_what_others_read_from_the_wall_clock_is_placed_as_long_ago_as_it_was() -> None:
    for step_ms in (-HOUR_MS, 0, HOUR_MS):
        times = Times()
        times.wall_ms += step_ms
        now_ms = times.clock.now_ms()
        assert times.clock.from_wall(times.wall_ms) == now_ms
        assert times.clock.from_wall(times.wall_ms - MINUTE_MS) == now_ms - MINUTE_MS


def test_nothing_is_placed_after_the_present() -> None:
    times = Times()
    assert times.clock.from_wall(times.wall_ms + HOUR_MS) == START_MS


def test_it_asks_this_machine_unless_told_otherwise() -> None:
    clock = SystemClock()
    assert START_MS - 10 * 365 * 24 * HOUR_MS < clock.now_ms() <= clock.now_ms()
