"""Whether the default policy keeps what it promises to urgent jobs and to teams, on a few of the cases.

With tiers, jobs of the lower tier leave for production jobs once they have run for the minimum run time, and get a
grace period for that. So the lower tier may cost a production job no more than these two. What production jobs would
wait without any lower tier is measured by replaying them alone.

With quotas, a team that asks for no more than its guarantee gets it after the same time. So this is measured for every
job during whose wait all jobs of its team together stayed inside the guarantee. A team that asks for more must have its
guarantee as well: how long it was below it while a job waited that would have been inside (`below_guarantee`).

Fifo promises neither and is measured for comparison: it shows that these waits do not come out short by themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.below_guarantee import Spell, spells
from benchmarks.policy_cases import NODE_GPUS, Case
from benchmarks.policy_figures import HABITS
from muster.model.ids import TeamPath
from muster.model.limits import MAX_DURATION_MS
from muster.model.policy import DEFAULT_TIERS, Policy
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.spec import DEFAULT_PRIORITY, DEFAULT_TIER, CheckpointSpec
from muster.model.team import ANY_TYPE, Team
from muster.model.trace import Trace, TraceJob
from muster.policies import find_policy
from muster.sim.measures import nearest_rank
from muster.sim.outcome import JobOutcome
from muster.sim.replay import Circumstances, replay
from muster.sim.synthesis import with_made_up

TIERED = ("ph_w2_0.9", "ph_w3_1.5", "muri1_0.9", "syn_exponential_5_1.1", "syn_bimodal_13_1.5")
WITH_QUOTAS = ("ph_w2_0.9", "ph_w3_1.5", "ph_w4_1.1")
POLICIES = ("fifo", "muster")
SEED = 1
PRODUCTION = DEFAULT_TIERS[0].name
TIERS = tuple(tier.name for tier in DEFAULT_TIERS)
ENDED, SUBMITTED, STARTED = range(3)
"""In the order in which they count at one moment."""
GRACE_MS = CheckpointSpec(path="").grace_ms
PROMISED_MS = Policy().min_runtime_ms + GRACE_MS
"""The longest that jobs may stay which have to leave."""
LEAVING = replace(HABITS, leave_ms=GRACE_MS * 3 // 4)
"""Jobs take most of their grace period to leave. If they left at once, no wait could show that they had to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFigures:
    """Waits for the first start of the jobs to which something is promised."""

    case: str
    policy: str
    jobs: int
    p99_wait_s: float
    max_wait_s: float
    p99_beyond_s: float
    """Beyond what the jobs wait without any others. With quotas that is nothing."""
    max_beyond_s: float
    promised_s: float
    longer: int
    """Jobs that waited longer than promised."""
    note: str = ""
    below: "BelowFigures | None" = None
    """Only with quotas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BelowFigures:
    """How long teams were below their guarantee while a job waited that would have been inside it."""

    spells: int
    max_s: float
    longer: int
    """How many lasted longer than promised."""
    again_max_s: float
    """The longest for a job that waits again, which may not preempt."""
    again_longer: int


def names() -> tuple[str, ...]:
    """All variants: `tiers_` or `quotas_` and the name of a case."""
    return (*(f"tiers_{name}" for name in TIERED), *(f"quotas_{name}" for name in WITH_QUOTAS))


def measure(name: str, case: Case, policy: str) -> WaitFigures:
    """Measure one variant of a case under one policy."""
    return production_waits(case, policy) if name.startswith("tiers_") else quota_waits(case, policy)


def production_waits(case: Case, policy: str) -> WaitFigures:
    """How long production jobs wait, and how much longer than if there were no others."""
    trace = two_tiers(case.trace)
    urgent = evolve(trace, jobs=tuple(job for job in trace.jobs if job.tier == PRODUCTION))
    alone_ms = {outcome.job.id: outcome.first_wait_ms or 0 for outcome in _outcomes(case, urgent, policy)}
    waits = [
        (_wait_ms(outcome), alone_ms[outcome.job.id])
        for outcome in _outcomes(case, trace, policy)
        if outcome.job.id in alone_ms
    ]
    note = f"alone they wait up to {max(alone_ms.values()) / 1000:.0f} s"
    return _figures(f"tiers_{case.name}", policy, waits, note)


def quota_waits(case: Case, policy: str) -> WaitFigures:
    """How long jobs wait while their team asks for no more than its guarantee."""
    teams = shared_out(case)
    outcomes = _outcomes(case, case.trace, policy, teams)
    waits: list[tuple[int, int]] = []
    below: list[Spell] = []
    always_inside = 0
    for team in teams:
        own = [outcome for outcome in outcomes if outcome.job.team == team.path]
        inside = _inside(own, dict(team.guaranteed)[ANY_TYPE])
        always_inside += len(inside) == len(own)
        waits += [(_wait_ms(outcome), 0) for outcome in inside]
        below += spells(own, dict(team.guaranteed)[ANY_TYPE])
    note = f"of {len(outcomes)} jobs; {always_inside} of {len(teams)} teams always inside"
    return replace(_figures(f"quotas_{case.name}", policy, waits, note), below=_below_figures(below))


def two_tiers(trace: Trace) -> Trace:
    """The trace with production jobs made up from a seed. Priorities are left alone, so that only tiers matter."""
    made = with_made_up(trace, SEED).jobs
    jobs = (
        evolve(job, tier=PRODUCTION if job.tier == PRODUCTION else DEFAULT_TIER, priority=DEFAULT_PRIORITY)
        for job in made
    )
    return evolve(trace, jobs=tuple(jobs))


def shared_out(case: Case) -> tuple[Team, ...]:
    """The teams with guarantees in proportion to their weights, which together are the whole cluster.

    The team with the lowest peak is guaranteed this peak, so that it need never borrow. The others share the rest
    equally. They ask for more than that at times, so they borrow from one another. Their tiers are bound, as they are
    on every server with teams.
    """
    by_team: dict[TeamPath, list[TraceJob]] = {}
    for job in case.trace.jobs:
        by_team.setdefault(job.team, []).append(job)
    peaks = {team: _peak_gpus(jobs) for team, jobs in by_team.items()}
    modest = min(peaks, key=lambda team: (peaks[team], team))
    rest = (case.nodes * NODE_GPUS - peaks[modest]) // max(len(peaks) - 1, 1)
    gpus = {team: peaks[modest] if team == modest else rest for team in sorted(peaks)}
    return tuple(
        Team(path=team, weight=share * GPU_MILLI, guaranteed=((ANY_TYPE, share * GPU_MILLI),), tiers=TIERS)
        for team, share in gpus.items()
    )


def _peak_gpus(jobs: Sequence[TraceJob]) -> int:
    """The most GPUs that the jobs would use at once if all of them started when submitted, and kept them for longer.

    Every job stays as long as a promised wait beyond its end, because it may have had to wait that long.
    """
    changes = [(job.submit_ms, job.gpu_milli) for job in jobs]
    changes += [(job.submit_ms + job.run_ms + PROMISED_MS, -job.gpu_milli) for job in jobs]
    used = peak = 0
    for _, milli in sorted(changes):
        used += milli
        peak = max(peak, used)
    return -(-peak // GPU_MILLI)


def _inside(outcomes: Sequence[JobOutcome], guaranteed_milli: int) -> list[JobOutcome]:
    """The jobs of one team during whose wait the team never asked for more than its guarantee."""
    moments = [(outcome.job.submit_ms, SUBMITTED, place) for place, outcome in enumerate(outcomes)]
    moments += [
        (each.first_start_ms, STARTED, place) for place, each in enumerate(outcomes) if each.first_start_ms is not None
    ]
    moments += [(each.end_ms, ENDED, place) for place, each in enumerate(outcomes) if each.end_ms is not None]
    asked_milli = 0
    waiting: dict[int, None] = {}
    inside: list[JobOutcome] = []
    for _, kind, place in sorted(moments):
        if kind == ENDED:
            asked_milli -= outcomes[place].job.gpu_milli
        elif kind == SUBMITTED:
            asked_milli += outcomes[place].job.gpu_milli
            waiting[place] = None
        elif place in waiting:
            inside.append(outcomes[place])
            del waiting[place]
        if asked_milli > guaranteed_milli:
            waiting.clear()
    return inside


def _outcomes(case: Case, trace: Trace, policy: str, teams: tuple[Team, ...] = ()) -> tuple[JobOutcome, ...]:
    return replay(trace, case.cluster, find_policy(policy), Circumstances(habits=LEAVING, teams=teams)).outcomes


def _wait_ms(outcome: JobOutcome) -> int:
    """A job that never started has waited longer than any promise."""
    return MAX_DURATION_MS if outcome.first_wait_ms is None else outcome.first_wait_ms


def _figures(name: str, policy: str, waits: Sequence[tuple[int, int]], note: str) -> WaitFigures:
    """The figures of pairs: how long a job waited, and how long it would have waited without others."""
    in_all = sorted(wait_ms for wait_ms, _ in waits)
    beyond = sorted(max(wait_ms - alone_ms, 0) for wait_ms, alone_ms in waits)
    return WaitFigures(
        case=name,
        policy=policy,
        jobs=len(waits),
        p99_wait_s=nearest_rank(in_all, 99) / 1000,
        max_wait_s=in_all[-1] / 1000,
        p99_beyond_s=nearest_rank(beyond, 99) / 1000,
        max_beyond_s=beyond[-1] / 1000,
        promised_s=PROMISED_MS / 1000,
        longer=sum(each > PROMISED_MS for each in beyond),
        note=note,
    )


def _below_figures(below: Sequence[Spell]) -> BelowFigures:
    first = [spell.length_ms for spell in below if spell.is_first]
    again = [spell.length_ms for spell in below if not spell.is_first]
    return BelowFigures(
        spells=len(below),
        max_s=max(first, default=0) / 1000,
        longer=sum(length_ms > PROMISED_MS for length_ms in first),
        again_max_s=max(again, default=0) / 1000,
        again_longer=sum(length_ms > PROMISED_MS for length_ms in again),
    )
