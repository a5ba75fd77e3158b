"""Nodes as a table: one block for each GPU, full where it is in use."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from muster.cli.screen import is_plain, is_wide, table
from muster.cli.wording import amount, count, node_style
from muster.client.answers import Node
from muster.model.node import NodeState

_OUT = (NodeState.DRAINED, NodeState.DOWN)
_SIGNS = {"used": ("■", "#", "blue"), "part": ("◪", "%", "cyan"), "free": ("·", ".", "dim"), "bad": ("×", "x", "red")}
JOBS_NAMED = 6


def node_list(nodes: Sequence[Node], console: Console) -> RenderableType:
    """A line for each node, and how much of all is in use."""
    wide, plain = is_wide(console), is_plain(console)
    levels = _levels(nodes) if wide else ()
    made = table("node", "state", "GPUs", "used", "type", *levels, "pool", "jobs", numbers=("used",), cut=("jobs",))
    for node in nodes:
        made.add_row(
            Text(node.name, style="bold"),
            Text(node.state, style=node_style(node.state)),
            gpu_blocks(node, plain=plain),
            f"{amount(node.used.gpus)}/{node.gpus}",
            node.gpu_type,
            *(_domain(node, level) for level in levels),
            node.pool,
            _jobs(node),
        )
    return Group(made, Text(), Text(_total(nodes), style="dim"))


def gpu_blocks(node: Node, *, plain: bool) -> Text:
    """`■■■◪····`: how many GPUs of a node are in use, not which."""
    bad = len(node.bad_gpus)
    whole = int(node.used.gpus)
    part = 1 if node.used.gpus > whole else 0
    free = max(0, node.gpus - whole - part - bad)
    signs = {"used": whole, "part": part, "free": free, "bad": bad}
    text = Text()
    for kind, number in signs.items():
        sign, ascii_sign, style = _SIGNS[kind]
        faded = "dim" if node.state in _OUT and kind == "free" else style
        text.append((ascii_sign if plain else sign) * number, style=faded)
    return text


def _levels(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(level for node in nodes if isinstance(node.domains, dict) for level in node.domains))


def _domain(node: Node, level: str) -> str:
    return str(node.domains.get(level, "")) if isinstance(node.domains, dict) else ""


def _jobs(node: Node) -> Text:
    named = " ".join(node.jobs[:JOBS_NAMED])
    more = f" +{len(node.jobs) - JOBS_NAMED}" if len(node.jobs) > JOBS_NAMED else ""
    because = f"{node.because} " if node.because and node.state != NodeState.READY else ""
    return Text.assemble((because, "italic"), f"{named}{more}")


def _total(nodes: Sequence[Node]) -> str:
    ready = [node for node in nodes if node.state not in _OUT]
    used, total = sum(node.used.gpus for node in nodes), sum(node.gpus - len(node.bad_gpus) for node in ready)
    share = f" ({100 * used / total:.0f} %)" if total else ""
    return f"{count(len(nodes), 'node')}, {amount(used)} of {total} GPUs in use{share}"
