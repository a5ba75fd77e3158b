"""Lasting overload below the table of figures: the load, from when to when, which jobs wait, and what would fix it."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from rich.console import Console

from muster.cli.terminal.text import Text
from muster.sim.report.figures.overload_words import TITLE, load_text, overload_statements
from muster.sim.report.figures.wording import SPACE

Figures = dict[str, Any]


def print_overload(rows: Sequence[Figures], varied: str | None, console: Console) -> None:
    """Print what was overloaded for days, and nothing if nothing was. A variation only gets the load at each value."""
    told = [row for row in rows if row.get("overload")]
    if not told:
        return
    console.print(Text(f"\n{TITLE}", style="bold"))
    if varied is None:
        waits = [(row["policy"], row["overload"]["waits"]) for row in told]
        statements = overload_statements(told[0]["overload"], waits)
    else:
        worst = {row[varied]: row["overload"]["parts"][0] for row in reversed(told)}
        statements = [(f"{varied} {value}", load_text(worst[value])) for value in sorted(worst)]
    for subject, text in statements:
        # Wrapped here, because what Rich wraps it also fills up with blanks.
        for line in wrap(f"{subject}: {text}", console.width, initial_indent="  ", subsequent_indent="    "):
            console.print(Text(line.replace(SPACE, " ")), soft_wrap=True)
