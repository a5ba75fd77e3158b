"""`muster curve`: what a training measured of itself, as a curve over its steps."""

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.terminal.connection import connect
from muster.cli.terminal.exits import Exit
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobId, Output, Printed
from muster.cli.terminal.screen import note, screen, show, show_json

if TYPE_CHECKING:
    from muster.client.answers import Measure

# ruff: noqa: PLC0415

HEIGHT = 12
MARGIN = 12
WIDTH_MAX = 100

listing = Listing(JOBS)

Which = Annotated[str, typer.Argument(metavar="[NAME]", help="What was measured.")]


@listing.add
def curve(job: JobId, name: Which = "loss", output: Printed = Output.TABLE) -> None:
    """Draw the loss of a training over its steps, or another value that it hands over."""
    with connect() as client:
        found = list(client.measures(job))
    if output is Output.JSON:
        show_json([each.document for each in found])
        return
    points, undefined = drawn_points(found, name), undefined_steps(found, name)
    if undefined:
        note(f"{name} is no number at {_steps_in_words(undefined)}")
    if not points and undefined:
        raise typer.Exit(Exit.NOT_FOUND)
    if not points:
        names = sorted({each for measure in found for each in measure.values})
        instead = (
            f"it measured {', '.join(names)}" if names else "`checkpoints.step(step, state, loss=loss)` hands it over"
        )
        note(f"{job} has no {name}: {instead}")
        raise typer.Exit(Exit.NOT_FOUND)
    from muster.cli.drawing.curve import curve as drawn

    console = screen()
    width = max(min(console.width - MARGIN, WIDTH_MAX), 20)
    show(drawn(points, width=width, height=HEIGHT, breaks=resumed_at(found)), console)


def drawn_points(found: "list[Measure]", name: str) -> list[tuple[float, float]]:
    """Step and value, each step once: a step that was done again has the newer value."""
    values = {each.step: each.values.get(name) for each in found if name in each.values or name in each.no_numbers}
    return [(float(step), value) for step, value in sorted(values.items()) if value is not None]


def undefined_steps(found: "list[Measure]", name: str) -> list[int]:
    """The steps at which the newest value is not a number, in order."""
    newest = {each.step: name in each.no_numbers for each in found if name in each.values or name in each.no_numbers}
    return sorted(step for step, is_undefined in newest.items() if is_undefined)


def _steps_in_words(steps: list[int]) -> str:
    if len(steps) == 1:
        return f"step {steps[0]}"
    return f"{len(steps)} of the steps shown, from {steps[0]} to {steps[-1]}"


def resumed_at(found: "list[Measure]") -> list[float]:
    """The first steps of all attempts but the first."""
    return [float(after.step) for before, after in pairwise(found) if after.attempt != before.attempt]
