"""`python -m muster.slurm NAME …`: one command of Slurm."""

import sys
from importlib import import_module

from muster.slurm.options import SlurmError, complain
from muster.worker.launch.batch_jobs import COMMANDS


def main() -> int:
    """Run the command that the first argument names. Every command is a module with a function `main`."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in COMMANDS:
        sys.stderr.write(f"muster slurm: there is no command {name!r}; there are {', '.join(COMMANDS)}\n")
        return 1
    try:
        code: int = import_module(f"muster.slurm.{name}").main(arguments)
    except SlurmError as error:
        complain(str(error))
        return 1
    except BrokenPipeError:
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
