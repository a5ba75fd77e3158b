"""The file with what belongs to one rank: plain values and arrays. There is no code in it.

    8 bytes     the mark
    8 bytes     the length of the heading, little-endian
    heading     JSON: the tree of values, and for each array its type, shape and place
    arrays      raw, each at a multiple of 64 bytes after the heading

In the tree, what JSON cannot hold is an object with the single letter `$`: {"$": "array", "at": 3}.
"""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from muster.train import optional
from muster.train.errors import DamagedCheckpoint, UnsavableState

MARK = b"MUSTERR1"
HEADING_BYTES_MOST = 1 << 30
"""Far more than the plain values of any state, and less than memory."""

ALIGNED_BYTES = 64
_AT = struct.Struct("<8sQ")


@dataclass(frozen=True)
class RawArray:
    """One array: what it was, and its bytes in memory that may be written."""

    kind: str
    """numpy or torch."""
    dtype: str
    shape: tuple[int, ...]
    data: memoryview


def is_tensor(value: Any) -> bool:
    """True for torch tensors, without importing torch."""
    torch = optional.loaded("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """True for numpy arrays and for what turns into one by itself, such as arrays of JAX."""
    numpy = optional.loaded("numpy")
    if numpy is None:
        return False
    return isinstance(value, numpy.ndarray) or (hasattr(value, "__array__") and hasattr(value, "dtype"))


def is_masked(value: Any) -> bool:
    """True for numpy's masked arrays, which are more than their numbers."""
    numpy = optional.loaded("numpy")
    return numpy is not None and isinstance(value, numpy.ma.MaskedArray)


def raw(value: Any, where: str) -> RawArray:
    """The bytes of a tensor on the CPU or of an array, without a copy where it lies in one piece."""
    if is_tensor(value):
        tensor = value.detach().contiguous()
        return RawArray("torch", str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), _memory(tensor))
    numpy = optional.module("numpy")
    array = numpy.ascontiguousarray(value)
    if array.dtype.hasobject:
        raise UnsavableState(f"{where}: an array of Python objects cannot be saved; use an array of numbers")
    shape = tuple(numpy.shape(value))
    return RawArray("numpy", json.dumps(_described(array.dtype)), shape, memoryview(array.reshape(-1).view("u1")))


def revived(kind: str, dtype: str, shape: tuple[int, ...], data: bytearray) -> Any:
    """The array that has these bytes."""
    if kind == "torch":
        torch = optional.module("torch")
        of_type = getattr(torch, dtype, None)
        if not isinstance(of_type, torch.dtype):
            raise DamagedCheckpoint(f"there is no type {dtype!r} of tensors")
        return torch.frombuffer(data, dtype=of_type).reshape(shape) if data else torch.empty(shape, dtype=of_type)
    numpy = optional.module("numpy")
    return numpy.frombuffer(data, dtype=_undescribed(json.loads(dtype))).reshape(shape)


def _described(dtype: Any) -> Any:
    # Types that other packages add to numpy, such as bfloat16, are known by their names only.
    return dtype.descr if dtype.names else (dtype.name if dtype.kind == "V" else dtype.str)


def _undescribed(described: Any) -> Any:
    numpy = optional.module("numpy")
    if isinstance(described, list):
        return numpy.dtype([tuple(field) for field in described])
    try:
        return numpy.dtype(described)
    except TypeError:
        return numpy.dtype(getattr(optional.module("ml_dtypes"), described))


def _memory(tensor: Any) -> memoryview:
    """The memory of a tensor, also of types that numpy does not know."""
    import ctypes  # noqa: PLC0415

    size = tensor.numel() * tensor.element_size()
    if not size:
        return memoryview(b"")
    # The array object keeps nothing alive: the tensor is held by whoever staged it.
    return memoryview((ctypes.c_ubyte * size).from_address(tensor.data_ptr())).cast("B")


def pieces(tree: Any, arrays: list[RawArray]) -> Iterator[Any]:
    """The file in the order in which it is written."""
    places: list[dict[str, Any]] = []
    end = 0
    for array in arrays:
        begin = -(-end // ALIGNED_BYTES) * ALIGNED_BYTES
        end = begin + len(array.data)
        places.append(
            {"kind": array.kind, "dtype": array.dtype, "shape": array.shape, "at": begin, "bytes": end - begin}
        )
    heading = json.dumps({"tree": tree, "arrays": places}, separators=(",", ":")).encode()
    heading += b" " * (-(len(heading) + _AT.size) % ALIGNED_BYTES)
    yield _AT.pack(MARK, len(heading))
    yield heading
    end = 0
    for place, array in zip(places, arrays, strict=True):
        yield b"\0" * (place["at"] - end)
        yield array.data
        end = place["at"] + place["bytes"]


class RankFile:
    """A file of this form, open for reading. It was verified before."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by close)
        try:
            mark, length = _AT.unpack(self._exactly(_AT.size))
            if mark != MARK or length > HEADING_BYTES_MOST:
                raise DamagedCheckpoint(f"{os.path.basename(path)} is no file of values")
            heading = json.loads(self._exactly(length))
        except (struct.error, ValueError, DamagedCheckpoint):
            self._file.close()
            raise DamagedCheckpoint(f"{os.path.basename(path)} is no file of values") from None
        self._begin = _AT.size + length
        self.tree: Any = heading["tree"]
        self._arrays: list[dict[str, Any]] = heading["arrays"]

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(self._arrays[number]["shape"])

    def array(self, number: int) -> Any:
        """Read an array."""
        place = self._arrays[number]
        self._file.seek(self._begin + place["at"])
        return revived(place["kind"], place["dtype"], tuple(place["shape"]), self._exactly(place["bytes"]))

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view, done = memoryview(data), 0
        while done < size:
            count = self._file.readinto(view[done:])
            if not count:
                raise DamagedCheckpoint("the file of values ends too early")
            done += count
        return data
