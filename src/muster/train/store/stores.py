"""Folders and object storage with checkpoints: `ROOT/step-…/FILE`.

A file appears under its name only when it is whole. Names come from validated lists, so none leads out of the root.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from muster.train import optional
from muster.train.errors import DamagedCheckpoint
from muster.train.store.parts import FileEntry
from muster.train.store.steps import step_name, step_of

PIECE_BYTES = 1 << 20
"""Copied and hashed at once: large enough for disks, small enough to stay in a cache."""

UNFINISHED = ".unfinished-"
"""How names of files begin that are being written."""

SCHEMES = ("file", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "webhdfs", "oci", "oss", "smb", "sftp")
"""Schemes of addresses that are meant as such also where slashes are missing. Other folders may have colons."""

S3_OPTIONS: dict[str, Any] = {
    "config_kwargs": {"connect_timeout": 5, "read_timeout": 30, "retries": {"max_attempts": 1}}
}
"""A server that does not answer is noticed in half a minute. Repeats beyond that are the uploader's."""


class CheckpointStore(Protocol):
    """Where checkpoints can be."""

    kind: str
    root: str

    def steps(self) -> list[int]:
        """Steps that have a folder, newest first."""
        ...

    def sizes(self, step: int) -> dict[str, int]:
        """The files of a step with their sizes."""
        ...

    def read(self, step: int, name: str, most_bytes: int) -> bytes:
        """The bytes of a small file. FileNotFoundError when it is not there."""
        ...

    def write(self, step: int, name: str, data: bytes) -> None:
        """Write a small file whole or not at all."""
        ...

    def put(self, step: int, entry: FileEntry, source: str) -> None:
        """Copy a local file here, if it still is what the entry says."""
        ...

    def fetch(self, step: int, name: str, target: str) -> None:
        """Copy a file from here to a local path."""
        ...

    def remove(self, step: int, names: Iterable[str]) -> None:
        """Remove files. Those that are not there are fine."""
        ...

    def remove_step(self, step: int) -> None:
        """Remove what is left of a step."""
        ...

    def path(self, step: int) -> str:
        """The path of a step, as a user writes it."""
        ...


def store_at(path: str, kind: str = "durable") -> "FolderStore | ObjectStore":
    """The store at a path: a plain path, file:///…, or what fsspec knows, such as s3://bucket/run."""
    scheme, colon, rest = path.partition(":")
    scheme = scheme.lower()
    if not colon or not (rest.startswith("//") or scheme in SCHEMES):
        return FolderStore(local_path(path), kind)
    if scheme == "file":
        return FolderStore(local_path(f"file:{rest}"), kind)
    if not rest.startswith("//") or not rest.strip("/"):
        raise ValueError(f"{path!r} names no place; write an address such as {scheme}://bucket/run")
    return ObjectStore(f"{scheme}:{rest}", kind)


def local_path(path: str) -> str:
    """A plain path, file:///… or file:/… as a plain path."""
    given = path
    if path.startswith("file:"):
        parts = urlsplit(path)
        if parts.netloc not in ("", "localhost"):
            raise ValueError(f"{given!r} names the host {parts.netloc!r}; write file:///… with three slashes")
        path = unquote(parts.path)
        if path and not path.startswith("/"):
            raise ValueError(f"{given!r} is no absolute path; write file:///… with three slashes")
    if not path.strip():
        raise ValueError("the path of checkpoints is empty")
    return os.path.abspath(os.path.expanduser(path))


