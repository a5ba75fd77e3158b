"""The shared tensors as files, by torch.distributed.checkpoint.

Each rank writes `__RANK_0.distcp`, and rank 0 the index of what is where: `.metadata` for torch's own tools, and
`tensors.json`, which is what is read here, because reading the other one would run code from it. Checksums are made
while writing.
"""

import contextlib
import hashlib
import io
import json
import os
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from muster.train import optional
from muster.train.errors import DamagedCheckpoint, StateMismatch
from muster.train.store.parts import FileEntry

INDEX = "tensors.json"
INDEX_BYTES_MOST = 1 << 30
"""Far more than the names of the largest models take."""

Digests = dict[str, FileEntry]


class HashedFile:
    """A file that is written from beginning to end, with its checksum."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 (closed by close)
        self._digest = hashlib.sha256()
        self._name = os.path.basename(path)
        self._bytes = 0

    def write(self, data: Any) -> int:
        """Write all of it."""
        view = memoryview(data).cast("B")
        self._digest.update(view)
        done = 0
        while done < len(view):
            done += self._file.write(view[done:])
        self._bytes += done
        return done

    def tell(self) -> int:
        """How much was written."""
        return self._bytes

    def flush(self) -> None:
        """Nothing is held back."""

    def fileno(self) -> int:
        """For syncing."""
        return self._file.fileno()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def entry(self) -> FileEntry:
        """What was written."""
        return FileEntry(self._name, self._bytes, self._digest.hexdigest())


def write_shared(folder: str, tensors: dict[str, Any], group: Any) -> list[FileEntry]:
    """Write this rank's part of the shared tensors; its files. All ranks of the group call this."""
    _quiet()
    checkpoint = optional.module("torch.distributed.checkpoint")
    planner = checkpoint.DefaultSavePlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
    writer = _writer_class()(folder)
    checkpoint.save(tensors, storage_writer=writer, planner=planner, process_group=group, no_dist=group is None)
    return list(writer.fs.digests.values())


class SharedTensors:
    """Shared tensors of one checkpoint, for reading."""

    def __init__(self, find: Callable[[str], str]) -> None:
        self._find = find
        with open(find(INDEX), "rb") as file:
            self._index: dict[str, Any] = json.loads(file.read(INDEX_BYTES_MOST))

    def names(self, prefix: str) -> set[str]:
        """What there is under a path."""
        return {name for name in self._index if name == prefix or name.startswith(f"{prefix}/")}

    def empty_like(self, name: str) -> Any:
        """A tensor with the shape and type of a saved one."""
        torch = optional.module("torch")
        saved = self._index[name]
        return torch.empty(saved["size"], dtype=getattr(torch, saved["dtype"]))

    def load(self, tensors: dict[str, Any]) -> None:
        """Read into these tensors, each rank its part."""
        if not tensors:
            return
        _quiet()
        checkpoint = optional.module("torch.distributed.checkpoint")
        self._check(tensors)
        planner = checkpoint.DefaultLoadPlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
        reader = _reader_class()({name: self._index[name] for name in tensors}, self._find)
        try:
            checkpoint.load(tensors, storage_reader=reader, planner=planner, no_dist=True)
        except checkpoint.CheckpointException as error:
            raise _first_failure(error) from error

    def _check(self, tensors: dict[str, Any]) -> None:
        for name, tensor in tensors.items():
            saved = self._index.get(name)
            if saved is None or list(tensor.shape) != saved["size"]:
                found = "nothing" if saved is None else f"a tensor of the shape {tuple(saved['size'])}"
                raise StateMismatch(f"{name} has the shape {tuple(tensor.shape)}, and the checkpoint has {found}")


def _first_failure(error: Any) -> BaseException:
    """What one rank said, instead of the stacks of all."""
    failures = [failure[0] for failure in error.failures.values()]
    return next((each for each in failures if isinstance(each, DamagedCheckpoint)), failures[0] if failures else error)


def failure_in_words(error: Any) -> BaseException:
    """The cause of a failed save, also when another rank had it."""
    return _first_failure(error) if hasattr(error, "failures") else error


def _quiet() -> None:
    """A single process is no mistake here, so torch need not warn of it. User code may have reset what warns."""
    warnings.filterwarnings("ignore", message="torch.distributed is disabled")


