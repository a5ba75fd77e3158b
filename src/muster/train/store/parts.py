"""The list of files of one rank, and the manifest of a whole checkpoint.

A part is written after the files that it lists, a manifest after all parts. Both are JSON in one fixed spelling with a
checksum over it, so that a single changed byte is found. They are read as what a stranger may have written: names
without folders, bounded counts and sizes.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from muster.train.errors import DamagedCheckpoint
from muster.train.store.steps import STEP_MOST

FORMAT = "muster-checkpoint-1"
MANIFEST = "manifest.json"

PART_BYTES_MOST = 4 << 20
"""The largest list of one rank. One with a thousand files has 150 kB."""

MANIFEST_BYTES_MOST = 256 << 20
"""The largest manifest: 100,000 ranks with a few files each."""

FILES_MOST = 10_000
WORLD_MOST = 1 << 20
FILE_BYTES_MOST = 1 << 50

_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,127}")
_PART = re.compile(r"rank-(\d{5,7})-of-(\d{5,7})\.json")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileEntry:
    """One file of a checkpoint."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class RankPart:
    """What one rank has written."""

    run: str
    step: int
    rank: int
    world: int
    attempt: int
    node: str
    at_ms: int
    files: tuple[FileEntry, ...]

    @property
    def save(self) -> tuple[str, int, int]:
        """Which save it belongs to: parts of two attempts are never mixed."""
        return self.run, self.attempt, self.world

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A whole checkpoint: the parts of all ranks of one save."""

    step: int
    parts: tuple[RankPart, ...]

    run = property(lambda self: self.parts[0].run)
    world = property(lambda self: self.parts[0].world)
    attempt = property(lambda self: self.parts[0].attempt)
    at_ms = property(lambda self: max(part.at_ms for part in self.parts))
    bytes = property(lambda self: sum(part.bytes for part in self.parts))

    @property
    def files(self) -> dict[str, FileEntry]:
        """All files by name."""
        return {file.name: file for part in self.parts for file in part.files}


def part_name(rank: int, world: int) -> str:
    """The file with the list of a rank."""
    return f"rank-{rank:05d}-of-{world:05d}.json"


def part_of(name: str) -> tuple[int, int] | None:
    """The rank and the world of such a file; None when the name is another."""
    found = _PART.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else None


def is_file_name(name: object) -> bool:
    """True for names that files of ranks may have."""
    return (
        isinstance(name, str)
        and bool(_NAME.fullmatch(name))
        and name not in (".", "..", MANIFEST)
        and part_of(name) is None
    )


def encode_part(part: RankPart) -> bytes:
    """The text of a part."""
    return _sealed({"format": FORMAT, **asdict(part)})


def encode_manifest(manifest: Manifest) -> bytes:
    """The text of a manifest."""
    heading = {"run": manifest.run, "world": manifest.world, "attempt": manifest.attempt}
    sizes = {"step": manifest.step, "at_ms": manifest.at_ms, "bytes": manifest.bytes}
    return _sealed({"format": FORMAT, **heading, **sizes, "parts": [asdict(part) for part in manifest.parts]})


def decode_part(data: bytes, step: int, name: str) -> RankPart:
    """Read a part and check that it is the one of this step and name."""
    part = _part(_unsealed(data, name), name)
    if part.step != step or (part.rank, part.world) != part_of(name):
        raise DamagedCheckpoint(f"{name} of step {step} is the list of rank {part.rank} at step {part.step}")
    return part


def decode_manifest(data: bytes, step: int) -> Manifest:
    """Read a manifest and check that it is the one of this step, with the parts of all ranks."""
    body = _unsealed(data, MANIFEST)
    parts = body.get("parts")
    if not isinstance(parts, list):
        raise DamagedCheckpoint(f"{MANIFEST} of step {step} lists no parts")
    manifest = assembled(step, [_part(part, MANIFEST) for part in parts])
    if manifest is None or encode_manifest(manifest) != data:
        raise DamagedCheckpoint(f"{MANIFEST} of step {step} is not whole")
    return manifest


def assembled(step: int, parts: Iterable[RankPart]) -> Manifest | None:
    """The checkpoint of the newest attempt of which the parts of all ranks are there; None when there is none."""
    saves: dict[tuple[str, int, int], dict[int, RankPart]] = {}
    for part in parts:
        if part.step == step:
            saves.setdefault(part.save, {})[part.rank] = part
    whole = [(attempt, run, world) for (run, attempt, world), ranks in saves.items() if len(ranks) == world]
    if not whole:
        return None
    attempt, run, world = max(whole)
    ranks = saves[run, attempt, world]
    return Manifest(step=step, parts=tuple(ranks[rank] for rank in range(world)))


def _sealed(body: dict[str, Any]) -> bytes:
    return (_spelled({**body, "checksum": hashlib.sha256(_spelled(body).encode()).hexdigest()}) + "\n").encode()


def _unsealed(data: bytes, name: str) -> dict[str, Any]:
    try:
        body = json.loads(data)
        body.pop("checksum")
        is_same = _sealed(body) == data
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        is_same = False
    if not is_same:
        raise DamagedCheckpoint(f"{name} is damaged: it is not what was written")
    if body.get("format") != FORMAT:
        raise DamagedCheckpoint(f"{name} has the format {body.get('format')!r}, and not {FORMAT}")
    return dict(body)


def _spelled(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def _part(body: Any, name: str) -> RankPart:
    if not isinstance(body, dict) or not isinstance(body.get("files"), list) or len(body["files"]) > FILES_MOST:
        raise DamagedCheckpoint(f"{name} is no list of files")
    files = tuple(_file(file, name) for file in body["files"])
    bounds = {"step": STEP_MOST, "rank": WORLD_MOST, "world": WORLD_MOST, "attempt": WORLD_MOST, "at_ms": 1 << 50}
    numbers = {field: _bounded(body.get(field), most, f"{field} in {name}") for field, most in bounds.items()}
    run, node = body.get("run"), body.get("node")
    if not isinstance(run, str) or not isinstance(node, str) or numbers["rank"] >= numbers["world"]:
        raise DamagedCheckpoint(f"{name} does not say whose part it is")
    return RankPart(run=run, node=node, files=files, **numbers)


def _file(body: Any, name: str) -> FileEntry:
    if not isinstance(body, dict) or not is_file_name(body.get("name")):
        raise DamagedCheckpoint(f"{name} names a file outside of its folder")
    if not isinstance(body.get("sha256"), str) or not _SHA256.fullmatch(body["sha256"]):
        raise DamagedCheckpoint(f"{name} has no checksum for {body['name']}")
    size = _bounded(body.get("bytes"), FILE_BYTES_MOST, f"the size of {body['name']} in {name}")
    return FileEntry(body["name"], size, body["sha256"])


def _bounded(value: Any, most: int, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise DamagedCheckpoint(f"{what} is not a number from 0 to {most}")
    return value
