"""How many jobs of each team were told to leave within the last hour. The policy limits this number."""

from bisect import bisect_right

from muster.model.ids import TeamPath
from muster.model.policy import HOUR_MS


class RecentPreemptions:
    """The times of preemptions in the last hour, by team."""

    def __init__(self) -> None:
        self._at_ms: dict[TeamPath, list[int]] = {}
        """In ascending order, because events come in order."""

    @classmethod
    def of(cls, record: tuple[tuple[TeamPath, tuple[int, ...]], ...]) -> "RecentPreemptions":
        """The times that were recorded."""
        made = cls()
        made._at_ms = {team: list(times) for team, times in record}
        return made

    def record(self) -> tuple[tuple[TeamPath, tuple[int, ...]], ...]:
        """All times that are remembered, by team."""
        return tuple((team, tuple(times)) for team, times in self._at_ms.items())

    def add(self, team: TeamPath, now_ms: int, count: int = 1) -> None:
        """`count` jobs of a team were told to leave."""
        self._at_ms[team] = [*self._within_the_hour(self._at_ms.get(team, []), now_ms), *[now_ms] * count]

    def count(self, team: TeamPath, now_ms: int) -> int:
        """How many jobs of a team were told to leave in the last hour."""
        times = self._at_ms.get(team)
        return 0 if times is None else len(times) - bisect_right(times, now_ms - HOUR_MS)

    def counts(self, now_ms: int) -> tuple[tuple[TeamPath, int], ...]:
        """The same for every team with at least one, sorted by name."""
        return tuple((team, count) for team in sorted(self._at_ms) if (count := self.count(team, now_ms)))

    def limits_end_ms(self, most: int, now_ms: int) -> list[int]:
        """For each team that has reached `most` preemptions in an hour: when it may lose the next job."""
        recent = [self._within_the_hour(times, now_ms) for times in self._at_ms.values()]
        return [times[len(times) - most] + HOUR_MS for times in recent if 0 < most <= len(times)]

    def may_lose_ms(self, team: TeamPath, jobs: int, most: int, now_ms: int, told: int = 0) -> int | None:
        """When a team may lose so many jobs at once; None when `most` in an hour are too few for that.

        `told` counts jobs that are told to leave now and are not remembered yet.
        """
        times = [*self._within_the_hour(self._at_ms.get(team, []), now_ms), *[now_ms] * told]
        too_many = len(times) + jobs - most
        if jobs > most:
            return None
        return times[too_many - 1] + HOUR_MS if too_many > 0 else now_ms

    def _within_the_hour(self, times: list[int], now_ms: int) -> list[int]:
        return times[bisect_right(times, now_ms - HOUR_MS) :]
