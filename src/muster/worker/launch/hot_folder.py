"""The folder with the hot tiers of checkpoints: on a disk of the node, outside of the home and of memory."""

import os
from pathlib import Path

SCRATCH_VARIABLE = "MUSTER_SCRATCH"
"""An operator may name another folder, on a faster disk."""

DEFAULT_SCRATCH = "/var/tmp"


def hot_root(home: Path) -> Path:
    """The folder that holds `NODE/RUN/step-…` for all nodes of a home on this machine."""
    found = home.stat()
    scratch = Path(os.environ.get(SCRATCH_VARIABLE) or DEFAULT_SCRATCH)
    return scratch / f"muster-{os.geteuid()}-{found.st_dev:x}-{found.st_ino:x}" / "hot"
