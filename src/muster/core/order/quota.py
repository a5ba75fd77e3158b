"""How much each team uses, and what the team tree allows: limits, guarantees, borrowing and fair share.

A ledger is cheap to fork, so that a plan charges what it starts to a copy. A team that is not declared has no guarantee
and no limit.
"""

from collections.abc import Iterator
from typing import NamedTuple

from muster.core.cluster.gang import Demand
from muster.core.order.decay import decayed
from muster.model.ids import GpuType, TeamPath
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import ReasonCode
from muster.model.saved_state import TeamUsageRecord
from muster.model.team import ANY_TYPE, Team, ancestors

OWN_JOBS = "/."
"""A team's own jobs are counted apart from those of its sub-teams, so that they compete as one more sub-team."""

LN2_MICRO = 693_147

NANO_PER_MILLI = 1_000_000


def account_of(job: WaitingJob | RunningJob) -> TeamPath:
    """The path that the GPUs of a job are charged to: its team. The limits of this path and of all above it count.

    Whatever else is to have a limit, such as each user of a team, is a path below the team.
    """
    return job.spec.team


def own_jobs(path: TeamPath) -> TeamPath:
    """The name under which a team's own jobs are counted."""
    return TeamPath(path + OWN_JOBS)


LimitShare = tuple[tuple[TeamPath, GpuType], int]
"""A limit, named by its team and GPU type, and how many GPU thousandths of it are used."""


class Breach(NamedTuple):
    """The first limit that a demand would break."""

    team: TeamPath
    gpu_type: GpuType
    limit_milli: int
    used_milli: int
    wanted_milli: int
    code: ReasonCode = ReasonCode.QUOTA_LIMIT
    """What kind of limit it is, as a waiting job is told."""


def remembered(usage: tuple[TeamUsageRecord, ...], half_life_ms: int, now_ms: int) -> tuple[tuple[TeamPath, int], ...]:
    """Decayed GPU-milliseconds of every team that submits jobs itself, from what was recorded earlier."""
    own = sorted((each for each in usage if each.team.endswith(OWN_JOBS) and each.gpu_ms), key=lambda each: each.team)
    return tuple(
        (TeamPath(each.team.removesuffix(OWN_JOBS)), decayed(each.gpu_ms, max(now_ms - each.at_ms, 0), half_life_ms))
        for each in own
    )


def average_gpus_nano(decayed_gpu_ms: int, half_life_ms: int) -> int:
    """How many GPUs a team used on average, by the usage that fair share remembers, in billionths."""
    return decayed_gpu_ms * LN2_MICRO * 1000 // half_life_ms


def share_nano(average_nano: int, used_milli: int, weight: int) -> int:
    """What fair share compares, in billionths: GPUs used on average and GPUs used now, over the weight."""
    return (average_nano + used_milli * NANO_PER_MILLI) * 1000 // max(weight, 1)


