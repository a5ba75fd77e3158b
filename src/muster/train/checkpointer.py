"""What user code calls: restore, step, save, watch, close.

    with Checkpointer() as checkpoints:
        step = checkpoints.restore(state)
        while step < STEPS:
            train_one(step)
            step += 1
            if not checkpoints.step(step, state, loss=loss):
                break

Inside a job everything has a default. Elsewhere a path is given.
"""

import contextlib
import math
import mmap
import os
import time
from typing import Any

from muster.train import optional
from muster.train.agreement import DECISION_S, Agreement
from muster.train.announcer import Announcer
from muster.train.board import CLOSED, LEAVE, LEFT, SIZE, Board, has_earlier_process
from muster.train.busy.busy_time import BusyTime, busy_time_of
from muster.train.durations import DEFAULT_S, seconds_of, steps_of
from muster.train.errors import CheckpointError, UnwritableCheckpoint
from muster.train.notice_pipe import NoticePipe, say
from muster.train.own_clock import OwnClock
from muster.train.peers import Peers
from muster.train.restoring import restore
from muster.train.saving import LAST_SAVE_S, NEVER, RankContext, SaveHandle, Saver
from muster.train.stacks import Stacks
from muster.train.store.places import Places, places_of
from muster.train.store.steps import step_number
from muster.train.surroundings import Surroundings, place_in_world, surroundings

METRICS_NS = 1_000_000_000
"""Time between two notices with metrics."""


