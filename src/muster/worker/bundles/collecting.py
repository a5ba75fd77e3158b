"""Removes bundles that no job has used for a while, and blocks that no bundle needs.

A bundle is used while a job that has not ended refers to it. It is kept for some time after that, so that the job can
be submitted again. A block without a bundle is kept for a day: somebody may be sending the rest.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from muster.worker.bundles.manifest import BadManifest
from muster.worker.bundles.store import BundleStore, is_draft, team_store

KEPT_S = 30 * 86_400
"""How long a bundle is kept after its last job has ended."""

UNUSED_S = 86_400
"""How long blocks are kept that no bundle needs: far longer than it takes to send one."""


def collect(root: Path, in_use: Iterable[tuple[str, str]], *, now_s: float | None = None) -> int:
    """Remove what is not needed. `in_use` has team and id of each bundle in use. Returns how many files went."""
    present_s = time.time() if now_s is None else now_s
    for team, bundle in in_use:
        team_store(root, team).has(bundle)
    return sum(_collect_team(folder, present_s) for folder in _children(root))


def _collect_team(folder: Path, now_s: float) -> int:
    removed = sum(_removed(each, now_s - KEPT_S) for each in _children(folder / "manifests"))
    needed = _needed(folder)
    if needed is None:
        return removed
    for block in (each for part in _children(folder / "blocks") for each in _children(part)):
        if block.name not in needed:
            removed += _removed(block, now_s - UNUSED_S)
    return removed


def _needed(folder: Path) -> frozenset[str] | None:
    """The blocks of all bundles of a team; None when a manifest cannot be read, because then nobody knows."""
    store = BundleStore(folder)
    found: set[str] = set()
    for each in _children(folder / "manifests"):
        if is_draft(each.name):
            continue
        try:
            manifest = store.manifest(each.name)
        except (OSError, BadManifest):
            return None
        if manifest is not None:
            found.update(manifest.blocks())
    return frozenset(found)


def _removed(path: Path, before_s: float) -> bool:
    with suppress(OSError):
        if path.stat().st_mtime < before_s:
            path.unlink()
            return True
    return False


def _children(folder: Path) -> Iterator[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        yield folder / name
