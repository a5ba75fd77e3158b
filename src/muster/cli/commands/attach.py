"""`muster attach`: back to an interactive job."""

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobId

# ruff: noqa: PLC0415

listing = Listing(JOBS)


@listing.add
def attach(job: JobId) -> None:
    """Type to an interactive job on this terminal, until it ends. Others who are attached see the same."""
    from muster.cli.terminal.raw_terminal import attach_terminal

    with connect() as client:
        attach_terminal(client, job)
