"""How many jobs of each team were told to leave within the last hour, which is what limits how often that happens."""

from bisect import bisect_right

from muster.model.ids import TeamPath
from muster.model.policy import HOUR_MS


class RecentPreemptions:
    """The moments of the last hour, by team."""

    def __init__(self) -> None:
        self._at_ms: dict[TeamPath, list[int]] = {}
        """In order, as all events are."""

    @classmethod
    def of(cls, record: tuple[tuple[TeamPath, tuple[int, ...]], ...]) -> "RecentPreemptions":
        """Those that were recorded."""
        made = cls()
        made._at_ms = {team: list(times) for team, times in record}
        return made

    def record(self) -> tuple[tuple[TeamPath, tuple[int, ...]], ...]:
        """All moments that are remembered, by team."""
        return tuple((team, tuple(times)) for team, times in self._at_ms.items())

    def add(self, team: TeamPath, now_ms: int, count: int = 1) -> None:
        """So many jobs of a team were told to leave."""
        self._at_ms[team] = [*self._within_the_hour(self._at_ms.get(team, []), now_ms), *[now_ms] * count]

    def count(self, team: TeamPath, now_ms: int) -> int:
        """How many of a team were told in the last hour."""
        times = self._at_ms.get(team)
        return 0 if times is None else len(times) - bisect_right(times, now_ms - HOUR_MS)

    def counts(self, now_ms: int) -> tuple[tuple[TeamPath, int], ...]:
        """The same for every team that lost any, by name."""
        return tuple((team, count) for team in sorted(self._at_ms) if (count := self.count(team, now_ms)))

    def limits_end_ms(self, most: int, now_ms: int) -> list[int]:
        """When each team that lost as many as it may in an hour can lose the next one."""
        recent = [self._within_the_hour(times, now_ms) for times in self._at_ms.values()]
        return [times[len(times) - most] + HOUR_MS for times in recent if 0 < most <= len(times)]

    def _within_the_hour(self, times: list[int], now_ms: int) -> list[int]:
        return times[bisect_right(times, now_ms - HOUR_MS) :]
