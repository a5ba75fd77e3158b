"""The health of nodes: a line for each, or all that is known about one."""

from collections.abc import Sequence

from rich.console import Group, RenderableType

from muster.cli.drawing.state_words import node_style
from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import moment
from muster.cli.terminal.text import Text
from muster.client.answers import MeasuredSignal, NodeHealth
from muster.model.telemetry import SIGNALS


def health_list(nodes: Sequence[NodeHealth]) -> RenderableType:
    """A line for each node."""
    made = TextTable("node", "state", "since", "bad GPUs", "because", cut=("because",))
    for node in nodes:
        bad = [str(gpu.index) for gpu in node.gpus if gpu.state == "drained"]
        said = "; ".join(text for text in (node.because or "", *node.notes) if text)
        made.add_row(
            Text(node.node, style="bold"),
            Text(node.state, style=node_style(node.state)),
            moment(node.since),
            ",".join(bad),
            said,
        )
    return made


def health_card(node: NodeHealth) -> RenderableType:
    """Everything about one node."""
    head = Text.assemble(
        (node.node, "bold"), " is ", (node.state, node_style(node.state)), f" since {moment(node.since)}"
    )
    parts: list[RenderableType] = [head]
    if node.because:
        parts.append(Text(node.because, style="italic"))
    parts += [Text(text, style="yellow") for text in node.notes]
    ill = [gpu for gpu in node.gpus if gpu.state != "ready"]
    if ill:
        gpus = TextTable("GPU", "state", "because", numbers=("GPU",), cut=("because",))
        for gpu in ill:
            gpus.add_row(str(gpu.index), Text(gpu.state, style=node_style(gpu.state)), gpu.because or "")
        parts += [Text(), gpus]
    if node.signals:
        measured = TextTable("signal", "of", "value", "unit", "lately", numbers=("value", "lately"))
        for signal in node.signals:
            measured.add_row(signal.signal, _subject(signal), _value(signal), _unit(signal), _rise(signal))
        parts += [Text(), measured]
    return Group(*parts)


def _subject(signal: MeasuredSignal) -> str:
    return f"GPU {signal.gpu}" if signal.gpu is not None else signal.nic or ""


def _value(signal: MeasuredSignal) -> str:
    return signal.verdict or str(signal.value)


def _unit(signal: MeasuredSignal) -> str:
    kind = SIGNALS.get(signal.signal)
    return "" if kind is None else kind.unit


def _rise(signal: MeasuredSignal) -> str:
    return "" if signal.rise is None else f"+{signal.rise}"