class FolderStore:
    """Checkpoints in a folder."""

    def __init__(self, root: str, kind: str = "hot") -> None:
        self.root = root
        self.kind = kind

    def path(self, step: int) -> str:
        """The folder of a step."""
        return os.path.join(self.root, step_name(step))

    def file(self, step: int, name: str) -> str:
        """The path of a file of a step."""
        return os.path.join(self.path(step), name)

    def steps(self) -> list[int]:
        """Steps that have a folder, newest first."""
        try:
            names = os.listdir(self.root)
        except FileNotFoundError:
            return []
        return sorted((step for name in names if (step := step_of(name)) is not None), reverse=True)

    def sizes(self, step: int) -> dict[str, int]:
        """The files of a step with their sizes."""
        found: dict[str, int] = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(self.path(step)) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if entry.is_file(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_size
        return found

    def read(self, step: int, name: str, most_bytes: int) -> bytes:
        """The bytes of a small file. Links are not followed."""
        with open(_opened(self.file(step, name)), "rb") as file:
            return bounded(file.read(most_bytes + 1), name, most_bytes)

    def write(self, step: int, name: str, data: bytes) -> None:
        """Write a small file whole or not at all."""
        os.makedirs(self.path(step), exist_ok=True)
        unfinished = self._unfinished(step, name)
        try:
            with open(unfinished, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self.publish(step, name, unfinished)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise

    def publish(self, step: int, name: str, unfinished: str) -> None:
        """Give a written and synced file its name."""
        os.replace(unfinished, self.file(step, name))
        sync_folder(self.path(step))

    def put(self, step: int, entry: FileEntry, source: str) -> None:
        """Copy a local file here, if it still is what the entry says."""
        os.makedirs(self.path(step), exist_ok=True)
        unfinished = self._unfinished(step, entry.name)
        try:
            digest = _copied(source, unfinished)
            if digest != entry.sha256:
                raise DamagedCheckpoint(f"{source} is damaged: it is not what was written")
            self.publish(step, entry.name, unfinished)
        except (OSError, DamagedCheckpoint):
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise

    def fetch(self, step: int, name: str, target: str) -> None:
        """Copy a file from here to a local path."""
        _copied(self.file(step, name), target)

    def remove(self, step: int, names: Iterable[str]) -> None:
        """Remove files. Those that are not there are fine."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.file(step, name))
        with contextlib.suppress(FileNotFoundError):
            sync_folder(self.path(step))

    def remove_step(self, step: int) -> None:
        """Remove what is left of a step."""
        shutil.rmtree(self.path(step), ignore_errors=True)

    def _unfinished(self, step: int, name: str) -> str:
        return self.file(step, f"{UNFINISHED}{os.getpid()}-{name}")


class ObjectStore:
    """Checkpoints in storage that fsspec reaches. A file there appears when it was sent completely."""

    def __init__(self, url: str, kind: str = "durable") -> None:
        self.root = url.rstrip("/")
        self.kind = kind
        protocol = urlsplit(url).scheme
        options = S3_OPTIONS if protocol in ("s3", "s3a") else {}
        fsspec = optional.storage_package(protocol)
        self._fs = fsspec.filesystem(protocol, use_listings_cache=False, skip_instance_cache=True, **options)
        if hasattr(self._fs, "retries"):
            # Its own repeats would only delay those of the uploader, which say what is wrong.
            self._fs.retries = 2
        self._base = str(self._fs._strip_protocol(self.root))  # noqa: SLF001 (what fsspec itself does with addresses)

    def path(self, step: int) -> str:
        """The address of a step."""
        return f"{self.root}/{step_name(step)}"

    def steps(self) -> list[int]:
        """Steps that have files, newest first."""
        names = (str(path).rstrip("/").rpartition("/")[2] for path in self._listed(self._base, detail=False))
        return sorted((step for name in names if (step := step_of(name)) is not None), reverse=True)

    def sizes(self, step: int) -> dict[str, int]:
        """The files of a step with their sizes."""
        entries = self._listed(f"{self._base}/{step_name(step)}", detail=True)
        files = (entry for entry in entries if entry.get("type") == "file")
        return {str(entry["name"]).rpartition("/")[2]: int(entry["size"] or 0) for entry in files}

    def read(self, step: int, name: str, most_bytes: int) -> bytes:
        """The bytes of a small file."""
        return bounded(self._fs.cat_file(self._file(step, name), start=0, end=most_bytes + 1), name, most_bytes)

    def write(self, step: int, name: str, data: bytes) -> None:
        """Write a small file whole or not at all."""
        self._made(step)
        self._fs.pipe_file(self._file(step, name), data)

    def put(self, step: int, entry: FileEntry, source: str) -> None:
        """Send a local file, if it still is what the entry says, and look whether all of it arrived."""
        if sha256_of(source) != entry.sha256:
            raise DamagedCheckpoint(f"{source} is damaged: it is not what was written")
        self._made(step)
        self._fs.put_file(source, self._file(step, entry.name))
        arrived = int(self._fs.info(self._file(step, entry.name), refresh=True)["size"])
        if arrived != entry.bytes:
            raise OSError(f"{entry.name} has {arrived} instead of {entry.bytes} bytes in {self.root}")

    def fetch(self, step: int, name: str, target: str) -> None:
        """Copy a file from here to a local path."""
        self._fs.get_file(self._file(step, name), target)

    def remove(self, step: int, names: Iterable[str]) -> None:
        """Remove files. Those that are not there are fine."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                self._fs.rm_file(self._file(step, name))

    def remove_step(self, step: int) -> None:
        """Remove what is left of a step."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(f"{self._base}/{step_name(step)}", recursive=True)

    def _listed(self, path: str, detail: bool) -> list[Any]:
        self._fs.invalidate_cache()
        try:
            return list(self._fs.ls(path, detail=detail))
        except FileNotFoundError:
            return []

    def _made(self, step: int) -> None:
        # Object storage has no folders; other file systems of fsspec do, and want them first.
        if not hasattr(self._fs, "bucket_info") and self._fs.protocol not in ("s3", ("s3", "s3a"), "gs", "gcs"):
            self._fs.makedirs(f"{self._base}/{step_name(step)}", exist_ok=True)

    def _file(self, step: int, name: str) -> str:
        return f"{self._base}/{step_name(step)}/{name}"


def sha256_of(path: str) -> str:
    """The checksum of a local file."""
    digest = hashlib.sha256()
    with open(_opened(path), "rb", buffering=0) as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def bounded(data: bytes, name: str, most_bytes: int) -> bytes:
    """What was read of a small file, if it is one."""
    if len(data) > most_bytes:
        raise DamagedCheckpoint(f"{name} is larger than {most_bytes} bytes")
    return data


def sync_folder(path: str) -> None:
    """Make the names in a folder survive the loss of power."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _opened(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)


def _copied(source: str, target: str) -> str:
    """Copy a file, synced; the checksum of what was copied."""
    digest = hashlib.sha256()
    with open(_opened(source), "rb", buffering=0) as file, Path(target).open("wb", buffering=0) as copy:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            copy.write(piece)
        os.fsync(copy.fileno())
    return digest.hexdigest()
