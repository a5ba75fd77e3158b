"""`muster checkpoints`: what a job has saved, whether it is intact, and removing it."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.terminal.connection import connect
from muster.cli.terminal.exits import Exit
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobId, Output, Printed
from muster.cli.terminal.screen import note, show, show_json
from muster.model.printable import one_line

if TYPE_CHECKING:
    from muster.client.answers import Checkpoint

# ruff: noqa: PLC0415

checkpoints = typer.Typer(name="checkpoints", help="What jobs have saved.", no_args_is_help=True)

listing = Listing(JOBS)
listing.add_group(checkpoints)

Step = Annotated[int | None, typer.Argument(metavar="[STEP]", min=0, help="The training step; all when left out.")]
OneStep = Annotated[int, typer.Argument(metavar="STEP", min=0, help="The training step.")]


@checkpoints.command("ls")
def ls(job: JobId, output: Printed = Output.TABLE) -> None:
    """List the checkpoints of a job, oldest first."""
    with connect() as client:
        found = list(client.checkpoints(job))
    _print(found, output, none=f"{job} has saved nothing that Muster knows of")


@checkpoints.command("show")
def show_one(job: JobId, step: Step = None, output: Printed = Output.TABLE) -> None:
    """Show a checkpoint of a job; without a step, the newest complete one."""
    with connect() as client:
        found = list(client.checkpoints(job))
    wanted = [each for each in found if each.step == step] if step is not None else _newest(found)
    if not wanted:
        note(f"{job} has no checkpoint of step {step}" if step is not None else f"{job} has no complete checkpoint")
        raise typer.Exit(Exit.NOT_FOUND)
    if output is Output.JSON:
        show_json(wanted[0].document)
        return
    from muster.cli.drawing.checkpoint_list import checkpoint_card

    show(checkpoint_card(wanted[0]))
    _say_unread(wanted)


@checkpoints.command("verify")
def verify(job: JobId, step: Step = None, output: Printed = Output.TABLE) -> None:
    """Read all files of a checkpoint, or of all, and compare them with their checksums. Exits 1 after any damage."""
    with connect() as client:
        found = client.verify_checkpoints(job, step)
    _print(found, output, none=f"{job} has nothing in storage")
    if any(each.problem or each.verified is False for each in found):
        raise typer.Exit(Exit.FAILED)


@checkpoints.command("rm")
def rm(job: JobId, step: OneStep, output: Printed = Output.TABLE) -> None:
    """Remove a checkpoint everywhere. The only good one of a job that goes on stays."""
    with connect() as client:
        client.remove_checkpoint(job, step)
    if output is Output.JSON:
        show_json({"job": job, "removed": step})
    else:
        show(f"step {step} of {job} is removed")


def _newest(found: "list[Checkpoint]") -> "list[Checkpoint]":
    return [each for each in found if each.complete and not each.problem][-1:]


def _print(found: "list[Checkpoint]", output: Output, *, none: str) -> None:
    if output is Output.JSON:
        show_json([each.document for each in found])
    elif not found:
        note(none)
    else:
        from muster.cli.drawing.checkpoint_list import checkpoint_list

        show(checkpoint_list(found))
        _say_unread(found)


def _say_unread(found: "list[Checkpoint]") -> None:
    """Say that the storage was not looked at, if it was not."""
    if unread := next((each.unread for each in found if each.unread), None):
        note(f"{one_line(unread)}\nThis is what Muster knows of them; try again when the storage can be reached.")
