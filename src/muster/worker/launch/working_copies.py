"""Working copies: where the workers of a job find the files of its bundle, and may change them.

The workers of an attempt on one node share a copy, so that what `setup` makes in it is there for all of them. It is
unpacked by the first of them, and removed when the last is gone. Every attempt begins with what was submitted.

    work/NODE/JOB-ATTEMPT      a copy
    work/NODE/.gone-…          one that is being removed
"""

import os
import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from muster.model.ids import JobId, NodeName
from muster.worker.launch.runtime_folder import DRAFT, claim, give_back_if_empty, remove
from muster.worker.training.hot_tier import HotTier


class BundleMissing(Exception):
    """The bundle of a job is not stored any more; the message tells its user what to do."""


class NoRoomForCopy(Exception):
    """The disk of this node is too full for a copy."""


def copies_root(scratch: Path) -> Path:
    """The folder with the working copies of all nodes of a home."""
    return scratch / "work"


def copy_name(job: JobId, attempt: int) -> str:
    """The name of the copy that the workers of an attempt share."""
    return f"{job}-{attempt}"


def claim_copy(scratch: Path, node: NodeName, name: str) -> Path:
    """The path of a copy, in folders that are made if they are not there. The copy itself is not."""
    root = copies_root(scratch)
    for folder in (root.parent, root, root / node):
        claim(folder)
    return root / node / name


def unpack_line(bundles: Path, team: str, bundle: str, copy: Path, stamp: Path) -> str:
    """What a shell runs to unpack a bundle of a team. Raises when it is not stored, or there is no room for it."""
    from muster.worker.bundles.manifest import BadManifest  # noqa: PLC0415 (large, and for jobs with a bundle only)
    from muster.worker.bundles.store import team_store  # noqa: PLC0415
    from muster.worker.bundles.unpacking import unpack_command  # noqa: PLC0415

    store = team_store(bundles, team)
    try:
        manifest = store.manifest(bundle)
    except (OSError, BadManifest):
        manifest = None
    if manifest is None:
        raise BundleMissing(f"the files of its workdir (bundle {bundle[:12]}) are not stored any more: submit it again")
    room = os.statvfs(copy.parent)
    if not copy.is_dir() and room.f_bavail * room.f_frsize < manifest.bytes:
        raise NoRoomForCopy(f"there is no room for the {manifest.bytes} bytes of its workdir in {copy.parent}")
    return f"exec {shlex.join(unpack_command(store.folder, bundle, copy, stamp))}"


def fetch_line(job: JobId, bundle: str, access: Mapping[str, str], copy: Path, stamp: Path) -> str:
    """What a shell runs to make a copy on a machine where the bundle is not, asking the server with these variables."""
    from muster.worker.bundles.fetching import fetch_command  # noqa: PLC0415 (for jobs with a bundle only)

    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in access.items())
    return f"{given} exec {shlex.join(fetch_command(job, bundle, copy, stamp))}"


class WorkingCopies:
    """The copies of one node."""

    def __init__(self, scratch: Path, node: NodeName) -> None:
        self._folder = copies_root(scratch) / node
        self._tier = HotTier(copies_root(scratch), node)

    def keep_only(self, living: Callable[[], Collection[str]]) -> None:
        """Remove all copies but these. Returns at once. It is not asked which these are when there is no copy."""
        try:
            names = os.listdir(self._folder)
        except OSError:
            return
        if names:
            kept = living()
            self._tier.remove([name for name in names if name.partition(DRAFT)[0] not in kept])

    def clear(self) -> None:
        """Remove what a predecessor was removing."""
        self._tier.sweep(os.listdir(self._folder) if self._folder.is_dir() else ())


def give_back_copies(scratch: Path, node: NodeName) -> None:
    """Remove all copies of a node. Call it when no worker is left."""
    root = copies_root(scratch)
    remove(root / node)
    give_back_if_empty(root)
