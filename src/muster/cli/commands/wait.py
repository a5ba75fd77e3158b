"""`muster wait`: until jobs have ended."""

from typing import Annotated

import typer

from muster.cli.terminal.amounts import seconds
from muster.cli.terminal.connection import connect
from muster.cli.terminal.exits import Exit
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobIds, Output, Printed, Quiet

# ruff: noqa: PLC0415

Patience = Annotated[str | None, typer.Option("--timeout", metavar="TIME", help="Give up after this long: 90s, 2h.")]

listing = Listing(JOBS)


@listing.add
def wait(jobs: JobIds, timeout: Patience = None, output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """Wait until jobs have ended. The exit code is 1 when one failed, 6 when one was cancelled or time was up."""
    from muster.cli.following.following import leaving
    from muster.cli.following.waiting import report, wait_for

    timeout_s = None if timeout is None else seconds(timeout, "--timeout")
    with connect() as client, leaving("the jobs go on", code=Exit.CANCELLED):
        ended = wait_for(client, jobs, timeout_s=timeout_s)
    report(ended, output, quiet=quiet)
