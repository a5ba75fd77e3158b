"""The folder that puts `muster.train` on Python's path in every worker, and nothing else of Muster.

It is copied from where this Muster is installed, because that place has everything else in it too, which an interpreter
of the job must not find by accident. An interpreter that has a Muster of its own finds the rest there.
"""

import os
from pathlib import Path

from muster.worker.launch.runtime_folder import claim, remove

SOURCE = Path(__file__).parents[2] / "train"

PACKAGE = '''\
"""Only `muster.train`, for any Python of a job. The rest is that of an installed Muster, if there is one."""

import os
from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)


def __getattr__(name):
    """What the installed Muster has under this name."""
    for folder in __path__[1:]:
        file = os.path.join(folder, "__init__.py")
        if os.path.isfile(file):
            with open(file, "rb") as text:
                names = {"__name__": __name__, "__file__": file, "__path__": __path__}
                exec(compile(text.read(), file, "exec"), names)
            if name in names:
                return names[name]
            if "__getattr__" in names:
                return names["__getattr__"](name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
'''
"""The `__init__.py` of the folder. It is read by any Python from 3.10 on."""


def training_path(workers: Path) -> Path:
    """The folder for the path of a node's workers: beside the folder of its workers, which is emptied at times."""
    return workers.with_name(f".train-{workers.name}")


def provide(workers: Path) -> Path:
    """Copy the package, if it is not there yet. Whoever finds the folder finds all of it."""
    folder = training_path(workers)
    if not folder.is_dir():
        new = folder.with_name(f"{folder.name}.new")
        remove(new)
        claim(new)
        (new / "muster").mkdir()
        (new / "muster" / "__init__.py").write_text(PACKAGE)
        _copy(SOURCE, new / "muster" / "train")
        new.rename(folder)
    return folder


def withdraw(workers: Path) -> None:
    """Remove the folder: no worker uses it, or another version of Muster takes over."""
    remove(training_path(workers))


def _copy(source: Path, target: Path) -> None:
    """Copy the Python files of a package with its sub-packages."""
    target.mkdir()
    with os.scandir(source) as entries:
        for each in entries:
            if each.is_dir() and each.name != "__pycache__":
                _copy(source / each.name, target / each.name)
            elif each.name.endswith((".py", ".typed")):
                (target / each.name).write_bytes((source / each.name).read_bytes())
