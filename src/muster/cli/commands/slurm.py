"""`muster slurm`: the commands of Slurm, for people and tools that know those."""

import os
from pathlib import Path
from typing import Annotated

import typer

from muster.cli.slurm_launchers import install as install_launchers
from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note, show, show_json

slurm = typer.Typer(name="slurm", help="The commands of Slurm: sbatch, srun, squeue and others.", no_args_is_help=True)

listing = Listing(SERVER)
listing.add_group(slurm)


@slurm.command("install")
def install(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder for the programs.")],
    output: Printed = Output.TABLE,
) -> None:
    """Put `sbatch`, `srun`, `squeue` and the others into a folder. They ask the server that `muster` asks."""
    programs = install_launchers(folder.expanduser().absolute())
    names = [each.name for each in programs]
    if output is Output.JSON:
        show_json({"folder": str(programs[0].parent), "programs": names})
    else:
        show(f"{len(programs)} programs are in {programs[0].parent}: {', '.join(names)}")
    if str(programs[0].parent) not in os.environ.get("PATH", "").split(os.pathsep):
        note(f'they are found after: export PATH="{programs[0].parent}:$PATH"')
