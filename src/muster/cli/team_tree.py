"""Teams as a tree: a bar for each GPU type, of what is used, guaranteed and allowed."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from muster.cli.screen import is_plain, is_wide, table
from muster.cli.wording import amount, gpu_hours
from muster.client.answers import Team

ANY_TYPE = "*"
BAR_CELLS, WIDE_BAR_CELLS = 12, 24
_CELLS = {
    "own": ("█", "#", "green"),
    "borrowed": ("▓", "%", "yellow"),
    "unused": ("░", "-", "green"),
    "open": ("·", ".", "dim"),
}


def team_tree(teams: Sequence[Team], console: Console) -> Table:
    """A line for each team and GPU type, with sub-teams below their parents."""
    wide, plain = is_wide(console), is_plain(console)
    extra = ("weight", "usage") if wide else ()
    numbers = ("used", "guaranteed", "limit", "weight", "usage", "runs", "waits")
    made = table("team", "GPU", "", "used", "guaranteed", "limit", *extra, "runs", "waits", numbers=numbers)
    cells = WIDE_BAR_CELLS if wide else BAR_CELLS
    for indent, team in _in_order(teams):
        name = Text.assemble("  " * indent, (team.path.rsplit("/", 1)[-1], "bold"))
        more = (amount(team.weight), gpu_hours(team.usage_gpu_s)) if wide else ()
        for number, gpu_type in enumerate(_types(team)):
            first = number == 0
            used, guaranteed, limit = (_of(each, gpu_type) for each in (team.used, team.guaranteed, team.limit))
            made.add_row(
                name if first else "",
                "any" if gpu_type == ANY_TYPE else gpu_type,
                quota_bar(used or 0, guaranteed, limit, cells=cells, plain=plain),
                amount(used or 0),
                amount(guaranteed) or "–" * (not plain),
                amount(limit) or "–" * (not plain),
                *(more if first else ("", "") if wide else ()),
                str(team.running) if first else "",
                str(team.waiting) if first else "",
            )
    return made


def quota_bar(used: float, guaranteed: float | None, limit: float | None, *, cells: int, plain: bool) -> Text:
    """Used within the guarantee, used beyond it, guaranteed and unused, allowed beyond that."""
    own = min(used, guaranteed or 0)
    top = max(used, guaranteed or 0, limit or 0)
    if top <= 0:
        return Text()
    ends = {"own": own, "borrowed": used, "unused": max(used, guaranteed or 0), "open": top}
    text, at = Text(), 0
    for kind, value in ends.items():
        # What is in use is seen, however little it is.
        end = max(
            at, round(cells * value / top), at + 1 if kind in ("own", "borrowed") and value * cells > at * top else 0
        )
        sign, ascii_sign, style = _CELLS[kind]
        text.append((ascii_sign if plain else sign) * (min(end, cells) - at), style=style)
        at = min(end, cells)
    return text


def _in_order(teams: Iterable[Team]) -> Iterator[tuple[int, Team]]:
    """Every team after its parent, with its depth among those that are there."""
    known = {team.path: team for team in teams}
    for path in sorted(known, key=lambda each: each.split("/")):
        parents = [path.rsplit("/", depth)[0] for depth in range(1, path.count("/") + 1)]
        yield sum(parent in known for parent in parents), known[path]


def _types(team: Team) -> list[str]:
    named = [*team.guaranteed, *team.limit, *(key for key, value in team.used.items() if value)]
    return sorted(dict.fromkeys(named)) or [ANY_TYPE]


def _of(amounts: dict[str, float], gpu_type: str) -> float | None:
    if gpu_type == ANY_TYPE and gpu_type not in amounts:
        return sum(amounts.values()) if amounts else None
    return amounts.get(gpu_type)
