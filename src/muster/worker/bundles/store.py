"""Bundles in a folder, by content.

    TEAM/blocks/9f/9f86…      a block, read-only
    TEAM/manifests/4b82…      a manifest; it is there only if all of its blocks are

Each team has a folder of its own, named by a digest of its path. So content is stored once in a team, and nobody can
learn or use what another team has stored. When a bundle was last used is the time of its manifest's last change.
"""

import ctypes
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from muster.worker.bundles.manifest import (
    BLOCK_BYTES,
    MANIFEST_BYTES,
    BadManifest,
    BundleManifest,
    digest,
    is_digest,
    parse_manifest,
)

FREE_LEAST_BYTES = 2 * 1024**3
"""Room that is left on the disk: the database and the output of jobs are on it too."""

ASKED_MOST = 4_096
"""How many blocks are asked for at once: more would be a long text of names."""

ANSWER_BYTES = 16 * 1024**2
"""Size of the blocks in an answer, but for the last of them. Some hundred nodes may ask at a time."""

_DRAFT = ".new-"


class NoRoom(OSError):
    """The disk is nearly full, and nothing more is stored."""


def team_store(root: Path, team: str) -> "BundleStore":
    """The bundles of one team. `root` has the folders of all teams."""
    return BundleStore(root / hashlib.sha256(team.encode()).hexdigest()[:32])


class BundleStore:
    """The bundles of one team, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def missing(self, manifest: BundleManifest) -> list[str]:
        """The blocks of a bundle that are not stored. The others count as used now, and stay for a while."""
        return [block for block in manifest.blocks() if not _touched(self.block_path(block))]

    def put_block(self, data: bytes) -> str:
        """Store a block, and return its name. It is durable once a manifest that names it is stored."""
        if not 0 < len(data) <= BLOCK_BYTES:
            raise BadManifest(f"a block has at least one byte and at most {BLOCK_BYTES}, not {len(data)}")
        name = digest(data)
        path = self.block_path(name)
        if not _touched(path):
            self._write(path, data)
        return name

    def put_manifest(self, manifest: BundleManifest) -> None:
        """Store a manifest, durably, with the names of its blocks. All of its blocks must be there."""
        path = self._manifest_path(manifest.id)
        if not _touched(path):
            self.manifests.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync(self.manifests)
            self._write(path, manifest.text)
            _sync(self.manifests)

    def has(self, bundle: str) -> bool:
        """True when the bundle is there. It counts as used now."""
        return is_digest(bundle) and _touched(self._manifest_path(bundle))

    def manifest(self, bundle: str) -> BundleManifest | None:
        """The manifest of a bundle; None when it is not there, or is not what was stored."""
        if not is_digest(bundle):
            return None
        try:
            with self._manifest_path(bundle).open("rb") as file:
                text = file.read(MANIFEST_BYTES + 1)
        except FileNotFoundError:
            return None
        return parse_manifest(text) if digest(text) == bundle else None

    def read(self, blocks: Iterable[str]) -> Iterator[bytes]:
        """The contents of these blocks. Raises `OSError` when one is not there, or is not what was stored."""
        for name in blocks:
            data = self.block_path(name).read_bytes()
            if digest(data) != name:
                raise OSError(f"block {name} is damaged")
            yield data

    def first(self, names: Iterable[str]) -> list[bytes]:
        """The first of these blocks: at least one, and as many as fit into an answer. Raises `OSError`, as `read`."""
        found: list[bytes] = []
        for data in self.read(names):
            found.append(data)
            if sum(map(len, found)) >= ANSWER_BYTES:
                break
        return found

    def block_path(self, name: str) -> Path:
        """The file of a block."""
        return self.folder / "blocks" / name[:2] / name

    @property
    def manifests(self) -> Path:
        """The folder with the manifests."""
        return self.folder / "manifests"

    def _manifest_path(self, bundle: str) -> Path:
        return self.manifests / bundle

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file that is there as a whole or not at all. It is durable once its file system is."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_room(path.parent)
        draft = path.with_name(f"{_DRAFT}{os.urandom(8).hex()}")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
            draft.rename(path)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise


def is_draft(name: str) -> bool:
    """True for a file that was not written to its end."""
    return name.startswith(_DRAFT)


def split_blocks(body: bytes) -> list[bytes]:
    """The blocks in the body of a request: each has its length in front of it, in four bytes, the highest first."""
    if not body:
        raise BadManifest("no block was sent")
    blocks, at = [], 0
    while at < len(body):
        end = at + 4 + int.from_bytes(body[at : at + 4], "big")
        if end > len(body) or end == at + 4:
            raise BadManifest(f"the body is cut off at byte {at}: a block is announced that is not there")
        blocks.append(body[at + 4 : end])
        at = end
    return blocks


def joined_blocks(blocks: Collection[bytes]) -> bytes:
    """The inverse of `split_blocks`."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in blocks)


def _touched(path: Path) -> bool:
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _sync(folder: Path) -> None:
    """Make all that was written to the file system of a folder durable.

    At once and not file by file, because a disk that writes a hundred files a second would need minutes for a bundle.
    """
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flush = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if flush is None:
            os.sync()
        elif flush(file) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(file)


def _check_room(folder: Path) -> None:
    found = os.statvfs(folder)
    if found.f_bavail * found.f_frsize < FREE_LEAST_BYTES:
        raise NoRoom("the disk of the server is nearly full, so no bundle is stored: have an administrator make room")
