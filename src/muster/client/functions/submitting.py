"""A function and its arguments -> a job that calls it.

They are written into a folder of their own under `~/.muster/functions`, or under the folder that MUSTER_FUNCTIONS
names, which only the caller can read. The job reads them there, so its node must see the same folder, and its
processes must run as the caller. Nothing removes the folder: the result stays until the caller deletes it.
"""

import importlib
import json
import os
import pickle
import re
import shlex
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from muster.client.client import Client
from muster.client.functions import runner
from muster.client.functions.results import FOLDER_VARIABLE, functions_folder
from muster.client.job_handle import JobHandle
from muster.model.errors import InvalidInput, MusterError
from muster.model.limits import JOB_NAME_CHARS
from muster.private_files import claim_folder, open_private

RESERVED = ("run", "array", "roles", "setup")
"""Keys of a job file that say what a job runs. Here the function does."""


def submit_function(
    function: Callable[..., Any],
    *arguments: Any,
    gpus: float = 0,
    job: Mapping[str, Any] | None = None,
    client: Client | None = None,
    **named: Any,
) -> JobHandle:
    """Call a function in a job. `result()` of the returned job is what the function returns or raises.

    `job` has further keys of a job file, such as `team` or `max_duration`. Arguments of the function that are called
    `gpus`, `job` or `client` have to be bound with `functools.partial`. If the job has several workers, each calls the
    function, and the result is that of rank 0.
    """
    with _written(function, [(arguments, named)]) as folder:
        return (client or Client()).submit(_document(function, folder, gpus, job))


def map_array(
    function: Callable[..., Any],
    *iterables: Iterable[Any],
    gpus: float = 0,
    at_once: int | None = None,
    job: Mapping[str, Any] | None = None,
    client: Client | None = None,
) -> list[JobHandle]:
    """Call a function once for each element, as the tasks of one array, of which `at_once` may run at the same time.

    With several iterables the function gets one element of each, until the shortest is used up. Returns the tasks in
    the order of the elements.
    """
    calls: list[tuple[Sequence[Any], Mapping[str, Any]]] = [
        (arguments, {}) for arguments in zip(*iterables, strict=False)
    ]
    if not calls:
        return []
    with _written(function, calls) as folder:
        limit = "" if at_once is None else f"%{at_once}"
        array = {"array": f"0-{len(calls) - 1}{limit}"}
        used = client or Client()
        submitted = used.submit({**_document(function, folder, gpus, job), **array})
    return sorted(used.jobs(array=submitted.id), key=lambda task: 0 if task.array is None else task.array.index)


@contextmanager
def _written(function: Callable[..., Any], calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]) -> Iterator[Path]:
    """A folder with everything that the job needs. It is removed again if the job is not accepted."""
    root = functions_folder()
    claim_folder(root)
    folder = root / uuid.uuid4().hex
    folder.mkdir(mode=0o700)
    try:
        _write(folder / "call.json", json.dumps({"path": [each for each in sys.path if each]}).encode())
        _write(folder / "function.pickle", _pickled(function, function))
        for number, call in enumerate(calls):
            _write(folder / f"arguments-{number}.pickle", _pickled(call, function))
        _write(folder / "run.py", Path(runner.__file__).read_bytes())
        yield folder
    except (MusterError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _document(
    function: Callable[..., Any], folder: Path, gpus: float, further: Mapping[str, Any] | None
) -> dict[str, Any]:
    given = dict(further or {})
    if wrong := next((key for key in RESERVED if key in given), None):
        raise InvalidInput(f"job: {wrong!r} cannot be given: the job runs the function")
    resources = {**({"gpus": gpus} if gpus else {}), **given.pop("resources", {})}
    name = re.sub(r"[^a-z0-9-]+", "-", getattr(function, "__name__", "function").lower()).strip("-")
    return {
        "name": name[:JOB_NAME_CHARS] or "function",
        "workdir": str(Path.cwd()),
        **({"resources": resources} if resources else {}),
        **given,
        "env": {**given.get("env", {}), FOLDER_VARIABLE: str(folder)},
        "run": shlex.join([sys.executable, str(folder / "run.py")]),
    }


def _pickled(value: object, function: Callable[..., Any]) -> bytes:
    """With cloudpickle, which also takes lambdas and what is defined in a script, or else with pickle."""
    try:
        pickler: Any = importlib.import_module("cloudpickle")
    except ImportError:
        pickler = pickle
    name = getattr(function, "__qualname__", repr(function))
    if pickler is pickle and getattr(function, "__module__", "") == "__main__":
        raise InvalidInput(
            f"{name} is defined in the script itself, where pickle cannot find it: "
            "install cloudpickle (`pip install 'muster-scheduler[functions]'`), or import it from a module"
        )
    try:
        return bytes(pickler.dumps(value))
    except Exception as error:
        kind = type(error).__name__
        raise InvalidInput(f"{name} or one of its arguments cannot be sent to a job: {kind}: {error}") from error


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(open_private(path, os.O_EXCL), "wb") as file:
        file.write(content)
