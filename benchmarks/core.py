"""How fast the core decides: one JSON line per case. Run with `make bench`.

Every case prints processor time and wall time. Processor time is what the code costs, and is comparable on a shared
machine. Growth is measured as a ratio of two sizes in one run, so that the machine's speed cancels out.
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from random import Random
from typing import TypeVar

from benchmarks.carry_out import carry_out, leave
from benchmarks.situations import NOW_MS, busy
from muster.core.explaining.explain import explain_all
from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.compiling import is_compiled
from muster.model.ids import JobId
from muster.model.records import evolve
from muster.model.scenario import Scenario

REPLANS = 300
SETTLING_CYCLES = 200
BEST_OF = 3


T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """The result, processor milliseconds and wall milliseconds of one call.

    Objects made before the call are frozen, as a server freezes its loaded state. Otherwise the collector would walk
    through all jobs again and again because planning allocates.
    """
    gc.collect()
    gc.freeze()
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    gc.unfreeze()
    return result, cpu * 1000, wall * 1000


def report(case: str, **figures: object) -> None:
    """Print one JSON line for people and programs."""
    rounded = {key: round(value, 1) if isinstance(value, float) else value for key, value in figures.items()}
    print(json.dumps({"case": case, "compiled": is_compiled(), **rounded}), flush=True)


def full_plan(nodes: int, waiting: int, *, case: str) -> float:
    """Plan a whole situation from scratch with all features on. The best of a few runs counts."""
    scenario = busy(nodes, waiting)
    figures: list[tuple[float, float]] = []
    for _ in range(BEST_OF):
        snapshot, index_ms, _ = timed(lambda: Snapshot.of(scenario))
        made, cpu_ms, wall_ms = timed(lambda: plan(snapshot, NOW_MS))  # noqa: B023
        figures.append((cpu_ms, wall_ms))
    _, lint_ms, _ = timed(lambda: lint(made, snapshot))
    _, explain_ms, _ = timed(lambda: explain_all(snapshot, made, NOW_MS))
    cpu_ms, wall_ms = min(figures)
    report(
        case,
        nodes=nodes,
        gpus=nodes * 8,
        waiting=waiting,
        running=len(scenario.running),
        plan_cpu_ms=cpu_ms,
        plan_wall_ms=wall_ms,
        index_cpu_ms=index_ms,
        lint_cpu_ms=lint_ms,
        explain_all_cpu_ms=explain_ms,
        starts=len(made.starts),
        evictions=len(made.evictions),
        promises=len(made.promises),
        peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    return cpu_ms


def settled(scenario: Scenario) -> tuple[Snapshot, int]:
    """A snapshot in the steady state: plans are carried out until a plan changes nothing.

    In this state one exit or one submission arrives on a live cluster.
    """
    snapshot = Snapshot.of(scenario)
    now_ms = NOW_MS
    for _ in range(SETTLING_CYCLES):
        made = plan(snapshot, now_ms)
        carry_out(snapshot, made)
        now_ms += 130_000
        leave(snapshot, now_ms)
        if not made.changes_anything:
            break
    return snapshot, now_ms


def replan(nodes: int, waiting: int, *, case: str) -> float:
    """Replan after one exit and after one submission, in turns, carrying out every plan.

    Planning does not change the snapshot, so every event is planned a few times. The best time is what the code costs.
    The first time is what a user of this machine saw at that moment.
    """
    random = Random(7)
    scenario = busy(nodes, waiting)
    snapshot, now_ms = settled(scenario)
    best: list[float] = []
    first: list[float] = []
    for turn in range(REPLANS):
        now_ms += 1_000
        leave(snapshot, now_ms)
        if turn % 2:
            snapshot.finish(random.choice(list(snapshot.running)))
        else:
            model = scenario.waiting[random.randrange(len(scenario.waiting))]
            snapshot.enqueue(evolve(model, id=JobId(f"x{turn:05d}"), submitted_ms=now_ms))
        runs = [timed(lambda: plan(snapshot, now_ms)) for _ in range(BEST_OF)]  # noqa: B023
        best.append(min(cpu_ms for _, cpu_ms, _ in runs))
        first.append(runs[0][2])
        carry_out(snapshot, runs[0][0])
    best.sort()
    first.sort()
    at = int(REPLANS * 0.99) - 1
    report(
        case,
        nodes=nodes,
        waiting=len(snapshot.queue.jobs),
        running=len(snapshot.running),
        promises=len(snapshot.promises),
        p50_cpu_ms=best[REPLANS // 2],
        p99_cpu_ms=best[at],
        first_p50_wall_ms=first[REPLANS // 2],
        first_p99_wall_ms=first[at],
    )
    return best[REPLANS // 2]


def replan_growth() -> None:
    """Measure the growth: after one event a plan should cost about as much on twelve times the nodes."""
    small = replan(1_024, 10_000, case="replan after one event, 8,192 GPUs")
    large = replan(12_500, 10_000, case="replan after one event, 100,000 GPUs")
    report("growth: replan on twelve times the nodes", ratio=round(large / small, 2))


def growth() -> None:
    """Measure the growth: doubling nodes or jobs should at most double the time."""
    base = full_plan(1_024, 10_000, case="growth: base")
    report("growth: twice the nodes", ratio=round(full_plan(2_048, 10_000, case="growth: 2,048 nodes") / base, 2))
    report("growth: twice the jobs", ratio=round(full_plan(1_024, 20_000, case="growth: 20,000 jobs") / base, 2))


def main(chosen: list[str]) -> None:
    """Run all cases, or the cases named on the command line."""
    cases: dict[str, Callable[[], object]] = {
        "plan-8k": lambda: full_plan(1_024, 10_000, case="full plan, 8,192 GPUs"),
        "replan": replan_growth,
        "growth": growth,
        "plan-100k": lambda: full_plan(12_500, 10_000, case="full plan, 100,000 GPUs"),
    }
    for name, case in cases.items():
        if not chosen or name in chosen:
            case()


if __name__ == "__main__":
    main(sys.argv[1:])
