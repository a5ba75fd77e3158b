"""`sbcast`: a file of the first node on all nodes of the allocation."""

import os
import stat
from collections.abc import Sequence

from muster.slurm.options import Parser, SlurmError
from muster.slurm.srun import ALLOCATION
from muster.slurm.steps.step import RunningStep, StepOptions, StepRefused
from muster.worker.gang.allocation import read_allocation
from muster.worker.gang.step_layout import StepRequest

COPY = 'to=$1; [ ! -d "$to" ] || to=$to/$2; cat > "$to.$$" && chmod "$3" "$to.$$" && mv -f "$to.$$" "$to"'
"""What runs on each node. The file appears whole: virtual nodes share their files, and so write the same one."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    given = _parser().parse_args(arguments)
    path = os.environ.get(ALLOCATION)
    if not path or not os.path.exists(path):
        raise SlurmError("sbcast: error: Command only valid from within SLURM job")
    _read_from(given.source)
    name, mode = os.path.basename(given.source), stat.S_IMODE(os.fstat(0).st_mode)
    target = os.path.join(given.target, name) if os.path.isdir(given.target) else given.target
    if os.path.exists(target) and not given.force:
        raise SlurmError(f"sbcast: error: {target}: File exists; --force overwrites it")
    allocation = read_allocation(path)
    options = StepOptions(
        command=("/bin/sh", "-c", COPY, "sh", given.target, name, f"{mode:o}"),
        name="sbcast",
        request=StepRequest(nodes=len(allocation.nodes), tasks=len(allocation.nodes), overlap=True),
        variables=dict(os.environ),
        folder=os.getcwd(),
    )
    try:
        return RunningStep(allocation, options).run()
    except StepRefused as error:
        raise SlurmError(f"sbcast: error: {error}") from None


def _parser() -> Parser:
    parser = Parser("sbcast")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("target", metavar="DEST")
    parser.flags("-f --force")
    parser.ignored("-p --preserve", "--send-libs")
    parser.ignored("-C --compress", "-F --fanout", "-j --jobid", "-s --size", "-t --timeout", takes_value=True)
    return parser


def _read_from(source: str) -> None:
    """Let the step read the file, as if it had been redirected to it."""
    try:
        file = os.open(source, os.O_RDONLY)
    except OSError as error:
        raise SlurmError(f"sbcast: error: Can't open `{source}`: {error.strerror}") from None
    os.dup2(file, 0)
    os.close(file)
