"""The traces on which policies are compared, each with a cluster that makes its load what the name says.

They are cut from the shared traces: weeks, halves and single virtual clusters of Philly, and the two of Muri. Others
are made up from seeds, with other distributions of durations, other gangs, and with or without a rhythm of days.

`TUNED` names the cases on which the constants of the default policy were chosen. A case that is not named there may
still have jobs in common with one that is: a half contains weeks, and a virtual cluster has jobs in every week. So each
case says which part of its jobs was in a tuned one.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log, pi, sin
from pathlib import Path
from random import Random

from muster.formats.rules.cluster_file import cluster_from_text
from muster.formats.traces.trace_file import read_trace
from muster.model.ids import JobId, TeamPath
from muster.model.node import ClusterSpec
from muster.model.policy import DAY_MS
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.trace import RUN_MS_MIN, Trace, TraceJob

LOADS = (0.7, 0.9, 1.1, 1.5, 3.0)
"""GPU time of all jobs over the GPU time of the cluster from the first submission to the last."""
NODE_GPUS = 8
NODES_MIN = 4
"""On fewer nodes all policies do much the same."""
WEEKS = 4
VIRTUAL_CLUSTERS = 6
"""How many teams of Philly are replayed alone, beginning with the one that has most jobs."""
MURI_NODES = 8
"""The cluster for which the authors of Muri chose their traces."""
DAY_S = DAY_MS // 1000
LONGEST_S = 60 * DAY_S
SHORTEST_S = 5
MEAN_GAP_S = 60

TUNED = frozenset(
    {
        *(f"ph_w1_{load:g}" for load in LOADS),
        "muri3",
        "muri3_1.5",
        "ph_vc1_3",
        "ph_vc2_0.9",
        "ph_vc4_0.9",
        "syn_lognormal_1_1",
        "syn_pareto_3_0.9",
        "syn_bimodal_4_1.1",
        "syn_lognormal_7_3",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A trace and the cluster on which it is replayed."""

    name: str
    trace: Trace
    nodes: int
    is_tuned: bool
    known: float = 0.0
    """The part of its jobs that are also in a tuned case, perhaps on a cluster of another size."""

    @property
    def cluster(self) -> ClusterSpec:
        """Nodes that are all alike."""
        return cluster_from_text(f"{self.nodes}x{NODE_GPUS}")

    @property
    def load(self) -> float:
        """The load that whole nodes come to. It is below the wanted one where the largest gang needs more nodes."""
        return _work(self.trace.jobs) / (_span_ms(self.trace.jobs) * self.nodes * NODE_GPUS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Some jobs of one source, and the clusters on which they are replayed."""

    name: str
    source: str
    jobs: tuple[TraceJob, ...]
    loads: tuple[float, ...] = LOADS
    own_nodes: int | None = None
    """The cluster that belongs to the trace, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How jobs are made up."""

    seed: int
    durations: str
    jobs: int
    gangs: Sequence[int]
    """How often gangs of 1, 2, 4 and so on up to 64 GPUs are drawn."""
    has_days: bool
    """More jobs come by day than by night."""
    loads: tuple[float, ...]


GANG_GPUS = (1, 2, 4, 8, 16, 32, 64)
MOSTLY_SINGLE = (60, 10, 10, 12, 5, 2, 1)
MOSTLY_NODES = (20, 10, 15, 30, 15, 8, 2)
MIXED = (40, 10, 20, 20, 6, 3, 1)
SMALL = (50, 15, 15, 15, 4, 1, 0)
RECIPES = (
    Recipe(seed=1, durations="lognormal", jobs=12_000, gangs=MOSTLY_SINGLE, has_days=True, loads=(1.0,)),
    Recipe(seed=2, durations="lognormal", jobs=12_000, gangs=MOSTLY_NODES, has_days=False, loads=(0.9,)),
    Recipe(seed=3, durations="pareto", jobs=12_000, gangs=SMALL, has_days=True, loads=(0.9,)),
    Recipe(seed=4, durations="bimodal", jobs=8_000, gangs=MIXED, has_days=True, loads=(1.1,)),
    Recipe(seed=5, durations="exponential", jobs=6_000, gangs=MIXED, has_days=False, loads=(1.1,)),
    Recipe(seed=6, durations="uniform", jobs=6_000, gangs=MIXED, has_days=True, loads=(0.95,)),
    Recipe(seed=7, durations="lognormal", jobs=6_000, gangs=MOSTLY_SINGLE, has_days=True, loads=(3.0,)),
    Recipe(seed=8, durations="pareto", jobs=8_000, gangs=SMALL, has_days=False, loads=(1.5,)),
    # No job of these was ever in a tuned case, so they are replayed at every load.
    Recipe(seed=11, durations="lognormal", jobs=2_500, gangs=MIXED, has_days=False, loads=LOADS),
    Recipe(seed=12, durations="pareto", jobs=2_500, gangs=MOSTLY_NODES, has_days=True, loads=LOADS),
    Recipe(seed=13, durations="bimodal", jobs=2_500, gangs=SMALL, has_days=False, loads=LOADS),
    Recipe(seed=14, durations="exponential", jobs=2_500, gangs=MOSTLY_SINGLE, has_days=True, loads=LOADS),
    Recipe(seed=15, durations="uniform", jobs=2_500, gangs=MOSTLY_NODES, has_days=False, loads=LOADS),
)


def _bimodal(chance: Random) -> float:
    """Four jobs in five take minutes, the others hours."""
    return chance.lognormvariate(log(120), 1) if chance.random() < 0.8 else chance.lognormvariate(log(21_600), 1)


DURATIONS_S: Mapping[str, Callable[[Random], float]] = {
    "lognormal": lambda chance: chance.lognormvariate(log(900), 2.2),
    "pareto": lambda chance: 60 * chance.paretovariate(0.9),
    "bimodal": _bimodal,
    "exponential": lambda chance: chance.expovariate(1 / 7200),
    "uniform": lambda chance: chance.uniform(600, 36_000),
}


def traces_folder(named: str = "") -> Path:
    """Where the traces are: the folder that is named, or MUSTER_TRACES, or the traces of the tests."""
    return Path(named or os.environ.get("MUSTER_TRACES") or "tests/data")


@cache
def all_cases(folder: Path) -> tuple[Case, ...]:
    """Every case, from the shared traces in a folder and from seeds."""
    pairs = [(cut, case) for cut in _cuts(folder) for case in cases_of(cut)]
    known = {(cut.source, job.id) for cut, case in pairs if case.is_tuned for job in cut.jobs}
    return tuple(_with_known(case, cut, known) for cut, case in pairs)


def _with_known(case: Case, cut: Cut, known: set[tuple[str, JobId]]) -> Case:
    part = sum((cut.source, job.id) in known for job in cut.jobs) / len(cut.jobs)
    return Case(name=case.name, trace=case.trace, nodes=case.nodes, is_tuned=case.is_tuned, known=part)


def cases_of(cut: Cut) -> Iterator[Case]:
    """One case for each size of the cluster. Loads that need the same number of nodes are one case, not two."""
    sizes: dict[int, list[str]] = {}
    if cut.own_nodes is not None:
        sizes[cut.own_nodes] = [cut.name]
    for load in cut.loads:
        sizes.setdefault(nodes_for(cut.jobs, load), []).append(f"{cut.name}_{load:g}")
    for nodes, names in sizes.items():
        is_tuned = not TUNED.isdisjoint(names)
        yield Case(name=names[0], trace=Trace(name=names[0], jobs=cut.jobs), nodes=nodes, is_tuned=is_tuned)


def nodes_for(jobs: Sequence[TraceJob], load: float) -> int:
    """The number of nodes that comes closest to a load, and at least as many as the largest gang needs."""
    wanted = round(_work(jobs) / (_span_ms(jobs) * load * NODE_GPUS))
    largest = max(job.gpu_milli for job in jobs)
    return max(wanted, NODES_MIN, -(-largest // (NODE_GPUS * GPU_MILLI)))


def made_up(recipe: Recipe) -> tuple[TraceJob, ...]:
    """The jobs of a recipe, the same for the same seed."""
    chance, at_s, begin_s = Random(recipe.seed), 0.0, 0.0
    jobs: list[TraceJob] = []
    for number in range(recipe.jobs):
        rate = 1 + (0.8 * sin(2 * pi * at_s / DAY_S) if recipe.has_days else 0)
        at_s += chance.expovariate(1) * MEAN_GAP_S / rate
        begin_s = begin_s if jobs else at_s
        run_s = min(max(DURATIONS_S[recipe.durations](chance), SHORTEST_S), LONGEST_S)
        gpus = chance.choices(GANG_GPUS, recipe.gangs)[0]
        job = TraceJob(
            id=JobId(f"j{number}"),
            submit_ms=round(at_s - begin_s) * 1000,
            run_ms=round(run_s) * 1000,
            gpu_milli=gpus * GPU_MILLI,
            team=TeamPath(f"t{chance.randrange(4)}"),
        )
        jobs.append(job)
    return tuple(jobs)


def _cuts(folder: Path) -> Iterator[Cut]:
    philly = read_trace(folder / "philly_4w_600gpu.csv.gz").jobs
    for week in range(WEEKS):
        yield _philly_cut(f"ph_w{week + 1}", _between(philly, 7 * week, 7 * (week + 1)))
    for half in range(2):
        yield _philly_cut(f"ph_h{half + 1}", _between(philly, 14 * half, 14 * (half + 1)))
    by_team: dict[TeamPath, list[TraceJob]] = {}
    for job in philly:
        by_team.setdefault(job.team, []).append(job)
    busiest = sorted(by_team.values(), key=len, reverse=True)[:VIRTUAL_CLUSTERS]
    for number, jobs in enumerate(busiest):
        yield _philly_cut(f"ph_vc{number}", jobs)
    for number in (1, 3):
        jobs_of_muri = _from_zero(read_trace(folder / f"muri_trace{number}.csv.gz").jobs)
        yield Cut(name=f"muri{number}", source=f"muri{number}", jobs=jobs_of_muri, own_nodes=MURI_NODES)
    for recipe in RECIPES:
        name = f"syn_{recipe.durations}_{recipe.seed}"
        yield Cut(name=name, source=name, jobs=made_up(recipe), loads=recipe.loads)


def _philly_cut(name: str, jobs: Sequence[TraceJob]) -> Cut:
    return Cut(name=name, source="philly", jobs=_from_zero(jobs))


def _between(jobs: Sequence[TraceJob], first_day: int, last_day: int) -> list[TraceJob]:
    return [job for job in jobs if first_day * DAY_MS <= job.submit_ms < last_day * DAY_MS]


def _from_zero(jobs: Sequence[TraceJob]) -> tuple[TraceJob, ...]:
    """The jobs that run on GPUs for a time, counted from the first submission."""
    counted = [job for job in jobs if job.gpu_milli and job.run_ms > RUN_MS_MIN]
    begin_ms = counted[0].submit_ms
    return tuple(evolve(job, submit_ms=job.submit_ms - begin_ms) for job in counted)


def _work(jobs: Sequence[TraceJob]) -> float:
    """GPU time of all jobs in milliseconds."""
    return sum(job.run_ms * job.gpu_milli for job in jobs) / GPU_MILLI


def _span_ms(jobs: Sequence[TraceJob]) -> int:
    return max(jobs[-1].submit_ms - jobs[0].submit_ms, 1)