@cache
def _writer_class() -> Any:
    filesystem = optional.module("torch.distributed.checkpoint.filesystem")

    class HashingFolder(filesystem.FileSystem):  # type: ignore[misc, name-defined]
        """Files whose checksums are known when they are written."""

        def __init__(self) -> None:
            self.digests: Digests = {}

        @contextlib.contextmanager
        def create_stream(self, path: Any, mode: str) -> Iterator[Any]:
            """A file that is only written."""
            if mode != "wb":
                raise ValueError(f"a file of a checkpoint is opened as {mode!r} while saving")
            file = HashedFile(os.fspath(path))
            try:
                yield file
            finally:
                file.close()
            self.digests[file.entry.name] = file.entry

        def rename(self, path: Any, new_path: Any) -> None:
            """The checksum goes along with the file."""
            super().rename(path, new_path)
            old = self.digests.pop(os.path.basename(path))
            name = os.path.basename(new_path)
            self.digests[name] = FileEntry(name, old.bytes, old.sha256)

    class ShardWriter(filesystem.FileSystemWriter):  # type: ignore[misc, name-defined]
        """Writes the index in JSON as well."""

        def __init__(self, path: str) -> None:
            super().__init__(path, sync_files=True, per_thread_copy_ahead=0)
            self.fs = HashingFolder()

        def finish(self, metadata: Any, results: Any) -> None:
            """The last thing, on rank 0 only."""
            super().finish(metadata, results)
            with self.fs.create_stream(os.path.join(self.path, INDEX), "wb") as file:
                file.write(json.dumps(_index_of(metadata, results)).encode())
                os.fsync(file.fileno())

    return ShardWriter


def _index_of(metadata: Any, results: Any) -> dict[str, Any]:
    places = {}
    for result in (each for of_rank in results for each in of_rank):
        offsets = tuple(result.index.offset or ())
        stored = result.storage_data
        places[result.index.fqn, offsets] = (stored.relative_path, stored.offset, stored.length)
    index: dict[str, Any] = {}
    for name, saved in metadata.state_dict_metadata.items():
        chunks = []
        for chunk in saved.chunks:
            offsets = tuple(chunk.offsets)
            place = places.get((name, offsets)) or places[name, ()]
            chunks.append([list(offsets), list(chunk.sizes), *place])
        dtype = str(saved.properties.dtype).removeprefix("torch.")
        index[name] = {"dtype": dtype, "size": list(saved.size), "chunks": chunks}
    return index


@cache
def _reader_class() -> Any:  # noqa: C901 (it is one class, which can be made only where torch is)
    checkpoint = optional.module("torch.distributed.checkpoint")

    class ShardReader(checkpoint.StorageReader):  # type: ignore[misc, name-defined]
        """Reads tensors by the index in JSON, from files that are verified when they are first needed."""

        def __init__(self, index: dict[str, Any], find: Callable[[str], str]) -> None:
            self._index = index
            self._find = find
            self._places: dict[Any, tuple[str, int, int]] = {}

        def reset(self, checkpoint_id: Any = None) -> None:
            """There is one checkpoint for each reader."""

        def read_metadata(self) -> Any:
            """What the planner needs to know."""
            for name, saved in self._index.items():
                for offsets, _, file, offset, length in saved["chunks"]:
                    self._places[name, tuple(offsets)] = (file, offset, length)
            entries = {name: _described(saved) for name, saved in self._index.items()}
            return optional.module("torch.distributed.checkpoint.metadata").Metadata(entries)

        def set_up_storage_reader(self, metadata: Any, is_coordinator: bool) -> None:
            """Everything is known already."""

        def prepare_local_plan(self, plan: Any) -> Any:
            """As it is."""
            return plan

        def prepare_global_plan(self, plans: Any) -> Any:
            """As they are."""
            return plans

        def read_data(self, plan: Any, planner: Any) -> Any:
            """Read file by file."""
            by_file: dict[str, list[tuple[int, int, Any]]] = {}
            for item in plan.items:
                name, offset, length = self._places[item.storage_index.fqn, tuple(item.storage_index.offset or ())]
                by_file.setdefault(name, []).append((offset, length, item))
            for name, items in by_file.items():
                _read_file(self._find(name), items, planner)
            future = optional.module("torch.futures").Future()
            future.set_result(None)
            return future

        @classmethod
        def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
            """Files are found by their names."""
            return checkpoint_id is not None

    return ShardReader


def _described(saved: dict[str, Any]) -> Any:
    """What the planner needs to know of one tensor."""
    torch = optional.module("torch")
    words = optional.module("torch.distributed.checkpoint.metadata")
    chunks = [words.ChunkStorageMetadata(torch.Size(at), torch.Size(sizes)) for at, sizes, *_ in saved["chunks"]]
    properties = words.TensorProperties(dtype=getattr(torch, saved["dtype"]))
    return words.TensorStorageMetadata(properties, torch.Size(saved["size"]), chunks)


def _read_file(path: str, items: list[tuple[int, int, Any]], planner: Any) -> None:
    with open(path, "rb") as file:
        for offset, length, item in sorted(items, key=lambda each: each[0]):
            file.seek(offset)
            _read_item(planner, item, file.read(length))


def _read_item(planner: Any, item: Any, data: bytes) -> None:
    torch = optional.module("torch")
    tensor = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    for axis, (begin, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
        tensor = tensor.narrow(axis, begin, length)
    target = planner.resolve_tensor(item).detach()
    target.copy_(tensor)
    planner.commit_tensor(item, target)
