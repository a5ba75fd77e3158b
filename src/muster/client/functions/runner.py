"""Calls a function in a job. A copy of this file stands in the folder of the call, so it needs nothing of Muster.

It is run by any Python that can read what was pickled. What the function returned or raised is written into a file that
appears as a whole. The folder has:

    call.json            where modules were found when the function was submitted
    function.pickle      the function
    arguments-N.pickle   the arguments of task N of an array; of task 0 without an array
    result-N-R.pickle    what rank R of task N returned or raised
"""

import importlib
import json
import os
import pickle
import sys
import traceback
from typing import Any


def main() -> int:
    """Call the function. The exit code is 1 when it raises."""
    folder = os.path.dirname(os.path.abspath(__file__))
    task, rank = os.environ.get("MUSTER_ARRAY_INDEX", "0"), os.environ.get("MUSTER_RANK", "0")
    result = os.path.join(folder, f"result-{task}-{rank}.pickle")
    if os.path.exists(result):
        os.remove(result)  # of an earlier attempt
    outcome = _outcome(folder, task)
    _write(result, pickle.dumps(outcome))
    if outcome["traceback"]:
        sys.stderr.write(outcome["traceback"])
    return 1 if outcome["is_error"] else 0


def _outcome(folder: str, task: str) -> dict[str, Any]:
    """What the call came to. The value is pickled by itself, so that the rest can be read without its classes."""
    try:
        _find_modules(folder)
        function = _read(os.path.join(folder, "function.pickle"))
        arguments, named = _read(os.path.join(folder, f"arguments-{task}.pickle"))
        return {"is_error": False, "value": _pickled(function(*arguments, **named)), "message": "", "traceback": ""}
    except Exception as error:  # noqa: BLE001 (whatever it raises is its result)
        told = {"message": f"{type(error).__qualname__}: {error}", "traceback": traceback.format_exc()}
        value: bytes | None = None
        try:
            value = _pickled(error)
            pickle.loads(value)  # Many exceptions can be pickled and not be read again.
        except Exception:  # noqa: BLE001 (a class may do anything when it is pickled)
            value = None
        return {"is_error": True, "value": value, **told}


def _find_modules(folder: str) -> None:
    """Look for modules also where they were found when the function was submitted."""
    with open(os.path.join(folder, "call.json"), encoding="utf-8") as file:
        sys.path += [each for each in json.load(file)["path"] if each not in sys.path]


def _read(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


def _pickled(value: object) -> bytes:
    try:
        pickler: Any = importlib.import_module("cloudpickle")
    except ImportError:
        pickler = pickle
    return bytes(pickler.dumps(value))


def _write(path: str, content: bytes) -> None:
    draft = f"{path}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


if __name__ == "__main__":
    sys.exit(main())
