"""Checkpoints of a job: a line for each, or one in full."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table

from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import count, moment, size
from muster.cli.terminal.text import Text
from muster.client.answers import Checkpoint
from muster.model.printable import one_line


def checkpoint_list(checkpoints: Iterable[Checkpoint]) -> RenderableType:
    """A table, oldest first."""
    made = TextTable(
        "step", "saved", "size", "ranks", "state", "where", numbers=("step", "size", "ranks"), cut=("state",)
    )
    for each in checkpoints:
        made.add_row(
            str(each.step), moment(each.at), size(each.bytes), str(each.ranks), _state(each), ", ".join(each.where)
        )
    return made


def checkpoint_card(checkpoint: Checkpoint) -> RenderableType:
    """Everything about one checkpoint."""
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column()
    lines = (
        ("step", str(checkpoint.step)),
        ("state", _state(checkpoint).plain),
        ("saved", moment(checkpoint.at)),
        ("size", f"{size(checkpoint.bytes)}, of {count(checkpoint.ranks, 'rank')}"),
        ("where", ", ".join(checkpoint.where) or "nowhere any more"),
        ("path", one_line(checkpoint.path)),
    )
    for name, value in lines:
        made.add_row(name, value)
    return made


def _state(checkpoint: Checkpoint) -> Text:
    if checkpoint.problem:
        return Text(f"damaged: {one_line(checkpoint.problem)}", style="red")
    if not checkpoint.complete:
        return Text("not complete", style="yellow")
    return Text("complete and verified" if checkpoint.verified else "complete", style="green")
