"""`muster exec`: a command beside a running worker."""

import shlex
import sys
from typing import Annotated

import typer

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobId
from muster.model.errors import InvalidInput

# ruff: noqa: PLC0415

Words = Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run; put -- in front of it.")]
Rank = Annotated[int, typer.Option("-r", "--rank", min=0, metavar="RANK", help="Beside which worker.")]
Tty = Annotated[
    bool | None,
    typer.Option("-t/-T", "--tty/--no-tty", help="With a terminal, or without; else if this is one."),
]

listing = Listing(JOBS)


def execute(job: JobId, command: Words, rank: Rank = 0, tty: Tty = None) -> None:
    """Run a command beside a running worker, in its place. The exit code is that of the command."""
    from muster.cli.terminal.raw_terminal import run_beside

    is_here = sys.stdin.isatty() and sys.stdout.isatty()
    if tty and not is_here:
        raise InvalidInput("-t: standard input and output are not a terminal; leave -t out")
    line = command[0] if len(command) == 1 else shlex.join(command)
    with connect() as client:
        code = run_beside(client, job, line, rank=rank, has_terminal=is_here if tty is None else tty)
    raise typer.Exit(code)


execute.__name__ = "exec"
listing.add(execute)
