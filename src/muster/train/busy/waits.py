"""The places at which torch waits for other ranks, whichever collective it is and whoever calls it.

All collectives that Python starts, those of users and those of libraries such as FSDP2, come through a few methods:
those of `ProcessGroup` that start them, and `wait` of what these return. Functional collectives and sharded tensors
wait in one operator. While somebody listens, each of these says when it begins and ends. No collective is added, and
none is changed. What compiled code waits for without Python, such as a replayed CUDA graph, is not seen.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Protocol

GROUP_METHODS = (
    *("allreduce", "allreduce_coalesced", "broadcast", "reduce", "barrier", "monitored_barrier"),
    *("send", "recv", "recv_anysource", "gather", "scatter", "_end_coalescing"),
    *("allgather", "allgather_coalesced", "allgather_into_tensor_coalesced", "_allgather_base"),
    *("all_gather_single", "all_gather_single_coalesced"),
    *("reduce_scatter", "reduce_scatter_tensor_coalesced", "_reduce_scatter_base"),
    *("reduce_scatter_single", "reduce_scatter_single_coalesced"),
    *("alltoall", "alltoall_base", "all_to_all_single"),
)
"""Those of a process group that start a collective. Some wait for its end, some return something to wait for."""


class WaitListener(Protocol):
    """Hears when the training waits."""

    def begins(self) -> bool:
        """A wait begins. False when it is none of the training, or a part of another one."""
        ...

    def ends(self) -> None:
        """The wait that has begun is over."""
        ...


class Waits:
    """Tells a listener of all waits, until it is closed."""

    def __init__(self, torch: Any, listener: WaitListener) -> None:
        self._torch = torch
        self._listener = listener
        self._changed: list[tuple[Any, str, Any, Any]] = []
        for owner, name in self._methods():
            self._replace(owner, name, listening(getattr(owner, name), listener))
        for operator in self._operators():
            self._replace(operator, "_op", ListeningOperator(operator._op, listener))  # noqa: SLF001

    def close(self) -> None:
        """Let the methods be what they were, unless somebody else has changed them since."""
        for owner, name, before, now in reversed(self._changed):
            if vars(owner).get(name) is now:
                setattr(owner, name, before)
        self._changed.clear()

    def _replace(self, owner: Any, name: str, now: Any) -> None:
        before = vars(owner)[name]
        setattr(owner, name, now)
        self._changed.append((owner, name, before, now))

    def _methods(self) -> Iterator[tuple[Any, str]]:
        c10d = self._torch._C._distributed_c10d  # noqa: SLF001 (what it exports does not say where its methods are)
        names = {
            c10d.ProcessGroup: GROUP_METHODS,
            c10d.Work: ("wait", "synchronize"),
            c10d.Store: ("wait", "get", "barrier"),
            self._torch._C.Future: ("wait",),  # noqa: SLF001
        }
        for owner, methods in names.items():
            yield from ((owner, name) for name in methods if name in vars(owner))

    def _operators(self) -> Iterator[Any]:
        # In the operator, not in the function that calls it: torch.compile reads the function.
        with contextlib.suppress(AttributeError):
            packet = self._torch.ops._c10d_functional.wait_tensor  # noqa: SLF001
            yield from (each for each in (packet, packet.default) if "_op" in vars(each))


def listening(call: Callable[..., Any], listener: WaitListener) -> Callable[..., Any]:
    """The same function, and the listener hears of it."""

    @wraps(call)
    def told(*arguments: Any, **more: Any) -> Any:
        if not listener.begins():
            return call(*arguments, **more)
        try:
            return call(*arguments, **more)
        finally:
            listener.ends()

    return told


class ListeningOperator:
    """What an operator of torch calls, and the listener hears of it. It has the hash of what it stands for."""

    def __init__(self, call: Any, listener: WaitListener) -> None:
        self._call = call
        self._told = listening(call, listener)

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        """Call it."""
        return self._told(*arguments, **more)

    def __hash__(self) -> int:
        return hash(self._call)

    def __eq__(self, other: object) -> bool:
        return other is self or bool(other == self._call)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)
