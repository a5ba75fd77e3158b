"""Images made of files of this machine: there is no registry to pull one from."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable
from pathlib import Path

SHELL = (
    "sh",
    "cat",
    "ls",
    "sleep",
    "mkdir",
    "rm",
    "mv",
    "touch",
    "env",
    "id",
    "head",
    "tail",
    "tr",
    "wc",
    "test",
    "echo",
)
_LIBRARY = re.compile(r"(/\S+) \(0x")
LEFT_OUT = ("test", "site-packages", "__pycache__", "idlelib", "tkinter", "ensurepip", "lib2to3", "turtledemo")


def shell_tar(to: Path) -> Path:
    """A file system with a shell and a few programs."""
    return _tar(to, _with_libraries(f"/bin/{name}" for name in SHELL))


def python_tar(to: Path) -> Path:
    """The same with this Python and its standard library, and nothing that was installed beside it."""
    library = Path(sysconfig.get_path("stdlib"))
    interpreter = os.path.realpath(sys.executable)
    modules = [each for each in library.iterdir() if each.name not in LEFT_OUT and not each.name.startswith("config-")]
    extensions = [str(each) for each in library.glob("lib-dynload/*.so")]
    programs = _with_libraries([*(f"/bin/{name}" for name in SHELL), interpreter, *extensions])
    files = [each for each in programs if each not in extensions]
    return _tar(to, [*files, *(str(each) for each in modules)], links={"usr/bin/python3": interpreter})


def _with_libraries(programs: Iterable[str]) -> list[str]:
    """Programs, the libraries that they are linked with, and the loader."""
    files: dict[str, None] = {}
    for program in programs:
        files[program] = None
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        files.update(dict.fromkeys(_LIBRARY.findall(linked)))
    return list(files)


def _tar(to: Path, files: Iterable[str], *, links: dict[str, str] | None = None) -> Path:
    with tarfile.open(to, "w") as tar:
        tar.dereference = True
        for folder in ("tmp", "proc", "sys", "dev", "etc", "run"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        for file in files:
            tar.add(file, file.lstrip("/"), filter=_without_caches)
    return to


def _without_caches(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if Path(entry.name).name in LEFT_OUT else entry
