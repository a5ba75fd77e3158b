"""The nodes as rows."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from muster.cli.drawing.node_list import gpu_blocks
from muster.cli.drawing.state_words import node_style
from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import amount
from muster.cli.terminal.screen import is_plain
from muster.cli.terminal.text import Text
from muster.cli.top.glance import Glance
from muster.client.answers import Node


def chosen_nodes(glance: Glance, words: str) -> list[Node]:
    """The nodes that are about every one of the words."""
    return [node for node in glance.nodes if all(_is_about(node, word) for word in words.lower().split())]


def node_rows(nodes: Sequence[Node], console: Console) -> TextTable:
    """A row for each node, without the columns in which there would be nothing."""
    columns = {heading: [cell(node, is_plain(console)) for node in nodes] for heading, cell in _COLUMNS.items()}
    kept = {heading: cells for heading, cells in columns.items() if heading in _ALWAYS or any(map(len, cells))}
    made = TextTable(*kept, numbers=("used",), cut=("node", "pool", "place", "why"))
    for row in zip(*kept.values(), strict=True):
        made.add_row(*row)
    return made


def _why(node: Node) -> str:
    parts = ["" if node.because == node.state else node.because or "", "kept as a spare" if node.spare else ""]
    parts += [f"reserved: {' '.join(node.reservations)}"] if node.reservations else []
    return ", ".join(filter(None, parts))


def _is_about(node: Node, word: str) -> bool:
    named = (node.name, node.state, node.pool, node.gpu_type, *node.domains.values(), *node.labels, *node.jobs)
    return any(word in each.lower() for each in named)


_ALWAYS = ("node", "state", "GPUs", "used")
_COLUMNS: Mapping[str, Callable[[Node, bool], str | Text]] = {
    "node": lambda node, _: Text(node.name, style="bold"),
    "state": lambda node, _: Text(node.state, style=node_style(node.state)),
    "GPUs": lambda node, plain: gpu_blocks(node, plain=plain),
    "used": lambda node, _: f"{amount(node.used.gpus)}/{node.gpus}",
    "type": lambda node, _: node.gpu_type,
    "pool": lambda node, _: node.pool,
    "place": lambda node, _: "/".join(node.domains.values()),
    "why": lambda node, _: _why(node),
}
