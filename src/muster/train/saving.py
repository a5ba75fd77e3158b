"""One save from the copy to the committed part.

Training stands still while the state is copied. A thread writes: first the shared tensors, together with the other
ranks, then the values of this rank, then the list of its files, which commits the part. A save that fails leaves the
checkpoints before it as they are, and training goes on.
"""

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from muster.train.board import SAVING, Board
from muster.train.errors import CheckpointError, UnsavableState, UnwritableCheckpoint, in_words
from muster.train.failpoints import failpoint
from muster.train.notice_pipe import NoticePipe, say
from muster.train.peers import Peers
from muster.train.state.rank_file import pieces
from muster.train.state.staging import Staging
from muster.train.state.state_tree import TakenState, rehearse, take_apart
from muster.train.state.torch_files import HashedFile, failure_in_words, write_shared
from muster.train.store.claims import claim
from muster.train.store.parts import MANIFEST, FileEntry, RankPart, encode_part, part_name
from muster.train.store.places import Places
from muster.train.store.replacing import beside, is_saved, replace
from muster.train.store.retention import complete, keep_newest
from muster.train.store.steps import STEP_MOST
from muster.train.store.stores import FolderStore
from muster.train.store.uploads import upload
from muster.train.surroundings import Surroundings

LAST_SAVE_S = 20
"""How long a process whose training failed, or that ends without closing its checkpoints, waits for its last save."""

NEVER = -1

RANKS_NAMED = 8
"""Ranks that are named when they save different steps."""


def values_name(rank: int) -> str:
    """The file with the values of a rank."""
    return f"values-{rank:05d}.bin"


class SaveHandle:
    """A save that was begun."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.begun_ns = time.monotonic_ns()
        self.cost_ms = 0
        """How long training stood still for it."""
        self._ended = threading.Event()
        self._error: CheckpointError | None = None

    @property
    def age_ms(self) -> int:
        """How long ago it was begun."""
        return (time.monotonic_ns() - self.begun_ns) // 1_000_000

    @property
    def is_done(self) -> bool:
        """True when it has ended, well or not."""
        return self._ended.is_set()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait for its end. Raises CheckpointError when it failed, TimeoutError when it takes longer."""
        if not self._ended.wait(timeout_s):
            raise TimeoutError(f"the save at step {self.step} is still under way")
        if self._error is not None:
            raise self._error

    def end(self, error: CheckpointError | None = None) -> None:
        """It has ended."""
        self._error = error
        self._ended.set()


@dataclass(frozen=True, kw_only=True)
class RankContext:
    """What saving and restoring need to know about this rank."""

    around: Surroundings
    places: Places
    rank: int
    world: int
    keep: int
    peers: Peers
    pipe: NoticePipe
    board: Board
    is_again: bool = False
    """True when an earlier process of this attempt trained here: the launcher has formed the gang anew."""
    damaged: set[int] = field(default_factory=set)
    """Steps that could not be restored, and were not saved again since then."""


