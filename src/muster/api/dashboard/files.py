"""The built files of the dashboard. They are few and small, so they are kept in memory, compressed."""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

BUILT = Path(__file__).parent / "built"
PAGE = "index.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltFile:
    """One file as it is sent."""

    media_type: str
    etag: str
    plain: bytes
    compressed: bytes


def built_files(folder: Path = BUILT) -> dict[str, BuiltFile]:
    """All files by their paths below the folder; empty when nothing was built."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _read(path) for path in paths}


def _read(path: Path) -> BuiltFile:
    data = path.read_bytes()
    return BuiltFile(
        media_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        etag=f'"{hashlib.sha256(data).hexdigest()[:32]}"',
        plain=data,
        compressed=gzip.compress(data, mtime=0),
    )
