"""`muster ps --start`: when the jobs that wait may start."""

from typing import Any

from muster.cli.drawing.wording import now
from muster.cli.terminal.connection import connect
from muster.cli.terminal.options import Output
from muster.cli.terminal.screen import note, screen, show, show_ids, show_json

# ruff: noqa: PLC0415


def show_starts(filters: dict[str, Any], limit: int, output: Output, *, quiet: bool) -> None:
    """Print when queued jobs that match the filters may start, the soonest first."""
    with connect() as client:
        waiting = list(client.starts(**filters))
    shown = waiting[:limit]
    if output is Output.JSON:
        show_json([each.document for each in shown])
    elif quiet:
        show_ids(each.job for each in shown)
    elif shown:
        from muster.cli.drawing.start_list import grounds_texts, start_list

        show(start_list(shown, now()), screen())
        for text in grounds_texts(shown):
            note(text)
    else:
        note("no such job waits for its start")
    if len(waiting) > limit:
        note(f"there are more than {limit}; --limit shows more")