class Saver:
    """Saves of one rank, one after the other."""

    def __init__(self, context: RankContext, committed: Callable[[int], None]) -> None:
        self._context = context
        self._committed = committed
        self._staging = Staging()
        self._thread: threading.Thread | None = None
        self._warming: threading.Thread | None = None
        self._said = ""
        atexit.register(_close_at_end, weakref.ref(self))
        self._target: FolderStore | None = None
        """Where this rank writes its files of the present save; before that none of them are its own."""
        self.is_owner_known = False
        """True when it was checked that the path is not another run's."""
        self.given_up = NEVER
        """The highest step that a rank wanted to save while others wanted to save another one."""

    def prepare(self, state: Any) -> None:
        """Reserve memory for the first save while training goes on. What cannot be saved is said by the save."""
        if self._thread is not None:  # a save has the memory already, and may be writing from it
            return
        self._warmed()
        with contextlib.suppress(Exception):
            rehearse(state, self._staging, self._context.world)
            self._warming = threading.Thread(target=self._staging.warm, name="muster-memory", daemon=True)
            self._warming.start()

    def start(self, step: int, state: Any) -> SaveHandle:
        """Copy the state and write it in the background. Waits for the save before, so that all ranks save alike."""
        handle = SaveHandle(step)
        self.finish()
        self._warmed()
        self._context.peers.meet()
        taken, problem = TakenState(), None
        try:
            if not 0 <= step <= STEP_MOST:
                raise UnsavableState(f"the step {step} is not between 0 and {STEP_MOST}")
            taken = take_apart(state, self._staging, self._context.world)
        except Exception as error:  # noqa: BLE001 (a user's state_dict may raise anything, and training goes on)
            problem = error if isinstance(error, CheckpointError) else UnsavableState(f"the state: {in_words(error)}")
        handle.cost_ms = handle.age_ms
        self._context.board.flag(SAVING)
        # A daemon: a process whose training failed must not wait for ranks that are gone.
        arguments = (handle, taken, problem)
        self._thread = threading.Thread(target=self._write, args=arguments, name=f"muster-save-{step}", daemon=True)
        self._thread.start()
        return handle

    def finish(self, timeout_s: float | None = None) -> None:
        """Wait for the save that is under way. Its problem was said already."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def close(self, timeout_s: float | None = None) -> None:
        """No other save will come. Waits for the one that is under way.

        The interpreter must not end while a thread is inside of PyTorch, which has given up the interpreter's lock: the
        thread cannot have it back, and the process would abort ("terminate called without an active exception").
        """
        self._staging.close()
        self._warmed()
        self.finish(timeout_s)

    def _warmed(self) -> None:
        """Wait until no thread writes to the memory of the copies."""
        if self._warming is not None:
            self._warming.join()
            self._warming = None

    def _write(self, handle: SaveHandle, taken: TakenState, problem: CheckpointError | None) -> None:
        error: CheckpointError | None = None
        try:
            self._write_together(handle, taken, problem)
        except CheckpointError as failed:
            error = failed
        except Exception as failed:  # noqa: BLE001 (whatever a file system or a lost rank raises)
            cause = failure_in_words(failed)
            place = self._context.places.own.root
            error = cause if isinstance(cause, CheckpointError) else UnwritableCheckpoint(f"{place}: {in_words(cause)}")
        self._context.board.flag(SAVING, False)
        if error is not None:
            if self._target is not None:
                self._clear(self._target, handle.step)
            self._complain(handle.step, error)
        handle.end(error)

    def _write_together(self, handle: SaveHandle, taken: TakenState, problem: CheckpointError | None) -> None:
        context, step = self._context, handle.step
        self._target = None
        again, is_replacer = self._met_at(step)
        target = beside(context.places.own) if again else context.places.own
        problem = problem or self._prepared(step, target)
        answers = context.peers.gather((problem and (type(problem), str(problem)), bool(taken.shared)))
        _raise_first(answers)
        failpoint("save.before-files")
        files: list[FileEntry] = []
        if any(has_shared for _, has_shared in answers):
            files += write_shared(target.path(step), taken.shared, context.peers.group)
        failpoint("save.after-shared")
        try:
            files.append(self._write_values(target, step, taken))
            failpoint("save.before-part")
            told = self._commit(target, handle, files)
            failpoint("save.after-part")
            if not again:
                context.pipe.tell("shard", told)
        except OSError as error:
            problem = UnwritableCheckpoint(f"{target.path(step)}: {in_words(error)}")
        _raise_first(context.peers.gather((problem and (type(problem), str(problem)), False)))
        if again:
            self._replace(step, is_replacer)
            context.pipe.tell("shard", {**told, "took_ms": handle.age_ms})
        context.damaged.discard(step)
        is_seen_whole = self._follow_up(step)
        # Without a group a rank knows of the others only what is on disk here.
        if is_seen_whole or context.peers.group is not None:
            self._committed(step)

    def _met_at(self, step: int) -> tuple[bool, bool]:
        """All ranks have come to this step: whether it is saved again, and whether this rank lets it take its place."""
        context = self._context
        own = context.places.own
        if step <= self.given_up:
            raise UnsavableState(f"another rank had gone on to step {self.given_up} before this one saved step {step}")
        place = (context.around.node, own.root)
        answers = context.peers.gather((step, is_saved(own, step), place))
        if any(each != step for each, _, _ in answers):
            # Ranks that are behind catch up without the others. Otherwise they would be one save apart from now on.
            self.given_up = max(each for each, _, _ in answers)
            others = ", ".join(
                f"rank {rank} saves step {each}" for rank, (each, _, _) in enumerate(answers[:RANKS_NAMED])
            )
            raise UnsavableState(f"all ranks must save the same step, and {others}")
        # Ranks that cannot talk to each other do not know when all of them have written.
        can_agree = context.world == len(answers)
        first = next(rank for rank, (_, _, where) in enumerate(answers) if where == place)
        is_first = context.peers.group is None or first == context.rank
        return can_agree and any(has for _, has, _ in answers), is_first

    def _prepared(self, step: int, target: FolderStore) -> CheckpointError | None:
        """Make room for the part; what is in the way of it."""
        context = self._context
        try:
            if not self.is_owner_known and (context.rank == 0 or context.peers.group is None):
                context.places.check_owner(context.places.own)
            self.is_owner_known = True
            if not context.around.is_in_muster:
                claim(context.places.own.root, context.rank)
            os.makedirs(target.path(step), exist_ok=True)
            os.makedirs(context.places.own.path(step), exist_ok=True)
            self._target = target
            leftovers = [part_name(context.rank, context.world), *([".metadata"] if context.rank == 0 else [])]
            target.remove(step, [MANIFEST, *leftovers])
        except CheckpointError as error:
            return error
        except Exception as error:  # noqa: BLE001 (whatever a file system raises)
            return UnwritableCheckpoint(f"{target.path(step)} cannot be written: {in_words(error)}")
        return None

    def _replace(self, step: int, is_replacer: bool) -> None:
        """What was written beside the step takes its place, on each node once."""
        context, problem = self._context, None
        try:
            if is_replacer:
                replace(context.places.own, step)
        except OSError as error:
            problem = UnwritableCheckpoint(f"{context.places.own.path(step)} is not replaced: {in_words(error)}")
        _raise_first(context.peers.gather((problem and (type(problem), str(problem)), False)))

    def _write_values(self, target: FolderStore, step: int, taken: TakenState) -> FileEntry:
        file = HashedFile(target.file(step, values_name(self._context.rank)))
        try:
            for piece in pieces(taken.tree, taken.arrays):
                file.write(piece)
            os.fsync(file.fileno())
        finally:
            file.close()
        return file.entry

    def _commit(self, target: FolderStore, handle: SaveHandle, files: list[FileEntry]) -> dict[str, int]:
        """Write the list of this rank's files; what the supervisor is told of the part."""
        context = self._context
        part = RankPart(
            run=context.around.run,
            step=handle.step,
            rank=context.rank,
            world=context.world,
            attempt=context.around.attempt,
            node=context.around.node,
            at_ms=time.time_ns() // 1_000_000,
            files=tuple(sorted(files, key=lambda file: file.name)),
        )
        target.write(handle.step, part_name(part.rank, part.world), encode_part(part))
        told = {"step": part.step, "rank": part.rank, "world": part.world, "bytes": part.bytes}
        return {**told, "cost_ms": handle.cost_ms, "took_ms": handle.age_ms}

    def _follow_up(self, step: int) -> bool:
        """Complete the checkpoint, send it away and tidy up, as far as no uploader does that; True if all is here."""
        places, context = self._context.places, self._context
        manifest = complete(places.own, step)
        if places.is_uploaded_here and places.durable is not None:
            upload(places.own, places.durable, step, runs=places.runs)
            manifest = complete(places.durable, step)
            if manifest is not None:
                keep_newest(places.durable, context.keep, context.around.run, step, context.damaged)
        if places.hot is None and manifest is not None:
            keep_newest(places.own, context.keep, context.around.run, step, context.damaged)
        return manifest is not None

    def _clear(self, target: FolderStore, step: int) -> None:
        """Remove what this rank has written in a save that failed: a full disk needs the room."""
        folder, rank = target.path(step), self._context.rank
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name == values_name(rank) or name.startswith(f"__{rank}_"):
                    os.unlink(os.path.join(folder, name))
            os.rmdir(folder)

    def _complain(self, step: int, error: CheckpointError) -> None:
        text = in_words(error)
        if text != self._said:
            self._said = text
            say(f"step {step} is not saved: {text}. Training goes on, and checkpoints before it stay.")


def _close_at_end(saver: weakref.ref[Saver]) -> None:
    """The process ends, whether its checkpoints were closed or not."""
    if (left := saver()) is not None:
        left.close(LAST_SAVE_S)


def _raise_first(answers: list[Any]) -> None:
    """Fail as the first rank that failed did."""
    for rank, (problem, _) in enumerate(answers):
        if problem is not None:
            kind, text = problem
            raise kind(text if len(answers) == 1 else f"rank {rank}: {text}")
