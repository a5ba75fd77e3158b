"""The manifest of a bundle: its files, links and modes, and where they came from.

    {"version": 1,
     "entries": [{"path": "train.py", "mode": 420, "size": 812, "blocks": ["9f86…"]},
                 {"path": "data", "link": "/data/imagenet"}],
     "origin": {"commit": "4b825d…", "branch": "main", "dirty": true, "diff": ["ef2d…"], "diff_bytes": 310}}

A file is a list of blocks, each named by its SHA-256, and a bundle is named by the SHA-256 of its manifest. What is
read here comes from others: every path stays inside of the bundle, and nothing lies below a file or a link.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from muster.model.client_limits import BUNDLE_FILES

VERSION = 1

BLOCK_BYTES = 4 * 1024**2
"""Size of a block: one is sent in a request of its own, within the time that a request may take."""

BYTES_MOST = 1024**3
"""Size of all files of a bundle together."""

MANIFEST_BYTES = 8 * 1024**2
"""Size of a manifest: as many files as are allowed, with long names."""

DIFF_BYTES = 256 * 1024
"""How much is kept of the difference to the last commit: more than anybody reads."""

PATH_BYTES = 1024
"""Length of a path in a bundle, and of what a link points to. The working copy is in a folder with a path itself."""

COMMIT_CHARS = 64
BRANCH_CHARS = 255

_DIGEST = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{0,64}")
_MODE_MOST = 0o777


class BadManifest(ValueError):
    """Not the manifest of a bundle, or not a block of one; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleEntry:
    """One file or one symbolic link."""

    path: str
    mode: int = 0o644
    size: int = 0
    blocks: tuple[str, ...] = ()
    link: str | None = None
    """What a symbolic link points to; None for a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The commit that a bundle was made from, as far as there is one."""

    commit: str = ""
    branch: str = ""
    dirty: bool = False
    """True when files differ from the commit, or are not part of it."""
    diff: tuple[str, ...] = ()
    """The blocks of the difference to the commit, which may be cut off."""
    diff_bytes: int = 0
    diff_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class BundleManifest:
    """All that a bundle consists of. Entries are sorted by their paths."""

    entries: tuple[BundleEntry, ...]
    origin: Origin = Origin()

    @cached_property
    def text(self) -> bytes:
        """The manifest as it is stored and sent. Equal manifests have equal texts."""
        body = {"version": VERSION, "entries": [_plain(each) for each in self.entries], "origin": _fields(self.origin)}
        return json.dumps(body, separators=(",", ":"), sort_keys=True).encode()

    @property
    def id(self) -> str:
        """The name of the bundle."""
        return digest(self.text)

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(each.size for each in self.entries)

    def blocks(self) -> Iterator[str]:
        """The blocks of all files and of the difference, each once."""
        named = (*(block for each in self.entries for block in each.blocks), *self.origin.diff)
        return iter(dict.fromkeys(named))


def digest(data: bytes) -> str:
    """The name of a block or of a manifest."""
    return hashlib.sha256(data).hexdigest()


