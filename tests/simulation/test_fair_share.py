"""`fair` on small clusters whose jobs have no limits: promises that are weeks away must not keep GPUs idle."""

from random import Random

from muster.model.trace import TraceJob
from muster.sim.measures import measures
from tests.unit.sim.builders import a_trace_job, replayed

JOBS, NODES, LOAD = 600, 4, 1.1
SEEDS = (5, 6, 7)


def philly_like(seed: int) -> list[TraceJob]:
    """Mostly one GPU, a few gangs of two nodes, run times over several orders of magnitude, three teams."""
    chance = Random(seed)
    drawn = [
        (
            chance.choices((1, 2, 4, 8, 16), (80, 6, 6, 6, 2))[0],
            min(chance.lognormvariate(8, 1.8), 4e5),
            chance.choice("abc"),
        )
        for _ in range(JOBS)
    ]
    span_s = sum(gpus * run_s for gpus, run_s, _ in drawn) / (NODES * 8 * LOAD)
    moments_s = sorted(chance.random() * span_s for _ in drawn)
    return [
        a_trace_job(str(number), int(submit_s), int(run_s) + 1, gpus, team=team)
        for number, (submit_s, (gpus, run_s, team)) in enumerate(zip(moments_s, drawn, strict=True))
    ]


def test_jobs_without_limits_finish_no_later_under_fair_share_than_under_easy_backfill() -> None:
    means = dict.fromkeys(("easy", "fair"), 0.0)
    for seed in SEEDS:
        jobs = philly_like(seed)
        for policy in means:
            means[policy] += measures(replayed(jobs, f"{NODES}x8", policy))["jct_s"]["mean"] / len(SEEDS)
    assert means["fair"] <= means["easy"]
