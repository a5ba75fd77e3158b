"""The agent as one file: the code of this Muster that a node needs, which any Python from 3.11 on runs.

    muster agent write muster-agent.pyz
    python3 muster-agent.pyz --url https://muster.example:8470 --node gpu1 --token-file token

It unpacks itself when it is run (`unpacking`), because workers are given parts of it.
"""

import io
import zipfile
from pathlib import Path

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


def agent_file() -> bytes:
    """The whole file."""
    written = io.BytesIO()
    written.write(SHEBANG)
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in [("__main__.py", ENTRY.encode()), *_sources(SOURCE / "muster")]:
            archive.writestr(zipfile.ZipInfo(name, MADE_AT), text, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _sources(package: Path) -> list[tuple[str, bytes]]:
    files = [package / "__init__.py", *(package / f"{name}.py" for name in MODULES)]
    for name in PACKAGES:
        files += sorted((package / name).rglob("*.py"))
    return [(f"muster/{file.relative_to(package).as_posix()}", file.read_bytes()) for file in files]
