"""The health of nodes as it is sent."""

from muster.answers.health import GpuCondition, MeasuredSignal, NodeHealth
from muster.api.problems.concealing import Concealing
from muster.api.rendering.times import moment_of
from muster.live.watching.health_watch import HealthReport, HealthWatch
from muster.model.node import HealthRecord, Node, NodeState
from muster.model.telemetry import SIGNALS, Signal
from muster.views.view import View


def health_body(view: View, node: Node, watch: HealthWatch, conceal: Concealing) -> NodeHealth:
    """The health of a node."""
    report = watch.report(node)
    record = view.node_health.get(node.name, HealthRecord())
    return NodeHealth(
        node=node.name,
        state=node.state,
        since=moment_of(record.since_ms or watch.began_ms),
        because=conceal(_because(view, node, report)) or None,
        gpus=tuple(
            GpuCondition(index=gpu.index, state=gpu.state, because=conceal(gpu.because) or None) for gpu in report.gpus
        ),
        signals=tuple(_signal(signal) for signal in report.signals),
        notes=tuple(conceal(note) for note in report.notes),
    )


def _because(view: View, node: Node, report: HealthReport) -> str:
    """Why the node is in its state, and what it waits for. The log knows why a node is out of service."""
    note = view.node_notes.get(node.name, "")
    if node.state.takes_work:
        is_plain = node.state is NodeState.READY and not node.bad_gpus
        return report.because or ("" if is_plain else note)
    return "; ".join(part for part in (note, "" if report.waits in note else report.waits) if part)


def _signal(signal: Signal) -> MeasuredSignal:
    kind = SIGNALS.get(signal.signal)
    return MeasuredSignal(
        signal=signal.signal,
        gpu=signal.gpu,
        nic=signal.nic or None,
        value=signal.value,
        unit="" if kind is None else kind.unit,
        verdict=signal.verdict or None,
        rise=signal.rise if kind is not None and kind.is_counter else None,
        at=moment_of(signal.at_ms),
    )
