"""What was used and wanted over time: the sum of the gauges over each minute, ten minutes, hour and day.

Sums are whole numbers, such as GPU thousandths times milliseconds, so nothing is lost or counted twice: the buckets of
a coarse step are the sums of the fine ones. Fine buckets are dropped first. A full bucket is kept as one text, because
there are thousands of them and few are ever read.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from muster.model.saved_state import BucketsRecord, HistoryRecord
from muster.views.gauges import Gauge, Key

HISTORY_STEPS_MS = (60_000, 600_000, 3_600_000, 86_400_000)
"""How finely the history is kept: a minute, ten minutes, an hour, a day. Each is a multiple of the one before."""

HISTORY_KEPT = (720, 1_152, 1_488, 1_462)
"""How many buckets of each step are kept: twelve hours, eight days, two months, four years."""

HISTORY_TEAMS = 100
"""Teams with a history of their own in one bucket, those with the most first. The others share one name."""

OTHERS = "(others)"
"""The common name of all teams beyond the `HISTORY_TEAMS` largest."""

_OF_TEAMS = (Gauge.TEAM_USED, Gauge.TEAM_BORROWED, Gauge.TEAM_WAITING, Gauge.TEAM_COST)
_ROWS = msgspec.json.Decoder(list[tuple[str, str, str, int]])


class Bucket(NamedTuple):
    """The sums over one step of time."""

    start_ms: int
    sums: Mapping[Key, int]


class _Buckets:
    """All buckets of one step."""

    def __init__(self, step_ms: int, kept: int) -> None:
        self.step_ms = step_ms
        self.start_ms = 0
        """When the bucket begins that is being filled."""
        self.open: Counter[Key] = Counter()
        self.closed: deque[tuple[int, str]] = deque(maxlen=kept)

    def fill(self, sums: Mapping[Key, int], at_ms: int) -> None:
        """Add sums that belong to the bucket at `at_ms`."""
        self.start_ms = at_ms - at_ms % self.step_ms
        _merge(self.open, sums)

    def close(self) -> Mapping[Key, int]:
        """Keep the full bucket and begin the next. Returns its sums."""
        full = _largest_teams(self.open)
        self.closed.append((self.start_ms, _text(full)))
        self.open = Counter()
        self.start_ms += self.step_ms
        return full

    def fork(self, since_ms: int) -> "_Buckets":
        """A copy to read from, of what is not older."""
        copy = _Buckets(self.step_ms, self.closed.maxlen or 0)
        copy.start_ms, copy.open = self.start_ms, self.open.copy()
        copy.closed.extend(each for each in self.closed if each[0] + self.step_ms > since_ms)
        return copy


class UsageHistory:
    """The sums until `at_ms`. Time only goes forward."""

    def __init__(self, record: HistoryRecord | None = None) -> None:
        self.at_ms: int | None = None if record is None else record.at_ms
        """None before the first moment."""
        self._levels = [_Buckets(step, kept) for step, kept in zip(HISTORY_STEPS_MS, HISTORY_KEPT, strict=True)]
        for level, saved in zip(self._levels, () if record is None else record.buckets, strict=False):
            level.start_ms = saved.start_ms
            level.open = Counter({(row[0], row[1], row[2]): row[3] for row in saved.open})
            level.closed.extend(saved.closed)

    def record(self) -> HistoryRecord | None:
        """All of it as plain values; None before the first moment."""
        if self.at_ms is None:
            return None
        return HistoryRecord(
            at_ms=self.at_ms,
            buckets=tuple(
                BucketsRecord(start_ms=level.start_ms, open=_rows(level.open), closed=tuple(level.closed))
                for level in self._levels
            ),
        )

    def pass_until(self, at_ms: int, gauges: Mapping[Key, int]) -> None:
        """Time passes while the gauges stay as they are."""
        if self.at_ms is None:
            self.at_ms = at_ms
        while self.at_ms < at_ms:
            place = self._coarsest_whole(self.at_ms, at_ms)
            step_ms = self._levels[place].step_ms
            end_ms = min(at_ms, self.at_ms - self.at_ms % step_ms + step_ms)
            span_ms = end_ms - self.at_ms
            self._levels[place].fill({key: amount * span_ms for key, amount in gauges.items()}, self.at_ms)
            self.at_ms = end_ms
            self._close_full(place, end_ms)

    def note_start(self, tier: str, waited_ms: int) -> None:
        """A job has started for the first time, now."""
        if self.at_ms is not None:
            noted: dict[Key, int] = {(Gauge.STARTS, tier, ""): 1, (Gauge.WAITED, tier, ""): waited_ms}
            noted[Gauge.LONGEST_WAIT, tier, ""] = waited_ms
            self._levels[0].fill(noted, self.at_ms)

    def fork(self, since_ms: int) -> "UsageHistory":
        """A copy to read from, of what is not older."""
        copy = UsageHistory()
        copy.at_ms = self.at_ms
        copy._levels = [level.fork(since_ms) for level in self._levels]
        return copy

    def buckets(self, step_ms: int, since_ms: int) -> list[Bucket]:
        """The buckets of a step from the one that holds `since_ms`, oldest first; the last is not full yet."""
        place = HISTORY_STEPS_MS.index(step_ms)
        level = self._levels[place]
        found = [Bucket(start, _sums(text)) for start, text in level.closed if start + step_ms > since_ms]
        present: Counter[Key] = Counter()
        start_ms = 0
        for finer in (each for each in self._levels[: place + 1] if each.open):
            _merge(present, finer.open)
            start_ms = max(start_ms, finer.start_ms - finer.start_ms % step_ms)
        return [*found, Bucket(start_ms, present)] if present else found

    def _coarsest_whole(self, from_ms: int, until_ms: int) -> int:
        """The level whose whole bucket begins here and is so old at `until_ms` that no finer one would be kept."""
        for place in range(len(self._levels) - 1, 0, -1):
            step_ms, finer = self._levels[place].step_ms, self._levels[place - 1]
            oldest_ms = until_ms - finer.step_ms * (finer.closed.maxlen or 0)
            if from_ms % step_ms == 0 and from_ms + step_ms <= oldest_ms:
                return place
        return 0

    def _close_full(self, place: int, end_ms: int) -> None:
        """Close the bucket of a level that ends now, and hand its sums on to the next coarser level."""
        for level, coarser in zip(self._levels[place:], [*self._levels[place + 1 :], None], strict=True):
            if end_ms % level.step_ms:
                return
            full = level.close()
            if coarser is not None:
                coarser.fill(full, end_ms - 1)


def _merge(into: Counter[Key], sums: Mapping[Key, int]) -> None:
    for key, amount in sums.items():
        if key[0] == Gauge.LONGEST_WAIT:
            into[key] = max(into[key], amount)
        else:
            into[key] += amount


def _largest_teams(sums: Mapping[Key, int]) -> Mapping[Key, int]:
    """The sums with a name for each of the largest teams, and one for all others."""
    teams = {key[1]: sums.get((Gauge.TEAM_USED, key[1], ""), 0) for key in sums if key[0] in _OF_TEAMS}
    if len(teams) <= HISTORY_TEAMS:
        return sums
    named = frozenset(sorted(teams, key=lambda team: (team == OTHERS, -teams[team], team))[:HISTORY_TEAMS])
    found: Counter[Key] = Counter()
    for key, amount in sums.items():
        is_other = key[0] in _OF_TEAMS and key[1] not in named
        found[(key[0], OTHERS, "") if is_other else key] += amount
    return found


def _rows(sums: Mapping[Key, int]) -> tuple[tuple[str, str, str, int], ...]:
    return tuple((*key, amount) for key, amount in sorted(sums.items()))


def _text(sums: Mapping[Key, int]) -> str:
    return msgspec.json.encode(_rows(sums)).decode()


def _sums(text: str) -> Mapping[Key, int]:
    return {(measure, one, other): amount for measure, one, other, amount in _ROWS.decode(text)}
