"""The traces on which start estimates are judged, and those on which their correction was tuned.

Cases are cuts of the shared traces, or made up from seeds, on clusters so small that jobs wait and estimates are cheap.
Judged and spare cases are chosen by a rule that sees no estimate: a replay without any counts the jobs that wait for a
minute or more, and these must be at least 60 in at least 20 cohorts, the largest of which has at most a fifth of them.
A cohort are the jobs that had begun to wait before the first of them started: nothing can be learnt for one of them
from the others, so they come true or not together. With fewer than 20 of them, or with a larger one, chance decides
whether nine jobs in ten are covered. Cases that are `bursts` have enough jobs but no such cohorts; what becomes of
them is told, but they do not judge.

A case judges once. Whoever changes the correction after a look at judged cases makes them tuned ones, and spare cases
take their place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from benchmarks.policy_cases import RECIPES, Case, Cut, Recipe, cases_of, made_up
from muster.formats.traces.trace_file import read_trace
from muster.model.ids import TeamPath
from muster.model.policy import DAY_MS
from muster.model.records import evolve
from muster.model.trace import RUN_MS_MIN, TraceJob

Jobs = Callable[[Path], Sequence[TraceJob]]


class Role(StrEnum):
    """What a trial is for."""

    TUNED = "tuned"
    JUDGED = "judged"
    BURSTS = "bursts"
    SPARE = "spare"
    FORMERLY = "formerly"
    """Judged earlier versions, so no longer unseen, but nothing was tuned on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Some jobs, the load that their cluster has, a policy, and every how manieth waiting job gets an estimate."""

    jobs: Jobs
    load: float
    policy: str
    every: int
    role: Role


def _from_file(
    folder: Path, *, name: str, first: int = 0, jobs: int | None = None, stretch: int = 1
) -> Sequence[TraceJob]:
    """A part of a trace, of the jobs that run on GPUs for a time; `stretch` times as far apart."""
    counted = [job for job in read_trace(folder / f"{name}.csv.gz").jobs if job.gpu_milli and job.run_ms > RUN_MS_MIN]
    return _stretched(counted[first : None if jobs is None else first + jobs], stretch)


def _of_team(folder: Path, *, place: int, first_day: int, jobs: int) -> Sequence[TraceJob]:
    """Jobs of one virtual cluster of Philly from a day on; the virtual cluster with most jobs has place 0."""
    by_team: dict[TeamPath, list[TraceJob]] = {}
    for job in _from_file(folder, name="philly_4w_600gpu"):
        by_team.setdefault(job.team, []).append(job)
    busiest = sorted(by_team.values(), key=len, reverse=True)
    return [job for job in busiest[place] if job.submit_ms >= first_day * DAY_MS][:jobs]


def _from_recipe(_: Path, *, seed: int, jobs: int | None = None) -> Sequence[TraceJob]:
    return made_up(next(recipe for recipe in RECIPES if recipe.seed == seed))[:jobs]


def _new(_: Path, *, seed: int, durations: str, gangs: Sequence[int], jobs: int, stretch: int) -> Sequence[TraceJob]:
    """Jobs from a seed that no other benchmark uses."""
    recipe = Recipe(seed=seed, durations=durations, jobs=jobs, gangs=gangs, has_days=False, loads=())
    return _stretched(made_up(recipe), stretch)


def _stretched(jobs: Sequence[TraceJob], stretch: int) -> Sequence[TraceJob]:
    return [evolve(job, submit_ms=stretch * job.submit_ms) for job in jobs]


def _trial(jobs: Jobs, load: float, policy: str, every: int, role: Role = Role.TUNED) -> Trial:
    return Trial(jobs=jobs, load=load, policy=policy, every=every, role=role)


WITHIN_A_NODE = (55, 15, 15, 15, 0, 0, 0)
"""Gangs of up to 8 GPUs, most of them small."""
WHOLE_NODES = (30, 10, 15, 30, 15, 0, 0)
"""Gangs of up to 16 GPUs, nearly half of them whole nodes."""
_MURI1 = partial(_from_file, name="muri_trace1")
_MURI3 = partial(_from_file, name="muri_trace3")
_PHILLY = partial(_from_file, name="philly_4w_600gpu")
_GAVEL = partial(_from_file, name="gavel_philly_hetero")
_GAVEL_600 = partial(_GAVEL, jobs=600, stretch=20)
_SMALL_GANGS = partial(_new, gangs=WITHIN_A_NODE)
_LARGE_GANGS = partial(_new, gangs=WHOLE_NODES)
_NEW_LOGNORMAL = partial(_SMALL_GANGS, durations="lognormal", stretch=20)
_NEW_PARETO = partial(_LARGE_GANGS, durations="pareto", stretch=3)
_NEW_TWO_MODES = partial(_SMALL_GANGS, durations="bimodal", jobs=1_200, stretch=20)
_UNIFORM = {"durations": "uniform", "jobs": 600, "stretch": 20}
_EXPONENTIAL = {"durations": "exponential", "jobs": 600, "stretch": 10}

JUDGED = {
    "gavel_from_400": _trial(partial(_GAVEL_600, first=400), 0.9, "fair", 2, Role.JUDGED),
    "gavel_from_1500": _trial(partial(_GAVEL, first=1_500, jobs=500, stretch=10), 0.9, "fair", 2, Role.JUDGED),
    "gavel_from_7200": _trial(partial(_GAVEL_600, first=7_200), 0.85, "fair", 2, Role.JUDGED),
    "gavel_from_9600": _trial(partial(_GAVEL_600, first=9_600), 1.0, "fair", 2, Role.JUDGED),
    "pareto_74": _trial(
        partial(_SMALL_GANGS, seed=74, durations="pareto", jobs=2_000, stretch=1), 1.2, "fair", 6, Role.JUDGED
    ),
    "uniform_75": _trial(partial(_LARGE_GANGS, seed=75, **_UNIFORM), 1.1, "fair", 3, Role.JUDGED),
    "exponential_86": _trial(partial(_LARGE_GANGS, seed=86, **_EXPONENTIAL), 0.8, "fair", 1, Role.JUDGED),
    "lognormal_82": _trial(
        partial(_SMALL_GANGS, seed=82, durations="lognormal", jobs=1_500, stretch=20), 1.0, "fair", 5, Role.JUDGED
    ),
    "two_modes_83": _trial(
        partial(_SMALL_GANGS, seed=83, durations="bimodal", jobs=1_200, stretch=10), 0.9, "fair", 4, Role.JUDGED
    ),
}
BURSTS = {
    "philly_from_36000": _trial(partial(_PHILLY, first=36_000, jobs=1_000), 1.5, "fair", 5, Role.BURSTS),
    "gavel_from_10500": _trial(partial(_GAVEL_600, first=10_500), 1.2, "fair", 2, Role.BURSTS),
    "gavel_from_4000": _trial(partial(_GAVEL_600, first=4_000), 1.2, "fair", 2, Role.BURSTS),
    "gavel_from_8000": _trial(partial(_GAVEL_600, first=8_000), 1.0, "fair", 2, Role.BURSTS),
    "philly_eighth_team": _trial(partial(_of_team, place=7, first_day=0, jobs=1_500), 1.2, "fair", 2, Role.BURSTS),
}
SPARE = {
    "two_modes_94": _trial(
        partial(_LARGE_GANGS, seed=94, durations="bimodal", jobs=1_200, stretch=10), 1.0, "fair", 4, Role.SPARE
    ),
    "uniform_96": _trial(partial(_SMALL_GANGS, seed=96, **_UNIFORM), 0.9, "fair", 2, Role.SPARE),
    "lognormal_97": _trial(
        partial(_LARGE_GANGS, seed=97, durations="lognormal", jobs=1_500, stretch=20), 1.0, "fair", 5, Role.SPARE
    ),
    "pareto_98": _trial(
        partial(_SMALL_GANGS, seed=98, durations="pareto", jobs=2_000, stretch=1), 1.2, "fair", 6, Role.SPARE
    ),
    "exponential_99": _trial(partial(_SMALL_GANGS, seed=99, **_EXPONENTIAL), 0.9, "fair", 2, Role.SPARE),
}
TUNED = {
    "gavel_from_2000": _trial(partial(_GAVEL_600, first=2_000), 1.2, "fair", 3),
    "gavel_from_6500": _trial(partial(_GAVEL_600, first=6_500), 0.8, "fair", 2),
    "philly_seventh_team": _trial(partial(_of_team, place=6, first_day=0, jobs=1_500), 1.2, "fair", 2),
    "muri1_later": _trial(partial(_MURI1, first=900, jobs=500), 1.1, "fair", 3),
    "uniform_61": _trial(partial(_SMALL_GANGS, seed=61, **_UNIFORM), 0.9, "fair", 2),
    "lognormal_72": _trial(
        partial(_LARGE_GANGS, seed=72, durations="lognormal", jobs=1_500, stretch=20), 1.0, "fair", 5
    ),
    "two_modes_73": _trial(partial(_LARGE_GANGS, seed=73, durations="bimodal", jobs=1_200, stretch=10), 0.9, "fair", 4),
    "exponential_76": _trial(partial(_LARGE_GANGS, seed=76, **_EXPONENTIAL), 0.8, "fair", 1),
    "two_modes_again": _trial(partial(_NEW_TWO_MODES, seed=52), 1.1, "fair", 1),
    "gavel_late": _trial(partial(_GAVEL_600, first=12_000), 1.2, "fair", 1),
    "gavel_early": _trial(partial(_GAVEL_600, first=3_000), 1.2, "fair", 1),
    "new_pareto": _trial(partial(_NEW_PARETO, seed=54, jobs=1_000), 1.1, "muster", 2),
    "philly_third_team": _trial(partial(_of_team, place=2, first_day=7, jobs=500), 0.9, "fair", 3),
    "gavel_fair": _trial(partial(_GAVEL_600, first=5_000), 1.2, "fair", 1),
    "two_modes": _trial(partial(_NEW_TWO_MODES, seed=22), 1.1, "fair", 1),
    "new_lognormal": _trial(partial(_NEW_LOGNORMAL, seed=43, jobs=2_000), 1.1, "fair", 1),
    "gavel_muster": _trial(partial(_GAVEL_600, first=9_000), 1.1, "muster", 1),
    "lognormal": _trial(partial(_NEW_LOGNORMAL, seed=32, jobs=1_000), 1.1, "fair", 1),
    "pareto": _trial(partial(_NEW_PARETO, seed=34, jobs=1_000), 1.1, "fair", 2),
    "exponential": _trial(
        partial(_LARGE_GANGS, seed=31, durations="exponential", jobs=500, stretch=20), 1.1, "fair", 3
    ),
    "philly_other_team": _trial(partial(_of_team, place=1, first_day=14, jobs=500), 0.9, "fair", 3),
    "muri3_muster": _trial(_MURI3, 1.1, "muster", 1),
    "muri3_fair": _trial(partial(_MURI3, jobs=400), 0.8, "fair", 3),
    "philly_fair": _trial(partial(_PHILLY, jobs=1_000), 4.0, "fair", 6),
    "lognormal_fair": _trial(partial(_from_recipe, seed=11, jobs=1_000), 3.0, "fair", 6),
    "pareto_muster": _trial(partial(_from_recipe, seed=12), 0.9, "muster", 2),
}
FORMERLY = {
    "muri1_muster": _trial(_MURI1, 3.0, "muster", 1, Role.FORMERLY),
    "muri1_fair": _trial(partial(_MURI1, jobs=500), 0.9, "fair", 5, Role.FORMERLY),
    "gavel_start": _trial(partial(_GAVEL, first=1_000, jobs=500), 4.0, "fair", 4, Role.FORMERLY),
    "bimodal_fair": _trial(partial(_from_recipe, seed=13, jobs=1_000), 3.0, "fair", 6, Role.FORMERLY),
}
TRIALS = JUDGED | BURSTS | SPARE | TUNED | FORMERLY


def case_of(name: str, folder: Path) -> Case:
    """The jobs of a trial, counted from the first submission, on a cluster that makes its load what it should be."""
    trial = TRIALS[name]
    jobs = trial.jobs(folder)
    from_zero = tuple(evolve(job, submit_ms=job.submit_ms - jobs[0].submit_ms) for job in jobs)
    return next(cases_of(Cut(name=name, source=name, jobs=from_zero, loads=(trial.load,))))
