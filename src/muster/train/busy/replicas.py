"""The waiting inside of DistributedDataParallel, which no Python sees.

It waits at the end of the backward pass, where gradients of the other ranks arrive, and before the forward pass, where
buffers do. Both are between calls that hooks of the model and of autograd get.
"""

import gc
from typing import Any

from muster.train.busy.waits import WaitListener


class ReplicaWaits:
    """Tells a listener when one replica waits, until it is closed."""

    def __init__(self, torch: Any, replica: Any, listener: WaitListener) -> None:
        self._listener = listener
        self._queue = torch.autograd.Variable._execution_engine.queue_callback  # noqa: SLF001
        self._is_waiting = self._is_asked = False
        self._hooks = [
            replica.register_forward_pre_hook(self._wait_begins),
            replica.module.register_forward_pre_hook(self._wait_ends),
            replica.register_forward_hook(self._watch_backward),
        ]

    def close(self) -> None:
        """Stop listening."""
        self._wait_ends()
        for hook in self._hooks:
            hook.remove()

    def _wait_begins(self, *_: Any) -> None:
        self._wait_ends()
        self._is_waiting = self._listener.begins()

    def _wait_ends(self, *_: Any) -> None:
        if self._is_waiting:
            self._is_waiting = False
            self._listener.ends()

    def _watch_backward(self, _module: Any, _inputs: Any, output: Any) -> None:
        tensor = _first_with_gradient(output)
        if tensor is not None:
            self._is_asked = False
            tensor.register_hook(self._backward_begins)

    def _backward_begins(self, _gradient: Any) -> None:
        # Called in order when the engine is done: this one before torch's own, which waits for the other ranks.
        if not self._is_asked:
            self._is_asked = True
            self._queue(self._backward_computed)

    def _backward_computed(self) -> None:
        self._wait_begins()
        self._queue(self._wait_ends)


def replicas_in(torch: Any, model: Any) -> list[Any]:
    """The parts of a model that are in DistributedDataParallel, and those that have the model or a part of it in them.

    Libraries hand over the model without what they have wrapped around it, as the Trainer of Hugging Face does. So all
    objects are looked through, once.
    """
    if not torch.distributed.is_available():
        return []
    replica = torch.nn.parallel.DistributedDataParallel
    parameters = {id(each) for each in model.parameters()}
    everywhere = [each for each in gc.get_objects() if issubclass(type(each), replica)]
    return [each for each in everywhere if any(id(parameter) in parameters for parameter in each.parameters())]


def _first_with_gradient(output: Any) -> Any:
    if getattr(output, "requires_grad", False):
        return output
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return next((found for each in output if (found := _first_with_gradient(each)) is not None), None)
    return None
