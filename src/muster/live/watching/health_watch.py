"""Watches the health of nodes: keeps what they measure, asks `core.health`, and reports verdicts.

What became of each node is in the log. What was measured and every timer is only here, so after a restart of the
control plane nodes that are out of service wait as if they had just been found well.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from muster.core.health import Finding, HealthPolicy, LastTest, NodeCase, Severity, Track, Wish, guarded, wish
from muster.core.health.limits import limit_of
from muster.model.events import HEALTH, NodeChanged, ObservedEvent
from muster.model.ids import NodeName
from muster.model.node import HealthRecord, Node, NodeState
from muster.model.node_limits import NODE_TEST_MS
from muster.model.records import evolve
from muster.model.telemetry import NodeTested, ProbeNote, Signal, Telemetry
from muster.views.view import View

TEST_MARGIN_MS = 30_000
"""After its time limit and this much more, a test that was not answered is asked for again."""

OVERRULED_MS = 24 * 3_600_000
"""How long an operator who put a node back into service overrules what was known against it then."""

Subject = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHealth:
    """One GPU as it is shown."""

    index: int
    state: NodeState
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """One node as it is shown, beyond what the log knows."""

    gpus: tuple[GpuHealth, ...] = ()
    signals: tuple[Signal, ...] = ()
    because: str = ""
    """What speaks against the node now."""
    waits: str = ""
    """What it waits for before it returns."""
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _NodeHealth:
    """What is known about one node."""

    signals: dict[Subject, Signal] = field(default_factory=dict)
    tracks: dict[Subject, tuple[int | None, Track]] = field(default_factory=dict)
    """With the GPU that each is about."""
    unwell: dict[Subject, tuple[int | None, Track]] = field(default_factory=dict)
    """Those that are suspect or bad: few, so that a look at a large fleet takes no time."""
    notes: dict[str, str] = field(default_factory=dict)
    state: NodeState | None = None
    entered_ms: int = 0
    well_ms: int | None = None
    gpus_well_ms: dict[int, int] = field(default_factory=dict)
    last_test: LastTest | None = None
    asked: int = 0
    """The number of the test that was asked for and not answered; 0 for none."""
    asked_ms: int = 0
    wish: Wish | None = None
    findings: tuple[Finding, ...] = ()


class HealthWatch:
    """Follows the signals of all nodes."""

    def __init__(
        self,
        policy: HealthPolicy,
        *,
        now_ms: int,
        ask_test: Callable[[NodeName, int], None] = lambda _node, _number: None,
    ) -> None:
        """`ask_test` has a node run its test. The outcome comes as a measured value with the same number."""
        self._policy = policy
        self._ask_test = ask_test
        self._nodes: dict[NodeName, _NodeHealth] = {}
        self._tests = now_ms
        """Numbers of tests: higher than those of an earlier control plane."""
        self._now_ms = self.began_ms = now_ms
        self._lock = threading.Lock()

    def take(self, value: Telemetry) -> None:
        """Note a measured value."""
        with self._lock:
            match value:
                case Signal():
                    self._take_signal(self._nodes.setdefault(value.node, _NodeHealth()), value)
                case ProbeNote():
                    notes = self._nodes.setdefault(value.node, _NodeHealth()).notes
                    notes.pop(value.probe, None)
                    if value.text:
                        notes[value.probe] = value.text
                case NodeTested():
                    self._take_outcome(self._nodes.setdefault(value.node, _NodeHealth()), value)
                case _:
                    pass

    def look(self, view: View, now_ms: int) -> Sequence[ObservedEvent]:
        """The verdicts that follow now."""
        with self._lock:
            self._now_ms = now_ms
            for name in [name for name in self._nodes if name not in view.nodes]:
                del self._nodes[name]
            cases = [case for node in view.nodes.values() if (case := self._case(view, node)) is not None]
            wishes = [wish(case, self._policy, now_ms) for case in cases]
            nodes = tuple(view.nodes.values())
            allowed = guarded(wishes, nodes, [view.set_aside.get(node.name) for node in nodes], self._policy)
            for each in allowed:
                self._nodes[each.case.node.name].wish = each
                if each.wants_test:
                    self._test(each.case.node.name)
            return [_event(each, now_ms) for each in allowed if each.is_change]

    def report(self, node: Node) -> HealthReport:
        """What is known about a node now. May be called on any thread."""
        with self._lock:
            known = self._nodes.get(node.name, _NodeHealth())
            return HealthReport(
                gpus=tuple(_gpu(known, node, index) for index in range(node.gpus)),
                signals=tuple(sorted(known.signals.values(), key=_order)),
                because="" if known.wish is None else known.wish.because,
                waits="" if known.wish is None else known.wish.waits,
                notes=tuple(known.notes.values()),
            )

    def _take_signal(self, known: _NodeHealth, signal: Signal) -> None:
        subject = signal.subject
        if signal.is_gone:
            known.signals.pop(subject, None)
        else:
            known.signals[subject] = signal
        limit = limit_of(signal)
        if limit is None or signal.is_shared or (signal.is_gone and subject not in known.tracks):
            return
        if subject not in known.tracks:
            # It may have been so before this control plane started: then an operator who decided since knew of it.
            is_known = self._now_ms - self.began_ms <= self._policy.clear_ms
            known.tracks[subject] = (signal.gpu, Track(limit, is_known=is_known))
        track = known.tracks[subject][1]
        track.take(signal, self._now_ms)
        if track.severity is not Severity.WELL:
            known.unwell[subject] = known.tracks[subject]
        elif signal.is_gone:
            del known.tracks[subject]

    def _take_outcome(self, known: _NodeHealth, tested: NodeTested) -> None:
        if tested.number != known.asked:
            return
        known.asked = 0
        failures = 0 if known.last_test is None else known.last_test.failures
        known.last_test = LastTest(
            at_ms=self._now_ms,
            is_passed=tested.exit_code == 0,
            problem=tested.problem or f"exit code {tested.exit_code}",
            failures=failures + (tested.exit_code != 0),
        )

    def _case(self, view: View, node: Node) -> NodeCase | None:
        """What is to be decided about a node; None when there is nothing. A node that is down shows nothing."""
        known = self._nodes.get(node.name)
        if known is None:
            if node.state is NodeState.READY and not node.bad_gpus:
                return None
            known = self._nodes[node.name] = _NodeHealth()
        record = view.node_health.get(node.name, HealthRecord())
        self._follow(known, node, record)
        is_in_order = not known.findings and node.state is NodeState.READY and not node.bad_gpus
        if is_in_order or node.state is NodeState.DOWN:
            known.wish = None
            return None
        return NodeCase(
            node=node,
            set_aside_by=view.set_aside.get(node.name),
            record=record,
            findings=known.findings,
            entered_ms=known.entered_ms,
            well_ms=known.well_ms,
            gpus_well_ms=dict(known.gpus_well_ms),
            last_test=known.last_test,
        )

    def _follow(self, known: _NodeHealth, node: Node, record: HealthRecord) -> None:
        """Bring the timers of a node up to date."""
        now_ms = self._now_ms
        if node.state is not known.state:
            known.state, known.entered_ms = node.state, now_ms
            if node.state is not NodeState.DRAINED:
                known.last_test, known.asked = None, 0
        if node.state is NodeState.DOWN:
            return
        for subject, (_, track) in tuple(known.unwell.items()):
            track.look(now_ms, self._policy.clear_ms)
            if track.severity is Severity.WELL:
                del known.unwell[subject]
                if subject not in known.signals:
                    del known.tracks[subject]
        known.findings = _findings(known, record, now_ms)
        if any(each.gpu is None for each in known.findings):
            known.well_ms, known.last_test = None, None
        elif known.well_ms is None:
            known.well_ms = now_ms
        unwell = [each.gpu for each in known.findings]
        known.gpus_well_ms = {gpu: known.gpus_well_ms.get(gpu, now_ms) for gpu in node.bad_gpus if gpu not in unwell}

    def _test(self, name: NodeName) -> None:
        known = self._nodes[name]
        if known.asked and self._now_ms - known.asked_ms < NODE_TEST_MS + TEST_MARGIN_MS:
            return
        self._tests += 1
        known.asked, known.asked_ms = self._tests, self._now_ms
        self._ask_test(name, self._tests)


def _findings(known: _NodeHealth, record: HealthRecord, now_ms: int) -> tuple[Finding, ...]:
    """What speaks against a node and is not overruled by an operator."""
    is_overruled = record.overruled_ms > 0 and now_ms - record.overruled_ms < OVERRULED_MS
    return tuple(
        Finding(severity=track.severity, message=track.message, evidence_ms=track.evidence_ms, gpu=gpu)
        for gpu, track in known.unwell.values()
        if not (is_overruled and track.evidence_ms <= record.overruled_ms)
    )


def _event(decided: Wish, now_ms: int) -> NodeChanged:
    node = evolve(decided.case.node, state=decided.state, bad_gpus=decided.bad_gpus)
    because = decided.because or "is well again"
    is_bad = decided.state is NodeState.DRAINING and decided.case.node.state is not NodeState.DRAINING
    return NodeChanged(at_ms=now_ms, node=node, because=because, by=HEALTH, condemns=is_bad)


def _gpu(known: _NodeHealth, node: Node, index: int) -> GpuHealth:
    found = [each for each in known.findings if each.gpu == index]
    because = "; ".join(each.message for each in found)
    if index in node.bad_gpus:
        return GpuHealth(index=index, state=NodeState.DRAINED, because=because or "was bad, and is watched")
    return GpuHealth(index=index, state=NodeState.SUSPECT if found else NodeState.READY, because=because)


def _order(signal: Signal) -> tuple[str, int, str]:
    return signal.signal, -1 if signal.gpu is None else signal.gpu, signal.nic
