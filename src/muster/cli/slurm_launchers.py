"""Small programs in a folder, each of which starts one command of Slurm. Batch jobs find the same on their path."""

import os
from pathlib import Path

from muster.model.errors import InvalidInput, Refused
from muster.worker.launch.batch_jobs import COMMANDS, command_text

MARK = b"from muster.slurm."
"""What stands in every launcher."""

READ_BYTES = 4096
"""How much of a file is read to see whether it is a launcher, which is shorter."""


def install(folder: Path) -> list[Path]:
    """Write a launcher for each command. A file that is something else is never replaced."""
    programs = [folder / name for name in COMMANDS]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if others := [str(program) for program in programs if program.exists() and not _is_launcher(program)]:
            raise Refused(f"{', '.join(others)} is another program and stays; choose another folder")
        for program in programs:
            _write(program, command_text(program.name))
    except OSError as error:
        raise InvalidInput(f"{error.filename}: {error.strerror}; choose another folder") from None
    return programs


def _is_launcher(program: Path) -> bool:
    with program.open("rb") as file:
        return MARK in file.read(READ_BYTES)


def _write(program: Path, text: str) -> None:
    """Replace the file at once, so that a command that starts meanwhile finds one or the other."""
    draft = program.with_name(f".{program.name}.{os.getpid()}")
    draft.write_text(text, "utf-8")
    draft.chmod(0o755)
    draft.replace(program)
