"""How full the cluster is now: in all, by pool, and by tier."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.cli.drawing.wording import amount, between, clock
from muster.cli.terminal.text import Text
from muster.cli.top.glance import Glance
from muster.client.answers import Node
from muster.model.node import NodeState
from muster.model.printable import one_line

OUT_OF_USE = (NodeState.DRAINED, NodeState.PROBATION, NodeState.DOWN)
POOLS_SHOWN = 6
"""More pools are summed up."""
NAME_CELLS = 16
"""A longer name of a pool is cut."""
NOTHING_SEEN = 0.001
"""A difference below this comes from adding fractions of GPUs."""


def usage_bar(used: float, total: float, *, cells: int, plain: bool) -> Text:
    """How much of something is in use."""
    full = min(cells, round(cells * used / total)) if total else 0
    style = "green" if used < 0.8 * total else "yellow" if used < 0.95 * total else "red"
    return Text.assemble((("#" if plain else "█") * full, style), (("." if plain else "░") * (cells - full), "dim"))


def headline(glance: Glance, *, width: int, plain: bool) -> Text:
    """The GPUs in use in all, and how many jobs run and wait."""
    used, total = gpus_in_use(glance.nodes)
    running, waiting = glance.totals
    bar = usage_bar(used, total, cells=max(10, min(40, width // 4)), plain=plain)
    since = glance.queue.get("oldest")
    oldest = f" (up to {between(datetime.fromisoformat(since), glance.present)})" if since else ""
    said = f"  {amount(used)} of {total} GPUs{_share(used, total)}, {running} run, {waiting} wait{oldest}"
    return bar.append(said)


def title(glance: Glance, state: Text | None = None) -> Text:
    """Which server it is, whether it answers, and when it was asked."""
    begun = Text.assemble(("muster", "bold"), "  ").append_text(Text() if state is None else state.append("  "))
    return begun.append(f"{one_line(glance.url)}  {clock(glance.present, glance.present)}", style="dim")


def pool_lines(glance: Glance, *, width: int, plain: bool) -> list[Text]:
    """A bar for each pool. None where there is only one, because it is the whole."""
    names = sorted({node.pool for node in glance.nodes})
    if len(names) < 2:
        return []
    shown = names if len(names) <= POOLS_SHOWN else names[: POOLS_SHOWN - 1]
    rows = [(one_line(name), [node for node in glance.nodes if node.pool == name]) for name in shown]
    if len(shown) < len(names):
        rows.append(("others", [node for node in glance.nodes if node.pool not in shown]))
    indent = min(NAME_CELLS, max(len(name) for name, _ in rows))
    return [_cut(name, indent).append_text(_usage(members, width=width, plain=plain)) for name, members in rows]


def tier_line(glance: Glance) -> Text:
    """What each tier has and how many of its jobs wait: `production 32 GPUs, 1 waits (3h)`."""
    parts = list(_tiers(glance))
    return Text("  ").join(parts) if parts else Text("nothing waits or runs", style="dim")


def gpus_in_use(nodes: Sequence[Node]) -> tuple[float, int]:
    """How many GPUs are in use, and how many could be."""
    used = sum(node.used.gpus for node in nodes)
    return used, sum(node.gpus - len(node.bad_gpus) for node in nodes if node.state not in OUT_OF_USE)


def _share(used: float, total: int) -> str:
    return f" ({100 * used / total:.0f} %)" if total else ""


def _usage(members: Sequence[Node], *, width: int, plain: bool) -> Text:
    used, total = gpus_in_use(members)
    bar = usage_bar(used, total, cells=max(8, min(30, width // 5)), plain=plain)
    out = sum(node.state != NodeState.READY for node in members)
    trouble = f", {out} of {len(members)} nodes not ready" if out else ""
    return Text(" ").append_text(bar).append(f" {amount(used)}/{total}{_share(used, total)}{trouble}")


def _cut(name: str, width: int) -> Text:
    text = Text(name)
    text.truncate(width, overflow="ellipsis", pad=True)
    return text


def _tiers(glance: Glance) -> Iterator[Text]:
    gpus: dict[str, float] = {}
    for job in glance.running:
        gpus[job.tier] = gpus.get(job.tier, 0) + job.gpus
    tiers = glance.queue.get("tiers", {})
    for tier in dict.fromkeys((*tiers, *gpus)):
        crowd = tiers.get(tier, {})
        running, waiting = crowd.get("running", 0), crowd.get("waiting", 0)
        if not (running or waiting or tier in gpus):
            continue
        since = crowd.get("oldest")
        oldest = f" ({between(datetime.fromisoformat(since), glance.present)})" if since and waiting else ""
        waits = f", {waiting} wait{oldest}" if waiting else ""
        yield Text.assemble((one_line(tier), "bold"), f" {amount(round(gpus.get(tier, 0), 3))} GPUs{waits}")
    others = gpus_in_use(glance.nodes)[0] - sum(gpus.values())
    if others > NOTHING_SEEN:
        yield Text.assemble(("others", "bold"), f" {amount(round(others, 3))} GPUs")
