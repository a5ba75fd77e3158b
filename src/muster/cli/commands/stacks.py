"""`muster stacks`: what the processes of a job are doing."""

from typing import Annotated

import typer

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobId, Output, Printed
from muster.cli.terminal.screen import show_json, show_text

listing = Listing(JOBS)


@listing.add
def stacks(
    job: JobId,
    attempt: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="What this attempt did when it stood still.")
    ] = None,
    rank: Annotated[int | None, typer.Option(metavar="N", min=0, help="Only this rank.")] = None,
    output: Printed = Output.TABLE,
) -> None:
    """Show the stacks of all ranks of a job."""
    with connect() as client:
        answer = client.stacks(job, attempt)
    if output is Output.JSON:
        show_json(answer.document)
        return
    for each in answer.stacks:
        if rank is None or each.rank == rank:
            show_text(f"rank {each.rank}")
            show_text(f"{each.stack.rstrip()}\n")