class Checkpointer:
    """Checkpoints of one process, and its progress as the supervisor sees it."""

    def __init__(self, path: str | None = None, *, every: str | int | None = None, keep: int | None = None) -> None:
        self._around: Surroundings = surroundings()
        self._every_steps, self._every_s = steps_of(every), seconds_of(every)
        if keep is not None and step_number(keep) < 1:
            raise ValueError(f"keep={keep}: at least one checkpoint is kept")
        self._keep = keep if keep is not None else self._around.keep
        self._places: Places | None = places_of(self._around, None if path is None else os.fspath(path))
        if self._places is None and not self._around.is_in_muster:
            raise ValueError(
                'outside Muster, say where checkpoints go: Checkpointer("file:///…") or Checkpointer("s3://…")'
            )
        self._pipe = NoticePipe(self._around.notice)
        self._peers = Peers()
        self._context: RankContext | None = None
        self._saver: Saver | None = None
        self._stacks: Stacks | None = None
        self._announcer: Announcer | None = None
        self._busy: BusyTime | None = None
        self._has_left = False
        self._is_alert = True
        """True when steps are looked at although nothing is due: the first one, and all after this rank has left."""
        self._metrics_ns = 0
        self._last: int | None = None

    def __enter__(self) -> "Checkpointer":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(LAST_SAVE_S if kind is not None else None)

    def restore(self, state: dict[str, Any]) -> int:
        """Put the newest complete and verified checkpoint into `state`; its step, or 0 when there is none."""
        self._begin(0)
        step = 0
        if self._context is not None and self._saver is not None:
            step = restore(self._context, state)
            self._saver.is_owner_known = True
            self._saver.given_up = NEVER
            self._saver.prepare(state)
        if step:
            self._last = step
        self._board.resume_at(step)
        self._agreement.begin(step)
        self._step_ns = time.monotonic_ns()
        if self._busy is not None:
            self._busy.restart()
        return step

    def step(self, step: int, state: dict[str, Any], **metrics: Any) -> bool:
        """A step is finished. False when the job was asked to leave: then it is saved, and training ends here."""
        step = step_number(step)
        try:
            board, agreement = self._board, self._agreement
        except AttributeError:
            self._begin(step - 1)
            board, agreement = self._board, self._agreement
        now_ns = time.monotonic_ns()
        step_us = (now_ns - self._step_ns) // 1000
        self._step_ns = now_ns
        board.record(step, now_ns, step_us, self._busy.take_us(step_us) if self._busy is not None else 0)
        if metrics and now_ns >= self._metrics_ns:
            self._metrics_ns = now_ns + METRICS_NS
            self._pipe.offer("metrics", {"step": step, **_plain_numbers(metrics)})
        if now_ns < self._clock.look_ns and agreement.is_quiet(step) and not self._is_alert:
            return True
        goes_on = self._act(step, state, now_ns)
        if self._busy is not None:
            # Neither a save nor waiting for a decision is work of the next step.
            self._busy.restart()
        return goes_on

    def save(self, step: int, state: dict[str, Any]) -> SaveHandle:
        """Save now. All ranks call this at the same step. `wait()` of what it returns raises what went wrong."""
        step = step_number(step)
        self._begin(step)
        if self._saver is None:
            handle = SaveHandle(step)
            handle.end(
                UnwritableCheckpoint("the job has no checkpoint path: give one in the job file, or to Checkpointer")
            )
            return handle
        if self._announcer is not None:
            self._announcer.saved()
        handle = self._saver.start(step, state)
        # A save is no part of the next step.
        self._step_ns = time.monotonic_ns()
        return handle

    @property
    def last(self) -> int | None:
        """The newest complete step that this process knows of; None when there is none."""
        return self._last

    def watch(self, model: Any) -> None:
        """Measure how long this rank is busy itself in each step, without waiting for the others."""
        if self._busy is not None:
            self._busy.close()
        self._busy = busy_time_of(model)
        if self._busy is None:
            say("the busy time of this model is not measured: its device has no events with times")

    def close(self, timeout_s: float | None = None) -> None:
        """Wait for the save that is under way, and say that training is over."""
        if self._saver is not None:
            self._saver.close(timeout_s)
        if self._announcer is not None:
            self._announcer.close()
            self._announcer = None
        if self._busy is not None:
            self._busy.close()
            self._busy = None
        if self._stacks is not None:
            self._stacks.close()
            self._stacks = None
        with contextlib.suppress(AttributeError):
            self._board.flag(CLOSED)

    def _begin(self, step: int) -> None:
        """Find out which rank this is, and make the board. Once, when the framework has said it."""
        if hasattr(self, "_board"):
            return
        rank, world = place_in_world()
        is_again = has_earlier_process(self._around.boards)
        self._board = self._made_board(rank, world)
        self._board.resume_at(max(0, step))
        self._agreement = Agreement(self._board, self._every_steps, DECISION_S)
        self._agreement.begin(max(0, step))
        self._step_ns = time.monotonic_ns()
        if self._places is None:
            say("the job has no checkpoint path, so nothing is saved: `checkpoint: {path: …}` in the job file")
        else:
            self._context = RankContext(
                around=self._around,
                places=self._places,
                rank=rank,
                world=world,
                keep=self._keep,
                peers=self._peers,
                pipe=self._pipe,
                board=self._board,
                is_again=is_again,
            )
            self._saver = Saver(self._context, self._committed)
        self._decide_who_decides(rank, world)

    def _made_board(self, rank: int, world: int) -> Board:
        folder = self._around.boards
        if folder is None:
            return Board(mmap.mmap(-1, SIZE))
        try:
            board = Board.make(folder, rank, world)
        except OSError as error:
            say(f"no board in {folder}: {error}")
            return Board(mmap.mmap(-1, SIZE))
        self._pipe.tell(f"board {rank}", patience_s=1)
        self._stacks = Stacks(folder, rank, self._pipe)
        return board

    def _decide_who_decides(self, rank: int, world: int) -> None:
        """When to save: as the supervisor announces, after a number of steps, or by the clock of this process."""
        is_told = self._around.boards is not None
        now_ns = time.monotonic_ns()
        every_s = self._every_s if is_told or self._every_steps is not None else self._every_s or DEFAULT_S
        if world == 1:
            self._clock = OwnClock(now_ns, every_s, None if is_told else self._around.ask)
            return
        self._clock = OwnClock(now_ns)
        if is_told and every_s is not None:
            say("inside a job `checkpoint: {every: …}` of the job file decides how often; the time given here does not")
        elif every_s is not None:
            self._announcer = Announcer(self._board, _torch_store(), rank, world, every_s)
            self._agreement.settle = self._announcer.settle

    def _act(self, step: int, state: dict[str, Any], now_ns: int) -> bool:
        if self._has_left:
            return False
        if self._is_alert:
            self._is_alert = False
            if self._saver is not None:
                # Once more after the first step: by now optimizers have their state.
                self._saver.prepare(state)
        due = self._agreement.due(step)
        if due == LEAVE:
            return not self._left(step, state)
        is_asked = self._clock.is_asked
        if self._clock.is_due(now_ns) or due:
            handle = self.save(step, state)
            if is_asked:
                self._answer(handle)
        return True

    def _answer(self, handle: SaveHandle) -> None:
        """Tell an older supervisor, which knows whole checkpoints only."""
        with contextlib.suppress(CheckpointError):
            handle.wait()
            self._pipe.tell(f"saved {handle.cost_ms}")
        self._clock.answer()

    def _left(self, step: int, state: dict[str, Any]) -> bool:
        """Save, and say that this rank leaves. When the save fails, training goes on for as long as it may."""
        try:
            self.save(step, state).wait()
        except CheckpointError:
            return False
        self._board.flag(LEFT)
        self._has_left = self._is_alert = True
        return True

    def _committed(self, step: int) -> None:
        """A save is complete. One of an earlier step is not what would be restored."""
        self._last = step if self._last is None else max(self._last, step)


def _plain_numbers(metrics: dict[str, Any]) -> dict[str, Any]:
    """Metrics as they can be sent. Tensors are read here, which waits for a GPU."""
    plain: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, str):
            plain[name] = value
            continue
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            number = float(value.detach() if hasattr(value, "detach") else value)
            plain[name] = number if math.isfinite(number) else None
    return plain


def _torch_store() -> Any:
    torch = optional.loaded("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        raise ValueError(
            "several processes outside Muster cannot agree on when to save: give every= as a number of steps,"
            " or initialise torch.distributed before the first step"
        )
    return torch.distributed.distributed_c10d._get_default_store()  # noqa: SLF001 (the only way to share a few words)
