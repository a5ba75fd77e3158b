"""Node health: from signals to a verdict, without draining everything by mistake.

`judge` looks at one node, `guard` at the fleet. When too many nodes show the same symptom at once, the signal is more
likely wrong than all these nodes broken. Nodes above the limit are then only suspected.
A node comes back when its signals have been well inside the limits, not just inside, for a while.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from muster.model.ids import NodeName
from muster.model.node import Node, NodeState
from muster.model.policy import MINUTE_MS
from muster.model.records import evolve


class Verdict(StrEnum):
    """What to do about a node, mildest first."""

    OK = "ok"
    SUSPECT = "suspect"
    DRAIN_GPU = "drain_gpu"
    """Some devices must not be used. The rest of the node may be."""
    DRAIN_NODE = "drain_node"
    DOWN = "down"


_SEVERITY = {verdict: rank for rank, verdict in enumerate(Verdict)}


class Symptom(StrEnum):
    """What a finding is about. The fleet guard counts nodes per symptom."""

    HEARTBEAT = "heartbeat"
    THERMAL = "thermal"
    NIC = "nic"
    ECC = "ecc"
    XID = "xid"
    JOB_FAILURES = "job_failures"
    RECOVERY = "recovery"
    """Nothing is wrong now, but the node or GPU has not been healthy for long enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSignals:
    """What is known of one device. Counters count since the device was last reset."""

    index: int
    ecc_errors: int = 0
    """Uncorrectable errors only. Corrected errors are normal."""
    xid_errors: int = 0
    """Only errors of the kinds that end the process or need a reset."""
    drained_by_health: bool = False
    """False when an operator took the device out. Then only an operator brings it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSignals:
    """What is known of one node."""

    heartbeat_age_ms: int = 0
    throttled_milli: int = 0
    """Share of the last minutes in which heat slowed the GPUs down, in thousandths."""
    nic_mbps: int | None = None
    """The measured speed; None when it was not measured."""
    nic_nominal_mbps: int = 0
    gpus: tuple[GpuSignals, ...] = ()
    job_failures: int = 0
    """Attempts in a row that ended on this node by an infrastructure fault."""
    healthy_ms: int = 0
    """How long the node has shown no symptom."""
    drained_by_health: bool = False
    """False when an operator drained the node. Then only an operator brings it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthPolicy:
    """The limits. Heat and network have one limit for going out and a stricter one for coming back."""

    heartbeat_suspect_ms: int = MINUTE_MS
    heartbeat_down_ms: int = 3 * MINUTE_MS
    throttled_drain_milli: int = 500
    throttled_clear_milli: int = 100
    nic_drain_milli: int = 800
    """The node is drained below this share of the nominal speed, in thousandths."""
    nic_clear_milli: int = 950
    ecc_limit: int = 1
    xid_limit: int = 1
    bad_gpus_drain_milli: int = 500
    """When at least this share of its devices is bad, and more than one is, the whole node is drained."""
    failures_suspect: int = 2
    """A node that fails twice is suspected."""
    failures_drain: int = 5
    clear_after_ms: int = 10 * MINUTE_MS
    drain_share_milli: int = 50
    """Share of the fleet that may be out for the same symptom, in thousandths. At least one node always may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, and the verdict that it calls for."""

    symptom: Symptom
    verdict: Verdict
    message: str
    gpu: int | None = None
    """The device it is about; None when it is about the whole node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one node and everything that led to it."""

    node: NodeName
    verdict: Verdict = Verdict.OK
    findings: tuple[Finding, ...] = ()
    bad_gpus: tuple[int, ...] = ()
    is_withheld: bool = False
    """True when the guard made the verdict milder because too many nodes are out for the same symptom."""

    @property
    def because(self) -> str:
        """All findings in one line."""
        return "; ".join(finding.message for finding in self.findings)