class Ledger:
    """Usage per team and GPU type, summed up the team tree."""

    __slots__ = (
        "_averages",
        "_chains",
        "_decayed",
        "_guaranteed",
        "_half_life_ms",
        "_limits",
        "_recorded",
        "_shares",
        "_used",
        "epoch",
        "teams",
    )

    def __init__(self, teams: tuple[Team, ...], half_life_ms: int) -> None:
        self.teams: dict[TeamPath, Team] = {team.path: team for team in teams}
        self._half_life_ms = half_life_ms
        self._chains: dict[TeamPath, tuple[TeamPath, ...]] = {}
        self._used: dict[TeamPath, dict[GpuType, int]] = {}
        self._decayed: dict[TeamPath, tuple[int, int]] = {}
        """GPU time that fair share remembers of each team, and the time at which it had that value."""
        self._recorded: tuple[TeamUsageRecord, ...] | None = None
        """The same as values, cached until usage is added, because it is needed after every write."""
        self._averages: tuple[int, dict[TeamPath, int]] = (0, {})
        self._limits: dict[TeamPath, tuple[tuple[TeamPath, GpuType, int], ...]] = {}
        self._shares: dict[tuple[TeamPath, Demand], tuple[LimitShare, ...]] = {}
        self._guaranteed = {team.path: dict(team.guaranteed) for team in teams if team.guaranteed}
        self.epoch = 0
        """Counts charges, so that values derived from usage can be cached until usage changes."""

    def chain(self, path: TeamPath) -> tuple[TeamPath, ...]:
        """The teams a job of this team counts against, innermost first: the team's own jobs, itself, its ancestors."""
        known = self._chains.get(path)
        if known is None:
            known = self._chains[path] = (own_jobs(path), *ancestors(path))
        return known

    def fork(self) -> "Ledger":
        """An independent copy that shares what does not change while planning."""
        made = Ledger((), self._half_life_ms)
        made.teams = self.teams
        made._chains = self._chains
        made._used = self._used.copy()
        made._decayed = self._decayed
        made._averages = self._averages
        made._guaranteed = self._guaranteed
        made._limits = self._limits
        made._shares = self._shares
        return made

    def charge(self, path: TeamPath, demand: Demand, sign: int = 1) -> None:
        """Count a gang's GPUs as used by its team and everything above it; sign -1 gives them back."""
        self.epoch += 1
        for team in self.chain(path):
            # The usage of a team is replaced, never changed in place, because forks share it.
            used = self._used[team] = self._used.get(team, {}).copy()
            for gpu_type, milli in demand:
                used[gpu_type] = used.get(gpu_type, 0) + sign * milli

    def used_milli(self, team: TeamPath, gpu_type: GpuType = ANY_TYPE) -> int:
        """What a team and its sub-teams use now."""
        return self._used.get(team, {}).get(gpu_type, 0)

    def breach(self, path: TeamPath, demand: Demand) -> Breach | None:
        """The innermost limit that this demand would break, or None."""
        return next(self.breaches(path, demand), None)

    def breaches(self, path: TeamPath, demand: Demand) -> Iterator[Breach]:
        """All limits that this demand would break, innermost first."""
        for team, gpu_type, limit_milli in self.limits(path):
            for wanted_type, asked in demand:
                if wanted_type == gpu_type:
                    used = self.used_milli(team, gpu_type)
                    if used + asked > limit_milli:
                        yield Breach(team, gpu_type, limit_milli, used, asked)

    def is_over_limit(self, path: TeamPath) -> bool:
        """True when a team, or a team above it, is over a limit, because the limit was lowered while jobs ran."""
        return any(self.used_milli(team, gpu_type) > limit for team, gpu_type, limit in self.limits(path))

    def over_limit(self) -> tuple[TeamPath, ...]:
        """The teams that use more than one of their own limits, in the order of their names."""
        teams = sorted(self.teams.items())
        return tuple(
            path
            for path, team in teams
            if any(self.used_milli(path, gpu_type) > limit_milli for gpu_type, limit_milli in team.limit)
        )

    def limits(self, path: TeamPath) -> tuple[tuple[TeamPath, GpuType, int], ...]:
        """All limits that apply to a team, innermost first."""
        known = self._limits.get(path)
        if known is None:
            known = self._limits[path] = tuple(
                (team, gpu_type, limit_milli)
                for team in self.chain(path)
                if team in self.teams
                for gpu_type, limit_milli in self.teams[team].limit
            )
        return known

    def under_limits(self, path: TeamPath, demand: Demand) -> tuple[LimitShare, ...]:
        """How much of each limit on its team a demand uses. Equal for equal jobs, so it is computed once."""
        known = self._shares.get((path, demand))
        if known is None:
            amounts = dict(demand)
            known = self._shares[(path, demand)] = tuple(
                ((team, gpu_type), amounts[gpu_type]) for team, gpu_type, _ in self.limits(path) if gpu_type in amounts
            )
        return known

    def within_guarantee(self, team: TeamPath, demand: Demand) -> bool:
        """True when a team with this demand added would use no more than it is guaranteed.

        Every guarantee for a wanted GPU type must cover it. Every wanted type needs its own guarantee or the sum `*`.
        """
        guaranteed = self._guaranteed.get(team)
        if guaranteed is None:
            return False
        used = self._used.get(team, {})
        covers_all = ANY_TYPE in guaranteed
        named = False
        for gpu_type, milli in demand:
            covered = guaranteed.get(gpu_type)
            if covered is not None:
                named = True
                if used.get(gpu_type, 0) + milli > covered:
                    return False
            elif gpu_type != ANY_TYPE and not covers_all:
                return False
        return named

    @property
    def shelters(self) -> bool:
        """True where a guarantee comes before a tier: some team has a guarantee, and some team has bounds on its tiers.

        Where every team may use every tier, as in a bare scenario, tiers come before guarantees.
        """
        return self.guarantees_anything and any(team.tiers is not None for team in self.teams.values())

    @property
    def guarantees_anything(self) -> bool:
        """False when no team has a guarantee. Then all usage counts as borrowed, and no team can reclaim it."""
        return bool(self._guaranteed)

    def headroom_milli(self, path: TeamPath) -> int:
        """An upper bound of what a team, or a team above it, can add and stay inside a guarantee."""
        best = 0
        for team in self.guaranteed_above(path):
            guaranteed, used = self._guaranteed[team], self._used.get(team, {})
            left = {gpu_type: milli - used.get(gpu_type, 0) for gpu_type, milli in guaranteed.items()}
            total = sum(max(milli, 0) for gpu_type, milli in left.items() if gpu_type != ANY_TYPE)
            best = max(best, left.get(ANY_TYPE, total))
        return best

    def guaranteed_above(self, path: TeamPath) -> tuple[TeamPath, ...]:
        """The team and the teams above it that have a guarantee, innermost first."""
        return tuple(team for team in self.chain(path) if team in self._guaranteed)

    def is_borrowing(self, team: TeamPath, demand: Demand) -> bool:
        """True when a team uses more than its guarantee of a type in `demand`, or has no guarantee for these types."""
        guaranteed = self._guaranteed.get(team, {})
        used = self._used.get(team, {})
        types = [gpu_type for gpu_type, milli in demand if milli and gpu_type in guaranteed]
        if not types:
            return True
        return any(used.get(gpu_type, 0) > guaranteed[gpu_type] for gpu_type in types)

    def branches(self, one: TeamPath, other: TeamPath) -> tuple[TeamPath, TeamPath] | None:
        """Where two teams part: the topmost ancestor of each that the other does not share; None for the same team."""
        mine, theirs = self.chain(one)[::-1], self.chain(other)[::-1]
        for left, right in zip(mine, theirs, strict=False):
            if left != right:
                return left, right
        return None

    def remember(self, path: TeamPath, gpu_ms: int, now_ms: int) -> None:
        """Add past usage to what fair share remembers, for the team and everything above it."""
        self._averages, self._recorded = (0, {}), None
        for team in self.chain(path):
            self._decayed[team] = (self._decayed_gpu_ms(team, now_ms) + gpu_ms, now_ms)

    def remembered(self, now_ms: int) -> tuple[tuple[TeamPath, int], ...]:
        """Decayed GPU-milliseconds of every team that submits jobs itself, as a scenario states them."""
        return remembered(self.record(), self._half_life_ms, now_ms)

    def record(self) -> tuple[TeamUsageRecord, ...]:
        """What fair share remembers, with the time of the last addition. Decaying it to now would round once more."""
        if self._recorded is None:
            decayed_ms = self._decayed.items()
            self._recorded = tuple(
                TeamUsageRecord(team=team, gpu_ms=ms, at_ms=at_ms) for team, (ms, at_ms) in decayed_ms
            )
        return self._recorded

    def restore(self, usage: tuple[TeamUsageRecord, ...]) -> None:
        """Replace what fair share remembers by what was recorded."""
        self._averages, self._recorded = (0, {}), None
        self._decayed = {each.team: (each.gpu_ms, each.at_ms) for each in usage}

    def _decayed_gpu_ms(self, team: TeamPath, now_ms: int) -> int:
        value, at_ms = self._decayed.get(team, (0, now_ms))
        return decayed(value, now_ms - at_ms, self._half_life_ms) if now_ms > at_ms else value

    def share(self, team: TeamPath, now_ms: int) -> int:
        """What fair share compares: the decayed average of GPUs used plus GPUs used now, divided by the weight."""
        at_ms, averages = self._averages
        if at_ms != now_ms:
            averages = {}
            self._averages = (now_ms, averages)
        average_nano = averages.get(team)
        if average_nano is None:
            average_nano = average_gpus_nano(self._decayed_gpu_ms(team, now_ms), self._half_life_ms)
            averages[team] = average_nano
        declared = self.teams.get(team)
        weight = declared.weight if declared is not None else 1000
        return share_nano(average_nano, self.used_milli(team), weight)
