"""What was used over time, in buckets that end where the next begins."""

from muster.views.gauges import COVERED, Gauge, Key
from muster.views.history import HISTORY_KEPT, HISTORY_STEPS_MS, HISTORY_TEAMS, OTHERS, UsageHistory

MINUTE_MS, TEN_MS, HOUR_MS, DAY_MS = HISTORY_STEPS_MS
USED: Key = (Gauge.USED, "main", "standard")


def test_a_use_is_divided_at_the_full_minute() -> None:
    history = UsageHistory()
    history.pass_until(30_000, {})
    history.pass_until(90_000, {USED: 2})
    assert [(each.start_ms, each.sums[USED]) for each in history.buckets(MINUTE_MS, 0)] == [
        (0, 60_000),
        (MINUTE_MS, 60_000),
    ]
    assert [each.sums[USED] for each in history.buckets(DAY_MS, 0)] == [120_000]


def test_what_is_older_than_asked_for_is_left_out() -> None:
    history = UsageHistory()
    history.pass_until(0, {})
    history.pass_until(10 * MINUTE_MS, {COVERED: 1})
    assert [each.start_ms for each in history.buckets(MINUTE_MS, 8 * MINUTE_MS + 1)] == [8 * MINUTE_MS, 9 * MINUTE_MS]


def test_each_step_keeps_as_much_as_it_may_and_no_more() -> None:
    history = UsageHistory()
    history.pass_until(0, {})
    for day in range(100):
        history.pass_until((day + 1) * DAY_MS, {COVERED: 1})
    kept = [len(history.buckets(step_ms, 0)) for step_ms in HISTORY_STEPS_MS]
    assert kept == [*HISTORY_KEPT[:3], 100]


def test_a_long_silence_costs_no_more_than_what_is_kept_of_it_and_is_wholly_counted() -> None:
    slowly, at_once = UsageHistory(), UsageHistory()
    for history in (slowly, at_once):
        history.pass_until(12_345, {})
    for hour in range(24 * 40):
        slowly.pass_until(hour * HOUR_MS + 20_000, {USED: 3})
    at_once.pass_until((24 * 40 - 1) * HOUR_MS + 20_000, {USED: 3})
    assert slowly.record() == at_once.record()


def test_the_longest_wait_of_an_hour_is_the_longest_of_its_minutes() -> None:
    history = UsageHistory()
    history.pass_until(0, {})
    for waited_ms in (5, 70, 6):
        history.note_start("standard", waited_ms)
        history.pass_until((history.at_ms or 0) + MINUTE_MS, {COVERED: 1})
    (hour,) = history.buckets(HOUR_MS, 0)
    of = {key[0]: amount for key, amount in hour.sums.items()}
    assert of == {Gauge.COVERED: 3 * MINUTE_MS, Gauge.STARTS: 3, Gauge.WAITED: 81, Gauge.LONGEST_WAIT: 70}


def test_a_start_at_the_full_minute_belongs_to_the_minute_that_begins() -> None:
    history = UsageHistory()
    history.pass_until(0, {})
    history.pass_until(MINUTE_MS, {COVERED: 1})
    history.note_start("standard", 7)
    assert [each.start_ms for each in history.buckets(MINUTE_MS, 0)] == [0, MINUTE_MS]
    assert history.buckets(MINUTE_MS, 0)[1].sums[Gauge.STARTS, "standard", ""] == 1


def test_a_start_before_the_first_moment_is_not_counted() -> None:
    history = UsageHistory()
    history.note_start("standard", 7)
    assert (history.buckets(MINUTE_MS, 0), history.record()) == ([], None)


def test_small_teams_of_very_many_share_a_name_and_the_sum_stays() -> None:
    teams: dict[Key, int] = {(Gauge.TEAM_USED, f"t{number:03}", ""): number + 1 for number in range(HISTORY_TEAMS + 20)}
    history = UsageHistory()
    history.pass_until(0, {})
    history.pass_until(MINUTE_MS, teams)
    (minute,) = history.buckets(MINUTE_MS, 0)
    assert len(minute.sums) == HISTORY_TEAMS + 1
    assert minute.sums[Gauge.TEAM_USED, OTHERS, ""] == sum(range(1, 21)) * MINUTE_MS
    assert sum(minute.sums.values()) == sum(teams.values()) * MINUTE_MS


def test_it_goes_on_from_its_record_as_if_it_had_not_been_saved() -> None:
    one = UsageHistory()
    one.pass_until(1, {})
    one.pass_until(3 * HOUR_MS + 5, {USED: 2})
    other = UsageHistory(one.record())
    for history in (one, other):
        history.pass_until(5 * HOUR_MS, {USED: 1})
    assert one.record() == other.record()
