"""`sinfo`: partitions and nodes."""

import sys
from argparse import Namespace
from collections.abc import Sequence

from muster.slurm.options import Parser, connected, show_lines, words
from muster.slurm.showing.columns import TableLayout, by_letters, by_wide_names
from muster.slurm.showing.documents import nodes_document, written
from muster.slurm.showing.host_lists import expanded
from muster.slurm.showing.node_fields import AGGREGATED, NODE_FIELDS, NodeGroup
from muster.slurm.showing.node_rows import NodeRow, node_rows

USUAL = "%#P %.5a %.10l %.6D %.6t %N"
LONG = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
SUMMARY = "%#P %.5a %.10l %.16F %N"
BY_NODE = "%#N %.6D %#P %6t"
BY_NODE_LONG = "%#N %.6D %#P %.11T %.4c %.8z %.6m %.8d %.6w %.8f %20E"
REASONS = "%20E %9u %19H %N"

LETTERS = {
    "a": "Available",
    "A": "NodeAI",
    "b": "Features_Act",
    "B": "MaxCPUsPerNode",
    "c": "CPUs",
    "C": "CPUsState",
    "d": "Disk",
    "D": "Nodes",
    "e": "FreeMem",
    "E": "Reason",
    "f": "Features",
    "F": "NodeAIOT",
    "g": "Groups",
    "G": "Gres",
    "h": "OverSubscribe",
    "H": "Timestamp",
    "l": "Time",
    "L": "DefaultTime",
    "m": "Memory",
    "n": "NodeHost",
    "N": "NodeList",
    "o": "NodeAddr",
    "O": "CPUsLoad",
    "p": "PriorityTier",
    "P": "Partition",
    "r": "Root",
    "R": "PartitionName",
    "s": "Size",
    "t": "StateCompact",
    "T": "StateLong",
    "u": "User",
    "v": "Version",
    "w": "Weight",
    "X": "Sockets",
    "Y": "Cores",
    "z": "SocketCoreThread",
    "Z": "Threads",
}


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    given = _parser().parse_args(arguments)
    with connected("sinfo") as client:
        rows = [row for row in node_rows(tuple(client.nodes())) if _is_wanted(row, given)]
    if given.json:
        sys.stdout.write(written(nodes_document(rows)))
        return 0
    layout = _layout(given)
    show_lines(layout.lines(_groups(rows, layout, given), header=not given.noheader))
    return 0


def _parser() -> Parser:
    parser = Parser("sinfo")
    parser.add_argument("-o", "--format")
    parser.add_argument("-O", "--Format", dest="wide")
    parser.texts("-p --partition", "-n --nodes", "-t --states")
    parser.flags("-h --noheader", "-N --Node", "-l --long", "-s --summarize", "--json")
    parser.flags("-e --exact", "-R --list-reasons", "-d --dead", "-r --responding")
    parser.ignored("-a --all", "--federation", "--local")
    parser.ignored("-M --clusters", "-S --sort", "-i --iterate", takes_value=True)
    return parser


def _layout(given: Namespace) -> TableLayout[NodeGroup]:
    if given.wide:
        return by_wide_names(given.wide, NODE_FIELDS, "sinfo")
    by_node = BY_NODE_LONG if given.long else BY_NODE
    usual = REASONS if given.list_reasons else LONG if given.long else SUMMARY if given.summarize else USUAL
    return by_letters(given.format or (by_node if given.Node else usual), LETTERS, NODE_FIELDS, "sinfo")


def _is_wanted(row: NodeRow, given: Namespace) -> bool:
    partitions, states = words(given.partition), [word.lower() for word in words(given.states)]
    nodes = [name for word in words(given.nodes) for name in expanded(word)]
    names = (row.state, row.short_state, "alloc" if row.state == "mixed" else row.short_state, "all")
    return (
        (not partitions or row.node.pool in partitions)
        and (not nodes or row.node.name in nodes)
        and (not states or any(word in names for word in states))
        and (not given.list_reasons or bool(row.node.because))
        and (not given.dead or row.state == "down")
        and (not given.responding or row.state != "down")
    )


def _groups(rows: Sequence[NodeRow], layout: TableLayout[NodeGroup], given: Namespace) -> list[NodeGroup]:
    """The nodes of each line: those of one partition that differ in nothing that the line shows."""
    shown = [column.field for column in layout.columns if column.field.name.lower() not in AGGREGATED]
    found: dict[tuple[object, ...], list[NodeRow]] = {}
    for row in rows:
        alone = NodeGroup(nodes=(row,), partition=row.partition)
        own = row.node.name if given.Node else ""
        key = (row.node.pool if not given.Node else "", own, *(field.value(alone) for field in shown))
        found.setdefault(key, []).append(row)
    return [NodeGroup(nodes=tuple(group), partition=group[0].partition) for group in found.values()]
