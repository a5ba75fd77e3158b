"""Users, job names, tiers and priorities for traces whose source has none.

They are made up from a seed, the same on every machine, and only on request. Durations are never looked at. So a
forecast can learn from made-up names only what the order of the source's jobs reveals.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import TypeVar

from muster.model.ids import TeamPath, TierName
from muster.model.limits import PRIORITY_MAX
from muster.model.policy import DEFAULT_TIERS, HOUR_MS
from muster.model.records import evolve
from muster.model.spec import DEFAULT_PRIORITY, DEFAULT_TIER
from muster.model.trace import Trace, TraceJob

TIER_PERCENTS = (10, 60, 30)
"""The part of the jobs in each default tier, most urgent first."""
USERS_MIN, USERS_MAX = 3, 24
"""Users of one team. How many depends on how many jobs the team has."""
JOBS_PER_USER = 100
SESSION_GAP_MS = HOUR_MS
"""After this long without a job of the team, the user of the next job is drawn anew."""
STAY_CHANCE = 0.8
"""The chance that the user who submitted a team's last job also submits the next, without a new draw."""
AGAIN_CHANCE = 0.75
"""The chance that a user submits the last experiment of this size once more."""
EARLIER_CHANCE = 0.15
"""The chance that it is any earlier experiment instead. Otherwise it is a new one."""
OWN_TIER_CHANCE = 0.5
"""The chance that an experiment has the tier that its user mostly uses."""
PRIORITY_SPREAD = 20
KINDS = ("train", "tune", "eval", "sweep", "debug", "ablate")

T = TypeVar("T")


def with_made_up(trace: Trace, seed: int, *, users: bool = True, tiers: bool = True) -> Trace:
    """The trace with everything filled in that its source leaves out, always the same for one seed.

    `users` gives a user and a job name to each job without one. `tiers` gives tiers if the whole trace has only the
    default tier, and priorities if it has only the default priority. Both depend on user and job name, so that a job
    submitted again keeps them.
    """
    jobs = trace.jobs
    if users:
        jobs = _with_users(jobs, seed)
    if tiers:
        jobs = _with_tiers(jobs, seed)
    return evolve(trace, jobs=jobs)


@dataclass(slots=True)
class _Person:
    """What one user has submitted so far."""

    experiments: int = 0
    names_by_size: dict[int, list[str]] = field(default_factory=dict)
    """Names by GPU thousandths. The name used last is at the end."""

    def next_name(self, gpu_milli: int, chance: Random) -> str:
        """An experiment of this size: the last one again, an earlier one, or a new one."""
        known = self.names_by_size.setdefault(gpu_milli, [])
        draw = chance.random()
        if known and draw < AGAIN_CHANCE:
            return known[-1]
        if known and draw < AGAIN_CHANCE + EARLIER_CHANCE:
            name = known.pop(_place(len(known), chance))
        else:
            self.experiments += 1
            name = f"{KINDS[_place(len(KINDS), chance)]}-{self.experiments}"
        known.append(name)
        return name


class _Office:
    """The users of one team. A few users submit most jobs, and a user goes on submitting for a while."""

    def __init__(self, team: TeamPath, jobs: int, seed: int) -> None:
        self._chance = Random(f"{seed}/users/{team}")
        size = min(USERS_MAX, max(USERS_MIN, jobs // JOBS_PER_USER))
        self._users = [f"{team.replace('/', '.')}-u{number}" for number in range(1, size + 1)]
        self._activity = [1 / rank for rank in range(1, size + 1)]
        self._people: dict[str, _Person] = {}
        self._present = ""
        self._last_ms = 0

    def filled(self, job: TraceJob) -> TraceJob:
        """The job with the user and the name it lacks."""
        user = job.user or self._next_user(job.submit_ms)
        person = self._people.setdefault(user, _Person())
        return evolve(job, user=user, name=job.name or person.next_name(job.gpu_milli, self._chance))

    def _next_user(self, submit_ms: int) -> str:
        in_session = self._present and submit_ms - self._last_ms < SESSION_GAP_MS
        if not (in_session and self._chance.random() < STAY_CHANCE):
            self._present = _weighted(self._users, self._activity, self._chance)
        self._last_ms = submit_ms
        return self._present


class _Habits:
    """Which tier and priority each experiment of each user has."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._tier_by_user: dict[str, TierName] = {}
        self._by_experiment: dict[str, tuple[TierName, int]] = {}

    def of(self, job: TraceJob) -> tuple[TierName, int]:
        """Tier and priority of a job. A job without a name is an experiment by itself."""
        user = f"{job.team}/{job.user}"
        experiment = f"{user}/{job.name}" if job.name else f"{user}//{job.id}"
        found = self._by_experiment.get(experiment)
        if found is None:
            chance = Random(f"{self._seed}/habits/{experiment}")
            is_own = chance.random() < OWN_TIER_CHANCE
            tier = self._own_tier(user) if is_own else _any_tier(chance)
            found = self._by_experiment[experiment] = (tier, _any_priority(chance))
        return found

    def _own_tier(self, user: str) -> TierName:
        if user not in self._tier_by_user:
            self._tier_by_user[user] = _any_tier(Random(f"{self._seed}/tier/{user}"))
        return self._tier_by_user[user]


def _with_users(jobs: Sequence[TraceJob], seed: int) -> tuple[TraceJob, ...]:
    count_by_team: dict[TeamPath, int] = {}
    for job in jobs:
        count_by_team[job.team] = count_by_team.get(job.team, 0) + 1
    offices = {team: _Office(team, count, seed) for team, count in count_by_team.items()}
    return tuple(job if job.user and job.name else offices[job.team].filled(job) for job in jobs)


def _with_tiers(jobs: tuple[TraceJob, ...], seed: int) -> tuple[TraceJob, ...]:
    """Fill in tiers or priorities where all jobs have the default. Other values in the source are left alone."""
    no_tiers = all(job.tier == DEFAULT_TIER for job in jobs)
    no_priorities = all(job.priority == DEFAULT_PRIORITY for job in jobs)
    if not (no_tiers or no_priorities):
        return jobs
    habits = _Habits(seed)
    drawn = ((job, *habits.of(job)) for job in jobs)
    return tuple(
        evolve(job, tier=tier if no_tiers else job.tier, priority=priority if no_priorities else job.priority)
        for job, tier, priority in drawn
    )


def _any_tier(chance: Random) -> TierName:
    return _weighted([tier.name for tier in DEFAULT_TIERS], TIER_PERCENTS, chance)


def _any_priority(chance: Random) -> int:
    """A priority: most are close to the default, few are far from it."""
    spread = sum(chance.random() for _ in range(3)) * 2 / 3 - 1
    return max(0, min(PRIORITY_MAX, DEFAULT_PRIORITY + round(spread * PRIORITY_SPREAD)))


def _weighted(values: Sequence[T], weights: Iterable[float], chance: Random) -> T:
    """One of the values. Only `random` of `Random` is used: only it stays the same in all versions of Python."""
    ends = list(accumulate(weights))
    draw = chance.random() * ends[-1]
    return next((value for value, end in zip(values, ends, strict=True) if draw < end), values[-1])


def _place(count: int, chance: Random) -> int:
    return int(chance.random() * count)