def is_digest(text: object) -> bool:
    """True for what may be the name of a block or of a bundle."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def parse_manifest(text: bytes) -> BundleManifest:
    """The manifest in a text that anybody may have written. Raises `BadManifest`."""
    if len(text) > MANIFEST_BYTES:
        raise BadManifest(f"a manifest has at most {MANIFEST_BYTES} bytes")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise BadManifest("a manifest is a JSON object") from None
    match body:
        case {"version": 1, "entries": list(entries), "origin": dict(origin)}:
            pass
        case {"version": version} if version != VERSION:
            raise BadManifest(f"manifests of version {VERSION} are understood, not {version!r}")
        case _:
            raise BadManifest("a manifest has `version`, `entries` and `origin`")
    if len(entries) > BUNDLE_FILES:
        raise BadManifest(f"a bundle has at most {BUNDLE_FILES} files, and this has {len(entries)}")
    manifest = BundleManifest(entries=tuple(_entry(each) for each in entries), origin=_origin(origin))
    _check_paths(manifest.entries)
    if manifest.bytes > BYTES_MOST:
        raise BadManifest(f"the files of a bundle have at most {BYTES_MOST} bytes, and these have {manifest.bytes}")
    return manifest


def _entry(body: Any) -> BundleEntry:
    match body:
        case {"path": str(path), "link": str(link), **more} if not more:
            if not link or not _is_storable(link):
                raise BadManifest(f"{path!r} is a link to nothing that can be stored")
            return BundleEntry(path=path, link=link)
        case {"path": str(path), "mode": int(mode), "size": int(size), "blocks": list(blocks), **more} if not more:
            if not 0 <= mode <= _MODE_MOST:
                raise BadManifest(f"{path!r} has the mode {mode:o}, which is none of a plain file")
            return BundleEntry(path=path, mode=mode, size=_size(size, blocks, path), blocks=_blocks(blocks, path))
        case _:
            raise BadManifest(f"not a file and not a link: {str(body)[:100]}")


def _origin(body: Mapping[str, Any]) -> Origin:
    commit, branch, diff = body.get("commit", ""), body.get("branch", ""), body.get("diff", [])
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise BadManifest("`commit` is not the name of a commit")
    if not isinstance(branch, str) or len(branch) > BRANCH_CHARS:
        raise BadManifest("`branch` is not the name of a branch")
    if not isinstance(diff, list):
        raise BadManifest("`diff` is not a list of blocks")
    size = body.get("diff_bytes", 0)
    if not isinstance(size, int) or size > DIFF_BYTES:
        raise BadManifest(f"of a difference {DIFF_BYTES} bytes are kept")
    return Origin(
        commit=commit,
        branch=branch,
        dirty=body.get("dirty") is True,
        diff=_blocks(diff, "diff"),
        diff_bytes=_size(size, diff, "diff"),
        diff_cut=body.get("diff_cut") is True,
    )


def _blocks(names: Sequence[object], path: str) -> tuple[str, ...]:
    if not all(is_digest(each) for each in names):
        raise BadManifest(f"a block of {path!r} is not named by a SHA-256")
    return tuple(str(each) for each in names)


def _size(size: int, blocks: Sequence[object], path: str) -> int:
    """The size, which says how many blocks there are: so a bundle is never larger than it says."""
    if size < 0 or len(blocks) != -(-size // BLOCK_BYTES):
        raise BadManifest(f"{path!r} has {size} bytes and {len(blocks)} blocks, which do not fit together")
    return size


def _check_paths(entries: Sequence[BundleEntry]) -> None:
    before = ""
    known = {each.path for each in entries}
    for entry in entries:
        if not _is_inside(entry.path):
            raise BadManifest(f"{entry.path[:200]!r} is not a path inside of a bundle")
        if entry.path <= before:
            raise BadManifest(f"{entry.path!r} is there twice, or not in order")
        before = entry.path
        parts = entry.path.split("/")
        if any("/".join(parts[:depth]) in known for depth in range(1, len(parts))):
            raise BadManifest(f"{entry.path!r} is below something that is no folder")


def _is_inside(path: str) -> bool:
    return _is_storable(path) and all(part not in ("", ".", "..") for part in path.split("/"))


def _is_storable(path: str) -> bool:
    try:
        return "\0" not in path and len(path.encode(errors="surrogateescape")) <= PATH_BYTES
    except UnicodeEncodeError:
        return False


def _plain(entry: BundleEntry) -> dict[str, object]:
    if entry.link is not None:
        return {"path": entry.path, "link": entry.link}
    return {"path": entry.path, "mode": entry.mode, "size": entry.size, "blocks": list(entry.blocks)}


def _fields(origin: Origin) -> dict[str, object]:
    """The origin without what is empty."""
    body = {
        "commit": origin.commit,
        "branch": origin.branch,
        "dirty": origin.dirty,
        "diff": list(origin.diff),
        "diff_bytes": origin.diff_bytes,
        "diff_cut": origin.diff_cut,
    }
    return {name: value for name, value in body.items() if value}
