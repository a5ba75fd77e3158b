"""A small scenario file and decisions about it, made without the planning core."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.plan import Basis, Eviction, Plan, Promise, Reason, ReasonCode, Resize, Start, Why
from muster.model.scenario import Scenario

SCENARIO = """
now: 2026-01-01T00:00:00Z
cluster:
  levels: [rack]
  nodes:
    - {name: "n[1-2]", rack: r1, gpus: 4, gpu_type: h100}
    - {name: n3, rack: r2, gpus: 4, gpu_type: h100, bad_gpus: [0]}
    - {name: n4, rack: r2, gpus: 4, gpu_type: h100, state: drained}
running:
  - id: old
    job: {tier: exploratory, resources: {gpus: 4}}
    started: 2025-12-31T20:00:00Z
    workers: [{node: n1, gpus: [0, 1, 2, 3]}]
  - {id: half, job: {resources: {gpus: 0.5}}, started: 2025-12-31T20:00:00Z, workers: [{node: n2, gpus: [0]}]}
  - id: grow
    job: {workers: "1..2", resources: {gpus: 1}}
    started: 2025-12-31T20:00:00Z
    workers: [{rank: 0, node: n2, gpus: [1]}, {rank: 1, node: n2, gpus: [2]}]
waiting:
  - {id: new, job: {team: nlp, resources: {gpus: 2, gpu_type: h100}}}
  - {id: urgent, job: {tier: production, resources: {gpus: 4}}}
  - {id: "[red]late", job: {resources: {gpus: 4}}}
"""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    job: JobId
    position: int
    reasons: tuple[Reason, ...]
    p50_ms: int | None = None
    p90_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class Rejection:
    job: JobId
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    plan: Plan
    explanations: Sequence[Explanation] = ()
    rejected: Sequence[Rejection] = field(default=())


def a_worker(node: str, *gpus: int) -> Worker:
    return Worker(rank=0, role="worker", node=NodeName(node), gpus=gpus)


def decide(scenario: Scenario) -> Decision:
    """One of everything."""
    now_ms = scenario.now_ms
    urgent = JobId("urgent")
    capacity = Reason(code=ReasonCode.CAPACITY, message="3 of 4 GPUs are free", would_help="waiting for old to end")
    topology = Reason(code=ReasonCode.TOPOLOGY, message="no rack has 4", would_help="")
    return Decision(
        plan=Plan(
            version=0,
            now_ms=now_ms,
            starts=(Start(job=JobId("new"), workers=(a_worker("n3", 1, 2),)),),
            evictions=(Eviction(job=JobId("old"), for_job=urgent, why=Why.TIER, lost_gpu_ms=57_600_000),),
            resizes=(
                Resize(
                    job=JobId("grow"), from_workers=2, to_workers=1, workers=(a_worker("n2", 1),), for_job=JobId("new")
                ),
            ),
            promises=(
                Promise(
                    job=urgent,
                    start_ms=now_ms + 30_000,
                    workers=(a_worker("n1", 0, 1, 2, 3),),
                    made_ms=now_ms,
                    basis=Basis.DEPARTURES,
                    moved_because="n4 was drained",
                ),
                Promise(job=JobId("[red]late"), start_ms=now_ms, workers=(a_worker("n2", 3),), made_ms=now_ms),
            ),
        ),
        explanations=(
            Explanation(
                job=urgent, position=1, reasons=(capacity, topology), p50_ms=now_ms, p90_ms=now_ms + 93_600_000
            ),
            Explanation(job=JobId("[red]late"), position=2, reasons=(capacity,), p50_ms=now_ms + 60_000),
        ),
        rejected=(Rejection(job=JobId("jx"), code="never_fits", message="larger than the cluster"),),
    )
