"""From a folder to a bundle: its files are read once to name their contents, and again to send what is missing."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.client.bundles.listing import OWN_IGNORE, list_files
from muster.client.bundles.origin import find_origin
from muster.model.client_limits import BUNDLE_FILES
from muster.model.errors import InvalidInput, TooLarge
from muster.model.spec import Bundle
from muster.worker.bundles.manifest import (
    BLOCK_BYTES,
    BYTES_MOST,
    PATH_BYTES,
    BundleEntry,
    BundleManifest,
    Origin,
    digest,
)

LARGEST_SHOWN = 5

_GIB, _MIB, _KIB = 1024**3, 1024**2, 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFolder:
    """A folder as it was when it was packed."""

    folder: Path
    manifest: BundleManifest
    diff: bytes
    secrets: tuple[str, ...]
    """Files that were left out because they may hold secrets."""

    @property
    def bundle(self) -> Bundle:
        """What a job says of it."""
        manifest = self.manifest
        origin = manifest.origin
        return Bundle(
            id=manifest.id,
            files=len(manifest.entries),
            size_bytes=manifest.bytes,
            commit=origin.commit,
            dirty=origin.dirty,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the submitter should know."""
        if not self.manifest.entries:
            return (f"nothing is copied: {self.folder} has no files but those that are left out",)
        if not self.secrets:
            return ()
        shown = ", ".join(self.secrets[:LARGEST_SHOWN]) + (" …" if len(self.secrets) > LARGEST_SHOWN else "")
        return (f"left out, because they may hold secrets: {shown} (`!NAME` in {OWN_IGNORE} takes a file along)",)

    def contents(self, names: Sequence[str]) -> Iterator[bytes]:
        """The contents of these blocks. Raises when a file was changed since it was packed."""
        places = {name: (each.path, at) for each in self.manifest.entries for at, name in enumerate(each.blocks)}
        diff = digest(self.diff)
        for name in names:
            if name == diff:
                yield self.diff
                continue
            if name not in places:
                raise InvalidInput(f"the server asks for block {name[:200]}, which is not part of the bundle")
            path, at = places[name]
            data = _read(self.folder / path, at)
            if digest(data) != name:
                raise InvalidInput(f"{path} was changed while it was submitted; submit the job again")
            yield data


def pack(folder: Path) -> PackedFolder:
    """The bundle of a folder. Raises when it is too large, or cannot be read."""
    if not folder.is_dir():
        raise InvalidInput(f"workdir: there is no folder {folder}; a relative one is looked for beside the job file")
    listing = list_files(folder)
    _check_size(folder, listing.paths)
    left_out = (*listing.secrets, *listing.left_out)
    origin, diff = find_origin(folder, left_out) if listing.is_in_git else (Origin(), b"")
    entries = tuple(_entry(folder, path) for path in listing.paths)
    manifest = BundleManifest(entries=entries, origin=origin)
    return PackedFolder(folder=folder, manifest=manifest, diff=diff, secrets=listing.secrets)


def _entry(folder: Path, path: str) -> BundleEntry:
    place = folder / path
    if len(os.fsencode(path)) > PATH_BYTES:
        raise InvalidInput(f"{path[:100]}…: the path is longer than {PATH_BYTES} bytes; leave it out with {OWN_IGNORE}")
    try:
        mode = place.lstat().st_mode
        if stat.S_ISLNK(mode):
            return BundleEntry(path=path, link=os.readlink(place))
        blocks, size = [], 0
        for data in _contents(place):
            blocks.append(digest(data))
            size += len(data)
    except OSError as error:
        raise InvalidInput(
            f"{place} cannot be read: {error.strerror}; make it readable, or leave it out with {OWN_IGNORE}"
        ) from None
    return BundleEntry(path=path, mode=stat.S_IMODE(mode) & 0o777, size=size, blocks=tuple(blocks))


def _contents(place: Path) -> Iterator[bytes]:
    with place.open("rb") as file:
        while data := file.read(BLOCK_BYTES):
            yield data


def _read(place: Path, index: int) -> bytes:
    try:
        with place.open("rb") as file:
            file.seek(index * BLOCK_BYTES)
            return file.read(BLOCK_BYTES)
    except OSError:
        return b""


def _check_size(folder: Path, paths: tuple[str, ...]) -> None:
    """Raise when the folder is too large, and say which parts of it are the largest."""
    sizes: defaultdict[str, int] = defaultdict(int)
    counts: defaultdict[str, int] = defaultdict(int)
    for path in paths:
        first, slash, _ = path.partition("/")
        sizes[f"{first}{slash}"] += (folder / path).lstat().st_size
        counts[f"{first}{slash}"] += 1
    size = sum(sizes.values())
    if size <= BYTES_MOST and len(paths) <= BUNDLE_FILES:
        return
    weight = sizes if size > BYTES_MOST else counts
    largest = sorted(weight, key=lambda name: (-weight[name], name))[:LARGEST_SHOWN]
    told = ", ".join(f"{name} ({size_text(sizes[name])} in {counts[name]} files)" for name in largest)
    most = f"{size_text(BYTES_MOST)} in {BUNDLE_FILES} files"
    raise TooLarge(
        f"workdir: {folder} has {size_text(size)} in {len(paths)} files, and at most {most} are copied with a job. The "
        f"largest: {told}. Name what the job does not need in .gitignore, or in {OWN_IGNORE} "
        "what git knows too; or give an absolute workdir, which is a path on the nodes"
    )


def size_text(size: int) -> str:
    """A size for people."""
    for unit, name in ((_GIB, "GiB"), (_MIB, "MiB"), (_KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"
