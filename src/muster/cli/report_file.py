"""Where the report of `muster simulate` goes: looked at before the replay, which may take long."""

import os
from collections.abc import Iterable
from pathlib import Path

from muster.model.errors import InvalidInput


def check_report_file(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a place where no report can be written, or where it would replace what the replay is made from."""
    if path.is_dir():
        raise _unwritable(path, "this is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise _unwritable(path, "this is not a regular file")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise _unwritable(path, f"there is no folder {path.parent}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"the folder {path.parent} cannot be written to")
    if path.exists() and not os.access(path, os.W_OK):
        raise _unwritable(path, "the file that is there is protected")
    for each in inputs:
        if path.exists() and each.exists() and path.samefile(each):
            raise _unwritable(path, "it would replace an input of the replay; choose another name")


def _unwritable(path: Path, problem: str) -> InvalidInput:
    return InvalidInput(f"--html {path}: the report cannot be written: {problem}")
