"""`muster attach`: back to an interactive job."""

from muster.cli.connection import connect
from muster.cli.options import JobId

# ruff: noqa: PLC0415


def attach(job: JobId) -> None:
    """Type to an interactive job on this terminal, until it ends. Others who are attached see the same."""
    from muster.cli.terminal import attach_terminal

    with connect() as client:
        attach_terminal(client, job)
