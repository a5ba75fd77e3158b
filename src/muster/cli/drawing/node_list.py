"""Nodes as a table: one block for each GPU, full where it is in use."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType

from muster.cli.drawing.state_words import node_style
from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import amount, count
from muster.cli.terminal.screen import is_plain, is_wide
from muster.cli.terminal.text import Text
from muster.client.answers import Node
from muster.model.node import NodeState

_OUT = (NodeState.DRAINED, NodeState.PROBATION, NodeState.DOWN)
_SIGNS = {
    "in use": ("■", "#", "blue"),
    "shared": ("◪", "%", "cyan"),
    "free": ("·", ".", "dim"),
    "bad": ("×", "x", "red"),
    "out": ("░", "-", "dim"),
    "quarantined": ("?", "?", "magenta"),
}
JOBS_NAMED = 6


def node_list(nodes: Sequence[Node], console: Console) -> RenderableType:
    """A line for each node, and how much is in use in all."""
    wide, plain = is_wide(console), is_plain(console)
    levels = _levels(nodes) if wide else ()
    extra = ("pool",) if wide or len({node.pool for node in nodes}) > 1 else ()
    labels = ("labels",) if any(node.labels for node in nodes) else ()
    headings = ("node", "state", "GPUs", "used", "type", *levels, *extra, *labels, "jobs")
    made = TextTable(*headings, numbers=("used",), cut=("jobs", "labels"))
    for node in nodes:
        made.add_row(
            Text(node.name, style="bold"),
            Text(node.state, style=node_style(node.state)),
            gpu_blocks(node, plain=plain),
            f"{amount(node.used.gpus)}/{node.gpus}",
            node.gpu_type,
            *(_domain(node, level) for level in levels),
            *((node.pool,) if extra else ()),
            *((" ".join(node.labels),) if labels else ()),
            _jobs(node),
        )
    legend = _legend(nodes, plain=plain)
    notes = [Text(line, style="dim") for line in (_total(nodes), _uncounted(nodes)) if line]
    return Group(made, Text(), *notes, *([legend] if legend else []))


def gpu_blocks(node: Node, *, plain: bool) -> Text:
    """`■■■◪····`: how many GPUs of a node are in use, not which."""
    text = Text()
    for kind, number in _cells(node).items():
        sign, ascii_sign, style = _SIGNS[kind]
        text.append((ascii_sign if plain else sign) * number, style=style)
    return text


def _cells(node: Node) -> dict[str, int]:
    """How many GPUs of a node are in each condition."""
    bad = len(node.bad_gpus)
    whole = int(node.used.gpus)
    part = 1 if node.used.gpus > whole else 0
    strange = len(node.quarantined_gpus)
    rest = max(0, node.gpus - whole - part - bad - strange)
    others = {"out" if node.state in _OUT else "free": rest, "bad": bad, "quarantined": strange}
    return {"in use": whole, "shared": part, **others}


def _legend(nodes: Sequence[Node], *, plain: bool) -> Text:
    """What the signs mean, if there are others than the usual two."""
    drawn = {kind for node in nodes for kind, number in _cells(node).items() if number}
    if drawn <= {"in use", "free"}:
        return Text()
    signs = [(sign[1 if plain else 0], sign[2], kind) for kind, sign in _SIGNS.items() if kind in drawn]
    return Text("   ").join(Text.assemble((sign, style), (f" {kind}", "dim")) for sign, style, kind in signs)


def _levels(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(level for node in nodes for level in node.domains))


def _domain(node: Node, level: str) -> str:
    return node.domains.get(level, "")


def _jobs(node: Node) -> Text:
    named = " ".join(node.jobs[:JOBS_NAMED])
    more = f" +{len(node.jobs) - JOBS_NAMED}" if len(node.jobs) > JOBS_NAMED else ""
    because = f"{node.because} " if node.because and (node.state != NodeState.READY or node.bad_gpus) else ""
    because = "kept as a spare " if node.spare else because
    because += f"reserved: {' '.join(node.reservations)} " if node.reservations else ""
    return Text.assemble((because, "italic"), f"{named}{more}")


def _uncounted(nodes: Sequence[Node]) -> str:
    """What is never the reason that a job does not fit, because nobody said how much there is."""
    unsaid = [("CPUs", sum(node.cpus is None for node in nodes))]
    unsaid.append(("memory", sum(node.memory_bytes is None for node in nodes)))
    parts = [f"{word} ({count(number, 'node')})" for word, number in unsaid if number]
    return f"not counted, because nobody said how much there is: {', '.join(parts)}" if parts else ""


def _total(nodes: Sequence[Node]) -> str:
    ready = [node for node in nodes if node.state not in _OUT]
    used, total = sum(node.used.gpus for node in nodes), sum(node.gpus - len(node.bad_gpus) for node in ready)
    share = f" ({100 * used / total:.0f} %)" if total else ""
    return f"{count(len(nodes), 'node')}, {amount(used)} of {total} GPUs in use{share}"
