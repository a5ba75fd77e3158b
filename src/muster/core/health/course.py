"""What becomes of one node: suspect, draining, drained, probation, ready.

    ready ◀──▶ suspect ──▶ draining ──▶ drained ── well for a while, and tested ──▶ probation ──▶ ready
                              ▲                                                        │
                              └──────────────────── bad again ─────────────────────────┘

A bad GPU takes out that GPU only. When many GPUs of a node are bad, the node is. An operator's decision stands: health
does not bring back what an operator took out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.core.health.limits import Severity
from muster.model.events import HEALTH
from muster.model.node import HealthRecord, Node, NodeState
from muster.model.node_limits import MAX_DRAINED_MILLI, PROBE_EVERY_MS

CLEAR_READINGS = 6
"""After this many readings well inside the limits a thing counts as well: a minute by default."""

OFFENCES_MS = 7 * 24 * 3_600_000
"""How long a verdict counts against a node."""

PENALTY_MOST = 64
"""How many times longer the return of a repeat offender takes at the most: an hour instead of a minute."""

MANY_BAD_MILLI = 500
"""When at least this share of its GPUs is bad, and more than one is, the whole node is. In thousandths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthPolicy:
    """What an operator configures."""

    every_ms: int = PROBE_EVERY_MS
    """How often nodes measure."""
    max_drained_milli: int = MAX_DRAINED_MILLI
    """Share of a pool that may be out of service by verdicts at once, in thousandths. At least one node may."""
    is_tested: bool = False
    """True when there is a test that a node must pass before it returns."""

    @property
    def clear_ms(self) -> int:
        """How long a thing must be well to count as well."""
        return CLEAR_READINGS * self.every_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is suspect or bad."""

    severity: Severity
    message: str
    evidence_ms: int
    gpu: int | None = None
    """The GPU that it is about; None when it is about the whole node."""

    @property
    def said(self) -> str:
        """The message with the GPU that it is about."""
        return self.message if self.gpu is None else f"GPU {self.gpu}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTest:
    """The last test of a node that is out of service."""

    at_ms: int
    is_passed: bool
    problem: str = ""
    failures: int = 0
    """Failed tests in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCase:
    """Everything that the decision about a node depends on."""

    node: Node
    set_aside_by: str | None = None
    """Who took the node out of service: an operator, or health."""
    record: HealthRecord = HealthRecord()
    findings: tuple[Finding, ...] = ()
    entered_ms: int = 0
    """Since when the node is in its state, as far as it was watched."""
    well_ms: int | None = None
    """Since when nothing is found about the node as a whole; None while something is."""
    gpus_well_ms: Mapping[int, int] = field(default_factory=dict)
    """The same for GPUs that are out of service."""
    last_test: LastTest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What should become of a node, before the guard has seen it."""

    case: NodeCase
    state: NodeState
    bad_gpus: tuple[int, ...]
    because: str = ""
    waits: str = ""
    """What the node waits for before its next step."""
    wants_test: bool = False

    @property
    def is_change(self) -> bool:
        """True when the node is not yet as it should be."""
        node = self.case.node
        return (self.state, self.bad_gpus) != (node.state, node.bad_gpus)

    @property
    def leaves_service(self) -> bool:
        """True when the node is in service and should not be."""
        return self.case.node.state.takes_work and not self.state.takes_work


def penalty(record: HealthRecord, now_ms: int) -> int:
    """How many times longer than the first time a return takes. It doubles with every verdict of the last days."""
    recent = sum(now_ms - at_ms < OFFENCES_MS for at_ms in record.verdicts_ms)
    return min(1 << max(recent - 1, 0), PENALTY_MOST)


def wish(case: NodeCase, policy: HealthPolicy, now_ms: int) -> Wish:
    """What should become of the node now."""
    node = case.node
    bad_gpus = _bad_gpus(case, policy, now_ms)
    is_others = case.set_aside_by not in (None, HEALTH)
    if is_others or node.state in (NodeState.DOWN, NodeState.DRAINING):
        return Wish(case=case, state=node.state, bad_gpus=bad_gpus, because=_said(case.findings))
    worst = _of_node(case, bad_gpus)
    match node.state:
        case NodeState.DRAINED:
            return _drained(case, worst, bad_gpus, policy, now_ms)
        case NodeState.PROBATION:
            return _on_probation(case, worst, bad_gpus, policy, now_ms)
        case _:
            return _in_service(case, worst, bad_gpus, policy, now_ms)


def recovery_ms(case: NodeCase, policy: HealthPolicy, now_ms: int) -> int:
    """How long something that was bad must have been well before it returns, counted from when it counts as well."""
    return policy.clear_ms * penalty(case.record, now_ms)


def _bad_gpus(case: NodeCase, policy: HealthPolicy, now_ms: int) -> tuple[int, ...]:
    """GPUs with a bad finding, and GPUs that have not been well for long enough since."""
    bad = [each.gpu for each in case.findings if each.gpu is not None and each.severity is Severity.BAD]
    wait_ms = recovery_ms(case, policy, now_ms)
    known = case.node.bad_gpus
    staying = [gpu for gpu in known if now_ms - case.gpus_well_ms.get(gpu, now_ms) < wait_ms]
    return tuple(sorted(dict.fromkeys((*staying, *(gpu for gpu in bad if gpu < case.node.gpus)))))


def _of_node(case: NodeCase, bad_gpus: tuple[int, ...]) -> tuple[Finding, ...]:
    """What is found about the node as a whole; also that many of its GPUs are bad."""
    found = tuple(each for each in case.findings if each.gpu is None)
    node, bad = case.node, len(bad_gpus)
    if not is_many(bad, node.gpus):
        return found
    since_ms = min((each.evidence_ms for each in case.findings if each.gpu is not None), default=0)
    said = "; ".join(each.said for each in case.findings if each.gpu in bad_gpus)
    message = f"{bad} of {node.gpus} GPUs are bad{f' ({said})' if said else ''}"
    return (*found, Finding(severity=Severity.BAD, message=message, evidence_ms=since_ms))


def is_many(bad: int, gpus: int) -> bool:
    """True when so many GPUs are bad that the node is."""
    return bad > 1 and 1000 * bad >= MANY_BAD_MILLI * gpus


def _in_service(
    case: NodeCase, of_node: tuple[Finding, ...], bad_gpus: tuple[int, ...], policy: HealthPolicy, now_ms: int
) -> Wish:
    bad = tuple(each for each in of_node if each.severity is Severity.BAD)
    if bad:
        because = f"{_said(bad)}{_again(case, now_ms)}"
        return Wish(case=case, state=NodeState.DRAINING, bad_gpus=bad_gpus, because=because)
    mild = tuple(each for each in case.findings if each.severity is Severity.SUSPECT and each.gpu not in bad_gpus)
    out = tuple(each for each in case.findings if each.gpu in bad_gpus and each.severity is Severity.BAD)
    again = _again(case, now_ms) if any(gpu not in case.node.bad_gpus for gpu in bad_gpus) else ""
    # A job may have left the node because a rank hung there, which no probe finds.
    is_fresh = case.node.state is NodeState.SUSPECT and now_ms - case.entered_ms < recovery_ms(case, policy, now_ms)
    state = NodeState.SUSPECT if mild or is_fresh else NodeState.READY
    return Wish(case=case, state=state, bad_gpus=bad_gpus, because=f"{_said((*out, *mild))}{again}")


def _drained(
    case: NodeCase, of_node: tuple[Finding, ...], bad_gpus: tuple[int, ...], policy: HealthPolicy, now_ms: int
) -> Wish:
    """A drained node comes to probation when it was well for long enough and has passed its test, if there is one."""
    staying = Wish(case=case, state=NodeState.DRAINED, bad_gpus=bad_gpus, because=_said(of_node))
    if case.set_aside_by != HEALTH or of_node or case.well_ms is None:
        return staying
    times = penalty(case.record, now_ms)
    # The time in which it came to count as well is a part of the first wait.
    wait_ms = policy.clear_ms * (times - 1 if policy.is_tested else times)
    well_ms = now_ms - case.well_ms
    if well_ms < wait_ms:
        return _waiting(staying, f"well for {well_ms // 1000} s of {wait_ms // 1000} s")
    last_test = case.last_test
    if policy.is_tested and (last_test is None or not last_test.is_passed):
        return _before_test(staying, policy, now_ms)
    passed = "passed its test" if policy.is_tested else "is well again"
    because = f"{passed}, and stays on probation for {policy.clear_ms * times // 1000} s"
    return Wish(case=case, state=NodeState.PROBATION, bad_gpus=bad_gpus, because=because)


def _before_test(staying: Wish, policy: HealthPolicy, now_ms: int) -> Wish:
    last_test = staying.case.last_test
    if last_test is None:
        return _waiting(staying, "is being tested", wants_test=True)
    times = min(1 << (last_test.failures - 1), PENALTY_MOST)
    left_ms = last_test.at_ms + policy.clear_ms * times - now_ms
    failed = f"its test failed ({last_test.problem})"
    if left_ms > 0:
        return _waiting(staying, f"{failed}; tested again in {left_ms // 1000} s")
    return _waiting(staying, f"{failed}; is being tested again", wants_test=True)


def _on_probation(
    case: NodeCase, of_node: tuple[Finding, ...], bad_gpus: tuple[int, ...], policy: HealthPolicy, now_ms: int
) -> Wish:
    bad = tuple(each for each in of_node if each.severity is Severity.BAD)
    if bad:
        because = f"{_said(bad)}, on probation{_again(case, now_ms)}"
        return Wish(case=case, state=NodeState.DRAINING, bad_gpus=bad_gpus, because=because)
    staying = Wish(case=case, state=NodeState.PROBATION, bad_gpus=bad_gpus, because=_said(of_node))
    if of_node or case.well_ms is None:
        return staying
    times = penalty(case.record, now_ms)
    wait_ms = policy.clear_ms * times
    passed_ms = now_ms - max(case.entered_ms, case.well_ms)
    if passed_ms < wait_ms:
        return _waiting(staying, f"takes work again in {(wait_ms - passed_ms) // 1000} s")
    return Wish(
        case=case,
        state=NodeState.READY,
        bad_gpus=bad_gpus,
        because=f"back after {wait_ms // 1000} s of probation; the next time will take longer",
    )


def _waiting(staying: Wish, waits: str, *, wants_test: bool = False) -> Wish:
    return Wish(
        case=staying.case,
        state=staying.state,
        bad_gpus=staying.bad_gpus,
        because=staying.because,
        waits=waits,
        wants_test=wants_test,
    )


def _said(findings: tuple[Finding, ...]) -> str:
    return "; ".join(dict.fromkeys(each.said for each in findings))


def _again(case: NodeCase, now_ms: int) -> str:
    """What is said about a repeat offender."""
    recent = sum(now_ms - at_ms < OFFENCES_MS for at_ms in case.record.verdicts_ms)
    if not recent:
        return ""
    times = min(1 << recent, PENALTY_MOST)
    return f" (taken out {recent} times before in the last days; its return takes {times} times as long)".replace(
        "1 times before", "once before"
    )
