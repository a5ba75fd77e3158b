"""A callback for the `Trainer` of Hugging Face: checkpoints that survive.

    from muster.train.huggingface import trainer_callback
    Trainer(…, args=TrainingArguments(save_strategy="no", …), callbacks=[trainer_callback()])

The model, the optimizer, the schedule and the step go into the checkpoint. Data is read from the beginning of an epoch
after a resume, as the trainer's own position in the data is not to be had by a callback. When the job is asked to
leave, training stops after the save.
"""

from functools import cache
from typing import Any

from muster.train import optional
from muster.train.checkpointer import Checkpointer


def trainer_callback(path: str | None = None, *, every: str | int | None = None, keep: int | None = None) -> Any:
    """A callback that restores when training begins, and saves when it is due."""
    return _callback_class()(Checkpointer(path, every=every, keep=keep))


@cache
def _callback_class() -> Any:
    transformers = optional.module("transformers")

    class TrainerCheckpoints(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        """Restores when training begins, and saves when it is due."""

        def __init__(self, checkpoints: Checkpointer) -> None:
            self.checkpoints = checkpoints
            self._state: dict[str, Any] = {}

        def on_train_begin(self, _args: Any, state: Any, _control: Any, **kwargs: Any) -> None:
            """Restore everything, before the first batch."""
            self._state = {"model": kwargs["model"], "optimizer": _inner(kwargs["optimizer"])}
            self._state |= {"schedule": _inner(kwargs["lr_scheduler"]), "log": list(state.log_history)}
            step = self.checkpoints.restore(self._state)
            if step:
                state.global_step = step
                state.log_history[:] = self._state["log"]
            self.checkpoints.watch(kwargs["model"])

        def on_step_end(self, _args: Any, state: Any, control: Any, **_kwargs: Any) -> Any:
            """A step is finished."""
            self._state["log"] = state.log_history
            last = state.log_history[-1] if state.log_history else {}
            metrics = {
                name: value for name, value in last.items() if name != "step" and isinstance(value, (int, float))
            }
            if not self.checkpoints.step(state.global_step, self._state, **metrics):
                control.should_training_stop = True
            return control

        def on_train_end(self, *_args: Any, **_kwargs: Any) -> None:
            """Wait for the save that is under way."""
            self.checkpoints.close()

    return TrainerCheckpoints


def _inner(wrapped: Any) -> Any:
    """The optimizer or schedule inside of what accelerate wraps around it."""
    return getattr(wrapped, "optimizer", None) or getattr(wrapped, "scheduler", None) or wrapped
