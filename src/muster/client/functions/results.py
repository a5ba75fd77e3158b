"""What the function of a job returned or raised, from the file that the job wrote.

Unpickling runs code. So a file is read only if it lies in the caller's own folder, which nobody else can write to.
"""

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.answers.jobs import Job
from muster.home import Home, home_folder
from muster.model.errors import JobFailed, Refused

FOLDER_VARIABLE = "MUSTER_FUNCTION"
"""The variable of a job that says in which folder its call is."""
ROOT_VARIABLE = "MUSTER_FUNCTIONS"
"""The variable of the user that says under which folder calls are written."""


class RemoteTraceback(Exception):
    """The traceback that an exception had in its job."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionResult:
    """How the call of a function ended."""

    job: str
    is_error: bool
    pickled: bytes | None
    message: str
    traceback: str

    def value(self) -> Any:
        """What the function returned. Raises what it raised, or `JobFailed` where that cannot be read here."""
        if not self.is_error:
            return pickle.loads(self.pickled or b"")
        cause = RemoteTraceback(self.traceback)
        raised: object = None
        if self.pickled is not None:
            try:
                raised = pickle.loads(self.pickled)
            except Exception:  # noqa: BLE001 (its class may be missing here, or do anything)
                raised = None
        if isinstance(raised, Exception):
            raise raised from cause
        raise JobFailed(f"{self.job} failed: {self.message}") from cause


def functions_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder under which this user's calls are."""
    named = environment.get(ROOT_VARIABLE)
    return Path(named).expanduser().absolute() if named else Home(home_folder(environment).absolute()).functions


def function_result(job: Job) -> FunctionResult | None:
    """How the call of an ended job went. None when it runs no function, or ended before it had a result."""
    named = (job.spec.get("env") or {}).get(FOLDER_VARIABLE)
    if not named:
        return None
    task = 0 if job.array is None else job.array.index
    path = _own(Path(named), job.id) / f"result-{task}-0.pickle"
    if not path.exists():
        return None
    outcome = pickle.loads(path.read_bytes())
    return FunctionResult(
        job=job.id,
        is_error=outcome["is_error"],
        pickled=outcome["value"],
        message=outcome["message"],
        traceback=outcome["traceback"],
    )


def _own(folder: Path, job: str) -> Path:
    """The folder, if it is one of this user's calls."""
    root = functions_folder()
    is_own = folder.parent == root and not folder.is_symlink() and folder.is_dir()
    if is_own and all(_is_private(each) for each in (root, folder)):
        return folder
    raise Refused(
        f"the result of {job} is in {folder}, which is not a private folder of yours under {root}: reading it could "
        f"run the code of others; if it is yours, {ROOT_VARIABLE} names the folder that it was submitted from"
    )


def _is_private(folder: Path) -> bool:
    found = folder.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077
