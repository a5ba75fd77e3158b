"""Teams as a tree: a bar for each GPU type, of what is used, guaranteed and allowed."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType

from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import amount, gpu_hours
from muster.cli.terminal.screen import is_plain, is_wide
from muster.cli.terminal.text import Text
from muster.client.answers import Team

ANY_TYPE = "*"
BAR_CELLS, WIDE_BAR_CELLS = 12, 24
_CELLS = {
    "used": ("█", "#", "green"),
    "borrowed": ("▓", "%", "yellow"),
    "guaranteed and unused": ("░", "-", "green"),
    "may be borrowed": ("·", ".", "dim"),
}


def team_tree(teams: Sequence[Team], console: Console) -> RenderableType:
    """A line for each team and GPU type, with sub-teams below their parents, and what the bars mean."""
    signs = [(each[1 if is_plain(console) else 0], each[2], kind) for kind, each in _CELLS.items()]
    legend = Text("   ").join(Text.assemble((sign, style), (f" {kind}", "dim")) for sign, style, kind in signs)
    return Group(_rows(teams, console), Text(), legend)


def _rows(teams: Sequence[Team], console: Console) -> TextTable:
    wide, plain = is_wide(console), is_plain(console)
    bounded = ("tiers",) if any(team.tiers is not None for team in teams) else ()
    extra = ("weight", "usage", *bounded) if wide else ()
    headings = ("team", "GPU", "", "used", "guaranteed", "lent", "limit", *extra, "runs", "waits")
    made = TextTable(*headings, numbers=[each for each in headings[3:] if each != "tiers"], cut=("team", *bounded))
    cells = WIDE_BAR_CELLS if wide else BAR_CELLS
    lends = any(team.guaranteed for team in teams)
    for name, team in _in_order(teams):
        whole = (
            (amount(team.weight), gpu_hours(team.usage_gpu_s), *(bounds_text(team) for _ in bounded)) if wide else ()
        )
        for number, gpu_type in enumerate(_types(team)):
            used, guaranteed, limit = _used(team, gpu_type), team.guaranteed.get(gpu_type), team.limit.get(gpu_type)
            first = number == 0
            made.add_row(
                name if first else "",
                "any" if gpu_type == ANY_TYPE else gpu_type,
                quota_bar(used, _covered(team, gpu_type, lends=lends), limit or 0, cells=cells, plain=plain),
                amount(used),
                amount(guaranteed) or "-",
                amount(team.lent.get(gpu_type)) or "-",
                amount(limit) or "-",
                *(whole if first else ("",) * len(whole)),
                str(team.running) if first else "",
                str(team.waiting) if first else "",
            )
    return made


def bounds_text(team: Team) -> str:
    """What the jobs of a team may ask for: `standard, exploratory; priority up to 50; also not preemptible`."""
    parts = ["any" if team.tiers is None else ", ".join(team.tiers) or "none"]
    if team.max_priority is not None:
        parts.append(f"priority up to {team.max_priority}")
    if team.tiers is not None and team.allow_unpreemptible:
        parts.append("also not preemptible")
    return "; ".join(parts)


def quota_bar(used: float, guaranteed: float, limit: float, *, cells: int, plain: bool) -> Text:
    """Used within the guarantee, used beyond it, guaranteed and unused, allowed beyond that."""
    own = min(used, guaranteed)
    parts = {
        "used": own,
        "borrowed": used - own,
        "guaranteed and unused": guaranteed - own,
        "may be borrowed": max(0, limit - max(used, guaranteed)),
    }
    top = sum(parts.values())
    if top <= 0:
        return Text()
    # A part that is not zero gets at least one cell, however small it is.
    sizes = {kind: max(1, round(cells * part / top)) if part else 0 for kind, part in parts.items()}
    while sum(sizes.values()) != cells:
        largest = max(sizes, key=lambda kind: sizes[kind])
        sizes[largest] += 1 if sum(sizes.values()) < cells else -1
    text = Text()
    for kind, size in sizes.items():
        sign, ascii_sign, style = _CELLS[kind]
        text.append((ascii_sign if plain else sign) * size, style=style)
    return text


def _in_order(teams: Iterable[Team]) -> Iterator[tuple[Text, Team]]:
    """Every team after its parent, indented by depth. A team whose parent is not listed keeps its full path."""
    known = {team.path: team for team in teams}
    for path in sorted(known, key=lambda each: each.split("/")):
        parents = [parent for parent in known if path.startswith(f"{parent}/")]
        above = max(parents, key=len, default="")
        name = path.removeprefix(f"{above}/") if above else path
        yield Text.assemble("  " * len(parents), (name, "bold")), known[path]


def _types(team: Team) -> list[str]:
    """The types that have a row. GPUs whose type nobody has named count under the sum over all types."""
    used = [key for key, value in team.used.items() if value and key and key != ANY_TYPE]
    untyped = [ANY_TYPE] if team.used.get("") else []
    return sorted(dict.fromkeys([*team.guaranteed, *team.limit, *used, *untyped])) or [ANY_TYPE]


def _covered(team: Team, gpu_type: str, *, lends: bool) -> float:
    """What the team is guaranteed of a type; for a type that no guarantee names, what it uses and does not borrow.

    Nothing is borrowed where no team lends, because none has a guarantee.
    """
    guaranteed = team.guaranteed.get(gpu_type)
    if guaranteed is not None:
        return guaranteed
    borrowed = team.borrowed.get(gpu_type, 0) if team.guaranteed else _used(team, gpu_type)
    return _used(team, gpu_type) - (borrowed if lends else 0)


def _used(team: Team, gpu_type: str) -> float:
    if gpu_type in team.used:
        return team.used[gpu_type]
    return sum(team.used.values()) if gpu_type == ANY_TYPE else 0
