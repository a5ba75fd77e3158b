"""The other ranks, asked in the background.

What is asked goes through a group of processes of its own on the CPU, so it never mixes with the collectives of
training. Without torch.distributed a rank is alone: then completeness is decided by what is on disk.
"""

import atexit
import ctypes
import time
from datetime import timedelta
from typing import Any

from muster.train import optional

END_S = 0.2
"""How long a process waits at its end for threads of process groups: they need microseconds of it."""

ANSWER_MINUTES = 30
"""How long a rank waits for the others in the background: the slowest disk of a gang."""


class Peers:
    """The ranks that save together."""

    def __init__(self) -> None:
        self._group: Any = None

    @property
    def group(self) -> Any:
        """The group of processes; None when this process is alone."""
        return self._group

    def meet(self) -> None:
        """Make the group, once. All ranks come here at the same point of their programs: restore, or the first save."""
        distributed = _initialised()
        if self._group is None and distributed is not None and distributed.get_world_size() > 1:
            self._group = distributed.new_group(backend="gloo", timeout=timedelta(minutes=ANSWER_MINUTES))
            for group in (distributed.group.WORLD, self._group):
                _keep_for_ever(group)
            atexit.register(_let_threads_finish)

    def gather(self, value: Any) -> list[Any]:
        """What every rank says."""
        if self._group is None:
            return [value]
        answers: list[Any] = [None] * self._group.size()
        optional.module("torch.distributed").all_gather_object(answers, value, group=self._group)
        return answers


def _keep_for_ever(group: Any) -> None:
    """Never destroy a group of processes before the process ends.

    Its destructor waits for a thread while it holds the interpreter's lock, and the thread may wait for that lock to
    free the tensors of the last collective: a training that is over would hang (seen with PyTorch 2.13 and gloo, when
    the model is freed after `destroy_process_group`).
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))


def _let_threads_finish() -> None:
    """Give up the interpreter's lock for a moment before the interpreter ends.

    A thread of a process group may still wait for the lock to free the tensors of the last collective. Once the
    interpreter has ended it cannot have it, and the process would abort: "terminate called without an active
    exception", seen with PyTorch 2.13 and gloo. A training that has finished would count as failed.
    """
    time.sleep(END_S)


def _initialised() -> Any:
    torch = optional.loaded("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return torch.distributed
