"""Copies of tensors and arrays that are written while training goes on.

Training stands still for the copies only. The memory is kept from save to save, and pinned where there is a GPU. It is
reserved before the first save: the system gives memory page by page when it is first written, and a first copy into new
memory takes several times as long as one into memory that is there.
"""

from typing import Any

from muster.train import optional
from muster.train.state.rank_file import is_tensor


class Staging:
    """The memory for the copies of one rank. It holds one save at a time."""

    def __init__(self) -> None:
        self._buffers: dict[str, Any] = {}
        self._used: set[str] = set()
        self._is_on_device = False
        self._is_rehearsal = False
        self._is_closing = False

    def begin(self, is_rehearsal: bool = False) -> None:
        """A new save: what the last one no longer needed is let go. A rehearsal only finds out what memory it takes."""
        self._buffers = {name: buffer for name, buffer in self._buffers.items() if name in self._used}
        self._used = set()
        self._is_on_device = False
        self._is_rehearsal = is_rehearsal

    def warm(self) -> None:
        """Write to all of the memory, so that the system has given it when the first save comes."""
        for buffer in list(self._buffers.values()):
            if self._is_closing:
                return
            buffer.fill_(0) if is_tensor(buffer) else buffer.fill(0)

    def close(self) -> None:
        """No save will come: the memory need not be written to any more. May be called on any thread."""
        self._is_closing = True

    def copy(self, name: str, value: Any) -> Any:
        """A copy in memory that stays as it is until the next save. Sharded tensors keep what they are a part of."""
        if not is_tensor(value):
            return self._copied_array(name, value)
        torch = optional.module("torch")
        with torch.no_grad():
            value = value.detach()
            if not is_sharded(value):
                return self._copied_tensor(name, value)
            local = self._copied_tensor(name, value.to_local())
            return type(value)(local, value._spec, requires_grad=False)  # noqa: SLF001 (as torch's own stagers do)

    def finish(self) -> None:
        """Wait until the copies from GPUs are there."""
        if self._is_on_device:
            optional.module("torch").cuda.synchronize()

    def _copied_tensor(self, name: str, tensor: Any) -> Any:
        torch = optional.module("torch")
        is_on_device = tensor.device.type == "cuda"
        self._is_on_device |= is_on_device
        buffer: Any = self._buffers.get(name)
        if not is_tensor(buffer) or buffer.dtype != tensor.dtype or buffer.shape != tensor.shape:
            buffer = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=is_on_device)
        if not self._is_rehearsal:
            buffer.copy_(tensor, non_blocking=is_on_device)
        self._used.add(name)
        self._buffers[name] = buffer
        return buffer

    def _copied_array(self, name: str, value: Any) -> Any:
        numpy = optional.module("numpy")
        array = numpy.asarray(value)
        buffer = self._buffers.get(name)
        if not isinstance(buffer, numpy.ndarray) or buffer.dtype != array.dtype or buffer.shape != array.shape:
            buffer = numpy.empty(array.shape, array.dtype)
        if not self._is_rehearsal:
            numpy.copyto(buffer, array)
        self._used.add(name)
        self._buffers[name] = buffer
        return buffer


def is_sharded(tensor: Any) -> bool:
    """True for a tensor of which each rank has a part (a DTensor of torch)."""
    return hasattr(tensor, "to_local") and hasattr(tensor, "placements")
