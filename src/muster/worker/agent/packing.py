"""The agent as one file: the code of this Muster that a node needs, which any Python from 3.11 on runs.

    muster agent write muster-agent.pyz
    python3 muster-agent.pyz --url https://muster.example:8470 --node gpu1 --token-file token

It unpacks itself when it is run (`unpacking`), because workers are given parts of it.
"""

import io
import zipfile
from pathlib import Path

from muster.worker.agent.unpacking import code_name
from muster.worker.program import SOURCE

PACKAGES = ("model", "train", "worker")
MODULES = ("attempt_token", "failpoints", "home", "locks", "loopback", "private_files", "processes")
"""What `worker` imports of the rest of Muster. A test runs an agent that has nothing else."""

SHEBANG = b"#!/usr/bin/env python3\n"
MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The time of every file in it, so that the same code makes the same bytes."""

ENTRY = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("the agent of Muster needs Python 3.11 or newer, and this is " + sys.version.split()[0])

from muster.worker.agent.unpacking import main

sys.exit(main())
"""

AT_ONCE = """\
import os, sys

file, code = sys.argv[1:3]
del sys.argv[1:3]
folder = os.path.join(code, "NAME")
try:
    found = os.lstat(code)
    is_own = found.st_uid == os.geteuid() and not found.st_mode & 0o022
except OSError:
    is_own = False
if sys.version_info < (3, 11) or not is_own or not os.path.isdir(folder):
    os.execv(sys.executable, [sys.executable, "-S", "-E", file, *sys.argv[1:]])
sys.path.insert(0, folder)
from muster.worker.agent.__main__ import main

sys.exit(main(sys.argv[1:]))
"""


def agent_file() -> bytes:
    """The whole file."""
    written = io.BytesIO()
    written.write(SHEBANG)
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in [("__main__.py", ENTRY.encode()), *_sources(SOURCE / "muster")]:
            archive.writestr(zipfile.ZipInfo(name, MADE_AT), text, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def at_once(agent: bytes) -> str:
    """The text of a program that becomes the agent at once where its code is unpacked already.

    Elsewhere it runs the agent's file, which unpacks itself. Its arguments are that file, the folder for code, and the
    options of the agent. To open the file and to unpack it takes as long as everything else that an agent does before
    it can start workers.
    """
    return AT_ONCE.replace("NAME", code_name(agent))


def _sources(package: Path) -> list[tuple[str, bytes]]:
    files = [package / "__init__.py", *(package / f"{name}.py" for name in MODULES)]
    for name in PACKAGES:
        files += sorted((package / name).rglob("*.py"))
    return [(f"muster/{file.relative_to(package).as_posix()}", file.read_bytes()) for file in files]
