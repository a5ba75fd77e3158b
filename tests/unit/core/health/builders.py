"""Small words for the health of nodes."""

from typing import Any

from muster.core.health import Finding, HealthPolicy, NodeCase, Severity
from muster.model.events import HEALTH
from muster.model.ids import NodeName
from muster.model.node import HealthRecord, Node, NodeState
from muster.model.telemetry import Signal

POLICY = HealthPolicy(every_ms=10_000)
NOW_MS = 100 * 24 * 3_600_000


def a_signal(name: str = "gpu_temperature", value: int = 0, **fields: Any) -> Signal:
    return Signal(node=NodeName("n1"), at_ms=0, signal=name, value=value, **fields)


def a_finding(severity: Severity = Severity.BAD, *, gpu: int | None = None, evidence_ms: int = 5) -> Finding:
    return Finding(severity=severity, message="burns", evidence_ms=evidence_ms, gpu=gpu)


def a_case(
    *findings: Finding,
    name: str = "n1",
    state: NodeState = NodeState.READY,
    gpus: int = 8,
    bad_gpus: tuple[int, ...] = (),
    verdicts: int = 0,
    **fields: Any,
) -> NodeCase:
    is_out = state in (NodeState.DRAINING, NodeState.DRAINED, NodeState.PROBATION)
    fields.setdefault("set_aside_by", HEALTH if is_out else None)
    return NodeCase(
        node=Node(name=NodeName(name), gpus=gpus, state=state, bad_gpus=bad_gpus),
        findings=findings,
        record=HealthRecord(verdicts_ms=(NOW_MS - 1_000,) * verdicts),
        **fields,
    )
