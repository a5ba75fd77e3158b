"""Replays that were never run, with numbers as they come from a real trace: `a_replay("fifo", jobs=200)`.

A rough list scheduler: every job takes the GPUs that are free first. It is no policy of Muster and proves nothing about
one; it gives the report jobs that do not overlap, queues that grow and shrink, and a few preemptions and faults.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache

from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.job import JobState
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.trace import TraceJob
from muster.sim.outcome import JobOutcome, Replay, Sample, Stint

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
GPUS_PER_NODE = 8
TIERS = ("production", "standard", "exploratory")


def a_trace_job(
    number: int = 0, *, gpus: float = 1, submit_ms: int = 0, run_ms: int = HOUR_MS, **fields: str
) -> TraceJob:
    return TraceJob(
        id=JobId(fields.pop("id", f"job-{number}")),
        submit_ms=submit_ms,
        run_ms=run_ms,
        gpu_milli=round(gpus * GPU_MILLI),
        team=TeamPath(fields.pop("team", "vision")),
        tier=TierName(fields.pop("tier", "standard")),
    )


def an_outcome(job: TraceJob, *, wait_ms: int | None = 0, ends: bool = True, node: str = "node-1") -> JobOutcome:
    """One uninterrupted run after a wait; a wait of None never ends."""
    if wait_ms is None:
        return JobOutcome(job=job, state=JobState.QUEUED, first_start_ms=None, end_ms=None)
    start_ms = job.submit_ms + wait_ms
    end_ms = start_ms + job.run_ms
    stint = Stint(start_ms=start_ms, end_ms=end_ms, gpu_milli=job.gpu_milli, nodes=(NodeName(node),))
    return JobOutcome(
        job=job,
        state=JobState.SUCCEEDED if ends else JobState.RUNNING,
        first_start_ms=start_ms,
        end_ms=end_ms if ends else None,
        useful_gpu_ms=job.gpu_milli * job.run_ms // GPU_MILLI,
        stints=(stint,),
    )


def replay_of(
    outcomes: Sequence[JobOutcome], *, policy: str = "fifo", trace: str = "made up", nodes: int = 1
) -> Replay:
    return Replay(
        policy=policy,
        trace=trace,
        capacity_milli=nodes * GPUS_PER_NODE * GPU_MILLI,
        outcomes=tuple(outcomes),
        samples=tuple(samples(outcomes, nodes * GPUS_PER_NODE * GPU_MILLI)),
        cycles=len(outcomes),
        cpu_s=0.0,
        log_hash="",
    )


@cache
def a_replay(policy: str, *, jobs: int, nodes: int = 12, days: float = 4, seed: int = 1) -> Replay:
    """Jobs of all sizes under one policy: `fifo` never lets a job pass another, others do, `muster` also preempts."""
    trace = list(made_up_jobs(jobs, days=days, nodes=nodes, seed=seed))
    order = sorted(trace, key=lambda job: job.submit_ms + (min(job.run_ms, 24 * HOUR_MS) if policy == "muster" else 0))
    free_ms = [[0] * GPUS_PER_NODE for _ in range(nodes)]
    chance = random.Random(seed)
    outcomes: dict[JobId, JobOutcome] = {}
    no_sooner_ms = 0
    for job in order:
        outcome = _run(job, free_ms, no_sooner_ms, chance)
        if policy == "fifo":
            no_sooner_ms = outcome.first_start_ms or 0
        outcomes[job.id] = _preempted(outcome, chance) if policy == "muster" else outcome
    return replay_of([outcomes[job.id] for job in trace], policy=policy, nodes=nodes)


def made_up_jobs(count: int, *, days: float, nodes: int, seed: int) -> Iterator[TraceJob]:
    """Submissions that follow the day, mostly one GPU, run times over five orders of magnitude, a load near one."""
    chance = random.Random(seed)
    moments = sorted(_moment_ms(chance, days) for _ in range(count))
    room_ms = nodes * GPUS_PER_NODE * days * 24 * HOUR_MS / count
    drawn = [(chance.choices((1, 2, 4, 8, 16), (80, 7, 6, 5, 2))[0], chance.lognormvariate(0, 2)) for _ in range(count)]
    scale = 1.6 * room_ms * count / sum(gpus * length for gpus, length in drawn)
    for number, (submit_ms, (gpus, length)) in enumerate(zip(moments, drawn, strict=True)):
        yield a_trace_job(
            number,
            gpus=min(gpus, nodes * GPUS_PER_NODE),
            submit_ms=submit_ms,
            run_ms=max(20_000, round(min(length * scale, 3 * 24 * HOUR_MS))),
            team=f"team-{min(13, int(chance.expovariate(0.35)))}",
            tier=chance.choices(TIERS, (1, 6, 3))[0],
        )


def samples(outcomes: Sequence[JobOutcome], capacity_milli: int, *, most: int = 4_000) -> list[Sample]:
    """The cluster over time, with a node or two out of order now and then."""
    changes: list[tuple[int, int, int, int]] = []
    for each in outcomes:
        changes.append((each.job.submit_ms, 0, 1, each.job.gpu_milli))
        if each.first_start_ms is not None:
            changes.append((each.first_start_ms, 0, -1, -each.job.gpu_milli))
        for stint in each.stints:
            changes += [(stint.start_ms, stint.gpu_milli, 0, 0), (stint.end_ms, -stint.gpu_milli, 0, 0)]
    changes.sort()
    found: list[Sample] = []
    used = waiting = asked = 0
    every = max(1, len(changes) // most)
    for place, (at_ms, used_change, jobs_change, asked_change) in enumerate(changes):
        used, waiting, asked = used + used_change, waiting + jobs_change, asked + asked_change
        if place % every == 0 or place == len(changes) - 1:
            out = (at_ms // (7 * HOUR_MS)) % 5 // 4 * GPUS_PER_NODE * GPU_MILLI
            found.append(
                Sample(
                    at_ms=at_ms,
                    used_milli=used,
                    usable_milli=max(used, capacity_milli - out),
                    waiting_jobs=waiting,
                    waiting_milli=asked,
                    fragmentation=0.05,
                )
            )
    return found


def _moment_ms(chance: random.Random, days: float) -> int:
    day = int(chance.random() * days)
    hour = min(23.99, max(0.0, chance.gauss(14, 5)))
    return round((day * 24 + hour) * HOUR_MS)


def _run(job: TraceJob, free_ms: list[list[int]], no_sooner_ms: int, chance: random.Random) -> JobOutcome:
    gpus = job.gpu_milli // GPU_MILLI
    each_takes = min(gpus, GPUS_PER_NODE)
    tried = chance.sample(range(len(free_ms)), k=min(len(free_ms), 24))
    chosen = sorted(tried, key=lambda node: (sorted(free_ms[node])[each_takes - 1], node))[: -(-gpus // each_takes)]
    ready_ms = max(sorted(free_ms[node])[each_takes - 1] for node in chosen)
    start_ms = max(job.submit_ms, no_sooner_ms, ready_ms)
    for node in chosen:
        lanes = sorted(range(GPUS_PER_NODE), key=lambda lane: free_ms[node][lane])[:each_takes]
        for lane in lanes:
            free_ms[node][lane] = start_ms + job.run_ms
    nodes = tuple(NodeName(f"node-{node}") for node in chosen)
    return evolve(
        an_outcome(job, wait_ms=start_ms - job.submit_ms),
        stints=(Stint(start_ms=start_ms, end_ms=start_ms + job.run_ms, gpu_milli=job.gpu_milli, nodes=nodes),),
    )


def _preempted(outcome: JobOutcome, chance: random.Random) -> JobOutcome:
    """Now and then in two stints, with a little lost."""
    (stint,) = outcome.stints
    if outcome.job.run_ms < 4 * HOUR_MS or chance.random() < 0.6:
        return outcome
    middle_ms = (stint.start_ms + stint.end_ms) // 2
    parts = evolve(stint, end_ms=middle_ms - 10 * MINUTE_MS), evolve(stint, start_ms=middle_ms)
    lost = MINUTE_MS * stint.gpu_milli // GPU_MILLI
    held = sum(each.end_ms - each.start_ms for each in parts) * stint.gpu_milli // GPU_MILLI
    return evolve(outcome, stints=parts, preemptions=1, useful_gpu_ms=held - lost, lost_gpu_ms=lost)
