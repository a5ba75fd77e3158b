"""`muster quarantine`: what nodes run that the database does not know, and what is to be done with it."""

import typer

from muster.cli.drawing.table import TextTable
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Because, JobIds, Output, Printed, Quiet
from muster.cli.terminal.screen import note, show, show_ids, show_json

quarantine = typer.Typer(
    name="quarantine", help="What nodes run that the database does not know.", no_args_is_help=True
)

listing = Listing(CLUSTER)
listing.add_group(quarantine)


@quarantine.command("ls")
def ls(output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """List it. Its GPUs are given to nobody until it has ended or was adopted."""
    with connect() as client:
        found = list(client.quarantine())
    if output is Output.JSON:
        show_json([gang.document for gang in found])
    elif quiet:
        show_ids(gang.job for gang in found)
    elif not found:
        note("nothing is in quarantine")
    else:
        made = TextTable(
            "job", "attempt", "name", "team", "here", "runs on", numbers=("attempt",), cut=("name", "runs on")
        )
        for gang in found:
            places = ", ".join(f"{worker.node} GPU {_numbers(worker.gpus)}" for worker in gang.workers)
            made.add_row(gang.job, str(gang.attempt), gang.name or "?", gang.team or "?", gang.state or "no", places)
        show(made)


@quarantine.command("adopt")
def adopt(jobs: JobIds, reason: Because = None, output: Printed = Output.TABLE) -> None:
    """Let jobs go on with what they have in quarantine; jobs that were forgotten are known again."""
    with connect() as client:
        for job in jobs:
            client.adopt(job, reason=reason)
            if output is Output.TABLE:
                show(f"{job} goes on")
    if output is Output.JSON:
        show_json({"adopted": jobs})


@quarantine.command("kill")
def kill(jobs: JobIds, reason: Because = None, output: Printed = Output.TABLE) -> None:
    """End what jobs have in quarantine."""
    with connect() as client:
        for job in jobs:
            client.kill_quarantined(job, reason=reason)
            if output is Output.TABLE:
                show(f"{job} is being ended; its GPUs are free once its nodes say so")
    if output is Output.JSON:
        show_json({"ending": jobs})


def _numbers(gpus: tuple[int, ...]) -> str:
    return ",".join(map(str, gpus)) or "none"
