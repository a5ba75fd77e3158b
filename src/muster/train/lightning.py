"""A callback for Lightning: checkpoints that survive, in an ordinary `Trainer`.

    from muster.train.lightning import lightning_callback
    trainer = Trainer(callbacks=[lightning_callback()], enable_checkpointing=False)

The model, optimizers, schedules, the progress of the loops and the states of other callbacks and of the data module go
into the checkpoint. Within an epoch Lightning reads its data from the beginning again, unless the data module keeps its
own place. When the job is asked to leave, the trainer stops after the save.
"""

from functools import cache
from typing import Any

from muster.train import optional
from muster.train.checkpointer import Checkpointer


def lightning_callback(path: str | None = None, *, every: str | int | None = None, keep: int | None = None) -> Any:
    """A callback that restores when training begins, and saves when it is due."""
    return _callback_class()(Checkpointer(path, every=every, keep=keep))


def lightning_state(trainer: Any) -> dict[str, Any]:
    """What a trainer has to resume from."""
    state: dict[str, Any] = {
        "model": trainer.strategy.model,
        "optimizers": list(trainer.optimizers),
        "schedules": [config.scheduler for config in trainer.lr_scheduler_configs],
        "loop": _progress(trainer),
    }
    if trainer.datamodule is not None:
        state["data"] = trainer.datamodule
    others = {callback.state_key: callback.state_dict() for callback in trainer.callbacks}
    state["callbacks"] = {key: saved for key, saved in others.items() if saved}
    return state


def _progress(trainer: Any) -> dict[str, Any]:
    """The progress of the loops after a batch.

    Lightning counts the batch, and after the last one the epoch, as completed only when its callbacks were called.
    """
    loop: dict[str, Any] = trainer.fit_loop.state_dict()
    batches, epochs = loop["epoch_loop.batch_progress"], loop["epoch_progress"]
    for count in (batches["total"], batches["current"]):
        count["completed"] = count["processed"]
    if trainer.is_last_batch:
        batches["current"].update(dict.fromkeys(batches["current"], 0))
        for count in (epochs["total"], epochs["current"]):
            count.update(dict.fromkeys(count, count["ready"]))
    return loop


@cache
def _callback_class() -> Any:  # noqa: C901 (it is one class, which can be made only where Lightning is)
    try:
        callbacks = optional.module("lightning.pytorch.callbacks")
    except ImportError:
        callbacks = optional.module("pytorch_lightning.callbacks")

    class LightningCheckpoints(callbacks.Callback):  # type: ignore[misc, name-defined]
        """Restores when training begins, and saves when it is due."""

        def __init__(self, checkpoints: Checkpointer) -> None:
            self.checkpoints = checkpoints
            self._last_step = 0

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            """Restore everything, before the first batch."""
            state = lightning_state(trainer)
            self._last_step = self.checkpoints.restore(state)
            if self._last_step:
                trainer.fit_loop.load_state_dict(state["loop"])
                for callback in trainer.callbacks:
                    if callback.state_key in state["callbacks"]:
                        callback.load_state_dict(state["callbacks"][callback.state_key])
            self.checkpoints.watch(pl_module if trainer.strategy.model is None else trainer.strategy.model)

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            """A step is finished, unless gradients are only being accumulated."""
            if trainer.global_step == self._last_step:
                return
            self._last_step = trainer.global_step
            metrics = {name: value for name, value in trainer.callback_metrics.items() if name.isidentifier()}
            if not self.checkpoints.step(trainer.global_step, _LazyState(trainer), **metrics):
                trainer.should_stop = True

        def teardown(self, *_: Any, **__: Any) -> None:
            """Wait for the save that is under way."""
            self.checkpoints.close()

    return LightningCheckpoints


class _LazyState(dict[str, Any]):
    """The state of a trainer, put together only when a save is due."""

    def __init__(self, trainer: Any) -> None:
        super().__init__()
        self._trainer = trainer

    def items(self) -> Any:
        """What is saved."""
        self._fill()
        return super().items()

    def values(self) -> Any:
        """What is saved, without names."""
        self._fill()
        return super().values()

    def __iter__(self) -> Any:
        self._fill()
        return super().__iter__()

    def _fill(self) -> None:
        if not len(self):
            self.update(lightning_state(self._trainer))