def judge(node: Node, signals: NodeSignals, policy: HealthPolicy) -> Judgement:
    """What the signals of one node say about it and about each of its GPUs."""
    findings = (
        *_heartbeat(signals, policy),
        *_thermal(node, signals, policy),
        *_nic(node, signals, policy),
        *_job_failures(signals, policy),
        *_gpus(node, signals, policy),
    )
    bad_gpus = _bad_gpus(node, signals, findings)
    if node.gpus and 1000 * len(bad_gpus) >= policy.bad_gpus_drain_milli * node.gpus and len(bad_gpus) > 1:
        symptom = next((finding.symptom for finding in findings if finding.gpu is not None), Symptom.RECOVERY)
        message = f"{len(bad_gpus)} of {node.gpus} GPUs are bad"
        findings = (*findings, Finding(symptom=symptom, verdict=Verdict.DRAIN_NODE, message=message))
    findings = findings or _recovering(node, signals, policy)
    return Judgement(node=node.name, verdict=_worst(findings), findings=findings, bad_gpus=bad_gpus)


def guard(
    judgements: Sequence[Judgement], *, fleet: int, out: Iterable[tuple[NodeName, Symptom]], policy: HealthPolicy
) -> tuple[Judgement, ...]:
    """The judgements with no more nodes taken out for one symptom than the policy allows.

    `out` lists the nodes that health took out earlier, each with its symptom. They keep their places. New nodes take
    the places that are left, in the order of their names. All further nodes are only suspected.
    """
    limit = max(fleet * policy.drain_share_milli // 1000, 1)
    taken: dict[Symptom, dict[NodeName, None]] = {}
    for node, symptom in out:
        taken.setdefault(symptom, {})[node] = None
    return tuple(_guarded(judgement, taken, limit) for judgement in sorted(judgements, key=lambda each: each.node))


def verdict_state(verdict: Verdict, present: NodeState) -> NodeState:
    """The state a node goes to. A node that is drained already stays drained and does not drain again."""
    match verdict:
        case Verdict.OK | Verdict.DRAIN_GPU:
            return NodeState.READY
        case Verdict.SUSPECT:
            return NodeState.SUSPECT
        case Verdict.DRAIN_NODE:
            return NodeState.DRAINED if present is NodeState.DRAINED else NodeState.DRAINING
        case Verdict.DOWN:
            return NodeState.DOWN
        case _:
            assert_never(verdict)


def apply_verdict(node: Node, judgement: Judgement, *, drained_by_health: bool) -> Node:
    """The node as the judgement wants it. A node that an operator took out stays out; it can only become down."""
    is_out = not node.state.takes_work
    if is_out and not drained_by_health and judgement.verdict is not Verdict.DOWN:
        return evolve(node, bad_gpus=judgement.bad_gpus)
    return evolve(node, state=verdict_state(judgement.verdict, node.state), bad_gpus=judgement.bad_gpus)


def _heartbeat(signals: NodeSignals, policy: HealthPolicy) -> tuple[Finding, ...]:
    if signals.heartbeat_age_ms < policy.heartbeat_suspect_ms:
        return ()
    is_down = signals.heartbeat_age_ms >= policy.heartbeat_down_ms
    return (
        Finding(
            symptom=Symptom.HEARTBEAT,
            verdict=Verdict.DOWN if is_down else Verdict.SUSPECT,
            message=f"no heartbeat for {signals.heartbeat_age_ms // 1000} s",
        ),
    )


def _thermal(node: Node, signals: NodeSignals, policy: HealthPolicy) -> tuple[Finding, ...]:
    limit_milli = policy.throttled_clear_milli if _is_out(node, signals) else policy.throttled_drain_milli
    if signals.throttled_milli < limit_milli:
        return ()
    message = f"slowed down by heat {signals.throttled_milli // 10} % of the time"
    return (Finding(symptom=Symptom.THERMAL, verdict=Verdict.DRAIN_NODE, message=message),)


def _nic(node: Node, signals: NodeSignals, policy: HealthPolicy) -> tuple[Finding, ...]:
    limit_milli = policy.nic_clear_milli if _is_out(node, signals) else policy.nic_drain_milli
    if signals.nic_mbps is None or 1000 * signals.nic_mbps >= limit_milli * signals.nic_nominal_mbps:
        return ()
    message = f"network at {signals.nic_mbps} of {signals.nic_nominal_mbps} Mbit/s"
    return (Finding(symptom=Symptom.NIC, verdict=Verdict.DRAIN_NODE, message=message),)


def _job_failures(signals: NodeSignals, policy: HealthPolicy) -> tuple[Finding, ...]:
    if signals.job_failures < policy.failures_suspect:
        return ()
    verdict = Verdict.DRAIN_NODE if signals.job_failures >= policy.failures_drain else Verdict.SUSPECT
    message = f"the last {signals.job_failures} attempts failed here"
    return (Finding(symptom=Symptom.JOB_FAILURES, verdict=verdict, message=message),)


def _bad_gpus(node: Node, signals: NodeSignals, findings: tuple[Finding, ...]) -> tuple[int, ...]:
    """Devices with a finding, and devices that are out already and that health may not or cannot judge."""
    judged = {gpu.index for gpu in signals.gpus if gpu.drained_by_health}
    kept = [index for index in node.bad_gpus if index not in judged]
    found = [finding.gpu for finding in findings if finding.gpu is not None]
    return tuple(sorted(dict.fromkeys((*kept, *found))))


def _gpus(node: Node, signals: NodeSignals, policy: HealthPolicy) -> tuple[Finding, ...]:
    """One finding per bad device. A device is bad until its counters are reset, and for a while after."""
    return tuple(finding for gpu in signals.gpus for finding in _gpu(node, gpu, signals, policy)[:1])


def _gpu(node: Node, gpu: GpuSignals, signals: NodeSignals, policy: HealthPolicy) -> list[Finding]:
    found: list[tuple[Symptom, str]] = []
    if gpu.index in node.bad_gpus and not gpu.drained_by_health:
        return []
    if gpu.ecc_errors >= policy.ecc_limit:
        found.append((Symptom.ECC, f"{gpu.ecc_errors} uncorrectable memory errors"))
    if gpu.xid_errors >= policy.xid_limit:
        found.append((Symptom.XID, f"{gpu.xid_errors} fatal driver errors"))
    if gpu.index in node.bad_gpus and signals.healthy_ms < policy.clear_after_ms:
        found.append((Symptom.RECOVERY, "was bad a moment ago"))
    return [
        Finding(symptom=symptom, verdict=Verdict.DRAIN_GPU, message=f"GPU {gpu.index}: {text}", gpu=gpu.index)
        for symptom, text in found
    ]


def _recovering(node: Node, signals: NodeSignals, policy: HealthPolicy) -> tuple[Finding, ...]:
    """A node without symptoms keeps its state until it was healthy long enough. A node that was down is suspected."""
    if node.state is NodeState.READY or signals.healthy_ms >= policy.clear_after_ms:
        return ()
    is_drained = node.state in (NodeState.DRAINING, NodeState.DRAINED)
    return (
        Finding(
            symptom=Symptom.RECOVERY,
            verdict=Verdict.DRAIN_NODE if is_drained else Verdict.SUSPECT,
            message=f"healthy for {signals.healthy_ms // 1000} s of {policy.clear_after_ms // 1000} s",
        ),
    )


def _is_out(node: Node, signals: NodeSignals) -> bool:
    return signals.drained_by_health and not node.state.takes_work


def _worst(findings: tuple[Finding, ...]) -> Verdict:
    return max((finding.verdict for finding in findings), key=_SEVERITY.__getitem__, default=Verdict.OK)


def _guarded(judgement: Judgement, taken: dict[Symptom, dict[NodeName, None]], limit: int) -> Judgement:
    """The judgement after the guard. Each finding takes a place for its symptom, or is made milder if none is left."""
    findings = tuple(_allowed(finding, judgement.node, taken, limit) for finding in judgement.findings)
    if findings == judgement.findings:
        return judgement
    spared = {finding.gpu for finding in findings if not _takes_out(finding)}
    bad_gpus = tuple(gpu for gpu in judgement.bad_gpus if gpu not in spared)
    return replace(judgement, verdict=_worst(findings), findings=findings, bad_gpus=bad_gpus, is_withheld=True)


def _allowed(finding: Finding, node: NodeName, taken: dict[Symptom, dict[NodeName, None]], limit: int) -> Finding:
    if not _takes_out(finding) or finding.symptom is Symptom.RECOVERY:
        return finding
    places = taken.setdefault(finding.symptom, {})
    if node in places or len(places) < limit:
        places[node] = None
        return finding
    message = f"{finding.message} (not taken out: {len(places)} nodes are, for {finding.symptom})"
    return replace(finding, verdict=Verdict.SUSPECT, message=message)


def _takes_out(finding: Finding) -> bool:
    return _SEVERITY[finding.verdict] >= _SEVERITY[Verdict.DRAIN_GPU]
