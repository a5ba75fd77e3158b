"""One checkpoint found, verified and put into the user's state.

In a job the control plane says which step, the same for all ranks. Where a launcher forms the gang anew without a new
attempt, as elastic torchrun does, ranks have saved since then, so they agree on the newest that all of them see.
Outside Muster the newest complete one is taken too, and the one before it when a file is damaged in all places.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from muster.train import optional
from muster.train.errors import CheckpointError, DamagedCheckpoint, StateMismatch, UnwritableCheckpoint, in_words
from muster.train.notice_pipe import say
from muster.train.saving import RankContext, values_name
from muster.train.state.rank_file import RankFile, is_tensor
from muster.train.state.shards import cut, overlaps
from muster.train.state.state_tree import put_back
from muster.train.state.torch_files import INDEX, SharedTensors
from muster.train.store.parts import Manifest
from muster.train.store.places import Places
from muster.train.store.replacing import finish_replacing
from muster.train.surroundings import Surroundings

T = TypeVar("T")

NOTHING = "there is nothing to go on from in the run {}: {}"

ARRIVAL_S = 8
"""How long a rank waits for a checkpoint that the control plane knows and no place has yet: uploaders of other nodes
may still be sending it. If its node was lost before that, nothing comes, and an older one is taken."""

LOOK_S = 0.5

PROBLEMS_TOLD = 2
"""Damaged lists that are named when a checkpoint cannot be restored. All of them are in the output of the rank."""

STORAGE_S = 600
"""How long a rank waits for storage that cannot be reached, when it has to resume: longer than most outages, and a
training that begins anew would throw all of its work away."""

STORAGE_LOOK_S = 5


def restore(context: RankContext, state: dict[str, Any]) -> int:
    """Put a checkpoint into the state; its step, or 0 when there is none."""
    if not isinstance(state, dict):
        raise TypeError(f"the state is a {type(state).__name__}; give the dict that checkpoints are restored into")
    finish_replacing(context.places.own)
    context.peers.meet()
    is_formed_anew = any(context.peers.gather(context.is_again))
    if context.around.is_in_muster and context.around.step is not None and not is_formed_anew:
        return _restored_as_told(context, state, context.around.step)
    candidates = _agreed(context, _in_all_places(context.places) if is_formed_anew else _candidates(context))
    if candidates and not is_formed_anew and _may_begin_anew(context.around):
        candidates = _from_first_intact(context, candidates)
    goes_on_from = context.around.resume_run if context.around.step is None else None
    if not candidates:
        if goes_on_from is not None:
            raise DamagedCheckpoint(
                NOTHING.format(goes_on_from, f"no whole checkpoint is in {context.places.lasting.root}")
            )
        return 0
    try:
        return _newest_intact(context, state, candidates)
    except DamagedCheckpoint as error:
        if goes_on_from is not None:
            # Every attempt would meet the same damage, so it is an error of the job, tried again by its `retry`.
            raise DamagedCheckpoint(NOTHING.format(goes_on_from, in_words(error))) from error
        # A fault of storage, and none of the program.
        context.pipe.tell("damaged", {"step": candidates[0], "rank": context.rank, "problem": in_words(error)})
        raise


def _may_begin_anew(around: Surroundings) -> bool:
    """True when the control plane knows of no good checkpoint after an attempt, so training begins anew."""
    return around.is_in_muster and around.attempt > 0 and around.step is None and around.resume_run is None


def _from_first_intact(context: RankContext, candidates: list[int]) -> list[int]:
    """Candidates from the first on whose files are all intact; none when there is no such one, which is told.

    Nothing is put into the state before that is known: a training that begins anew must not have half of a checkpoint.
    """
    problem = ""
    for at, step in enumerate(candidates):
        answers = context.peers.gather(_damage_of(context, step))
        if not any(answers):
            return candidates[at:]
        context.damaged.add(step)
        problem = problem or next(filter(None, answers))
    told = {"step": candidates[0], "rank": context.rank, "problem": problem, "replaced": True}
    context.pipe.tell("damaged", told)
    say(f"none of the checkpoints {candidates} can be restored, so training begins from the start: {problem}")
    return []


def _damage_of(context: RankContext, step: int) -> str:
    """What is damaged of a checkpoint in all places, or nothing."""
    try:
        manifest = _patiently(lambda: context.places.manifest(step))
        for entry in manifest.files.values() if manifest is not None else ():
            context.places.find(step, entry)
    except DamagedCheckpoint as error:
        return in_words(error)
    return "" if manifest is not None else "its lists of files are gone"


def _newest_intact(context: RankContext, state: dict[str, Any], candidates: list[int]) -> int:
    """Restore the first of these that every rank can restore."""
    problem = ""
    for step in candidates:
        answers = _all_tried(context, step, state)
        if not any(answers):
            return step
        context.damaged.add(step)
        problem = next(answer for answer in answers if answer)
        say(f"step {step} cannot be restored, so the checkpoint before it is taken: {problem}")
    raise DamagedCheckpoint(f"none of the checkpoints {candidates} can be restored: {problem}")


def _restored_as_told(context: RankContext, state: dict[str, Any], step: int) -> int:
    """Restore the step that the control plane has chosen. If a rank cannot, all take an older one if they can agree.

    Ranks that cannot agree, because there is no torch.distributed, end. The control plane then starts them again with
    an older step.
    """
    answers = _all_tried(context, step, state, waits=True)
    if not any(answers):
        return step
    context.damaged.add(step)
    problem = answers[context.rank if len(answers) > 1 else 0]
    told = {"step": step, "rank": context.rank, "problem": problem}
    try:
        can_agree = context.world == len(answers)
        older = [each for each in _in_all_places(context.places) if each < step] if can_agree else []
        restored = _newest_intact(context, state, _agreed(context, older)) if can_agree else None
    except DamagedCheckpoint:
        restored = None
    if problem:
        context.pipe.tell("damaged", told if restored is None else {**told, "replaced": True})
    if restored is None:
        raise DamagedCheckpoint(problem or f"another rank cannot restore step {step}")
    say(f"step {step} cannot be restored, so step {restored} is taken: {next(filter(None, answers))}")
    return restored


def _patiently(read: Callable[[], T]) -> T:
    """Read from storage, and again while it cannot be reached. What is wrong with a checkpoint itself is raised."""
    deadline_s = time.monotonic() + STORAGE_S
    has_said = False
    while True:
        try:
            return read()
        except CheckpointError:
            raise
        except Exception as error:
            if time.monotonic() > deadline_s:
                raise UnwritableCheckpoint(f"storage cannot be read: {in_words(error)}") from error
            if not has_said:
                say(f"storage cannot be read, so this rank waits for it: {in_words(error)}")
                has_said = True
        time.sleep(STORAGE_LOOK_S)


def _arrived(places: Places, step: int) -> Manifest:
    deadline_s = time.monotonic() + ARRIVAL_S
    problems: dict[str, None] = {}
    while (manifest := places.manifest(step, lambda problem: _hear(problem, problems))) is None:
        is_hopeless = places.durable is None or time.monotonic() > deadline_s
        if is_hopeless:
            found = f" ({'; '.join([*problems][:PROBLEMS_TOLD])})" if problems else ""
            raise DamagedCheckpoint(
                f"step {step}: the lists of files of all ranks are whole in none of the places{found}"
            )
        time.sleep(LOOK_S)
    return manifest


def _hear(problem: str, problems: dict[str, None]) -> None:
    """Say a problem once, however often it is met."""
    if problem not in problems:
        problems[problem] = None
        say(problem)


def _in_all_places(places: Places) -> list[int]:
    """Complete checkpoints wherever they are, newest first: the newest are only on the disks of nodes yet."""
    steps: set[int] = set()
    for store in places.stores():
        with contextlib.suppress(Exception):  # storage that cannot be reached has nothing that the disks do not have
            steps.update(store.steps())
    return [step for step in sorted(steps, reverse=True) if places.manifest(step) is not None]


def _candidates(context: RankContext) -> list[int]:
    """Complete checkpoints in durable storage, newest first.

    A job begins when storage cannot be reached: the control plane would know of a checkpoint if there were one. Outside
    Muster nobody else knows, so nothing is begun anew there.
    """
    places = context.places

    def complete() -> list[int]:
        return [step for step in places.lasting.steps() if places.manifest(step) is not None]

    try:
        # Whoever names a run to go on from does not want to begin anew.
        found = _patiently(complete) if context.around.resume_run is not None else complete()
        if not found:
            places.check_owner(places.lasting)
    except CheckpointError:
        raise
    except Exception as error:
        problem = f"{places.lasting.root} cannot be read: {in_words(error)}"
        if not context.around.is_in_muster:
            raise UnwritableCheckpoint(problem) from error
        say(f"{problem}. Training begins without a checkpoint.")
        return []
    return found


def _agreed(context: RankContext, candidates: list[int]) -> list[int]:
    """Those that all ranks see."""
    seen = context.peers.gather(candidates)
    return [step for step in candidates if all(step in each for each in seen)]


def _all_tried(context: RankContext, step: int, state: dict[str, Any], *, waits: bool = False) -> list[str]:
    """Restore a step on all ranks; what each of them found damaged, or nothing.

    A state that a checkpoint does not fit is no damage: its rank raises what was wrong, and all others say which it is.
    """
    problem, misfit = "", None
    try:
        _try(context, step, state, waits=waits)
    except DamagedCheckpoint as error:
        problem = in_words(error)
    except Exception as error:  # noqa: BLE001 (whatever a user's state raises: the others must not wait for this rank)
        misfit = error
    answers = context.peers.gather((problem, misfit and in_words(misfit)))
    if misfit is not None:
        raise misfit
    for rank, (_, words) in enumerate(answers):
        if words is not None:
            raise StateMismatch(f"rank {rank} cannot restore step {step}: {words}")
    return [found for found, _ in answers]


def _try(context: RankContext, step: int, state: dict[str, Any], *, waits: bool) -> None:
    """Restore a step, perhaps after a wait for it. Only storage is waited for, never what the state does."""
    places = context.places
    manifest = _patiently(lambda: _arrived(places, step) if waits else places.manifest(step))
    if manifest is None:
        raise DamagedCheckpoint("its lists of files are gone")
    load(context, manifest, state)


def load(context: RankContext, manifest: Manifest, state: dict[str, Any]) -> None:
    """Verify what this rank needs of a checkpoint, and put it into the state."""
    with RankSource(context, manifest) as saved:
        put_back(state, saved.tree, saved, say)


class RankSource:
    """A checkpoint as one rank reads it: its own values, and the shared tensors."""

    def __init__(self, context: RankContext, manifest: Manifest) -> None:
        self._context = context
        self._manifest = manifest
        self._found: dict[str, str] = {}
        self._values: dict[int, RankFile] = {}
        self._shared: SharedTensors | None = None

    def __enter__(self) -> "RankSource":
        return self

    def __exit__(self, *_: object) -> None:
        for values in self._values.values():
            values.close()

    @property
    def _rank(self) -> int:
        """The old rank whose values this rank takes over."""
        return self._context.rank % int(self._manifest.world)

    @property
    def tree(self) -> Any:
        """The values of this rank."""
        return self._values_of(self._rank).tree

    def array(self, number: int) -> Any:
        """One of the arrays of this rank."""
        return self._values_of(self._rank).array(number)

    def shard(self, number: int, path: str, axis: int) -> Any:
        """The part that this rank has of an array that is cut along an axis."""
        if self._manifest.world == self._context.world:
            return self.array(number)
        files = [self._values_of(rank) for rank in range(self._manifest.world)]
        numbers = [_shard_number(file.tree, path, axis) for file in files]
        lengths = [file.shape(at)[axis] for file, at in zip(files, numbers, strict=True)]
        begin, end = cut(sum(lengths), self._context.rank, self._context.world)
        cuts = [
            _sliced(files[rank].array(numbers[rank]), axis, low, high)
            for rank, low, high in overlaps(lengths, begin, end)
        ]
        return _joined(cuts or [_sliced(self.array(number), axis, 0, 0)], axis)

    def shared_names(self, prefix: str) -> set[str]:
        """What the ranks share under a path."""
        return self._tensors.names(prefix) if INDEX in self._manifest.files else set()

    def load_shared(self, tensors: dict[str, Any]) -> None:
        """Read shared tensors into these, each rank its part."""
        if tensors:
            self._tensors.load(tensors)

    def empty_like(self, name: str) -> Any:
        """A tensor with the shape and type of a shared one."""
        return self._tensors.empty_like(name)

    @property
    def _tensors(self) -> SharedTensors:
        if self._shared is None:
            self._shared = SharedTensors(self._find)
        return self._shared

    def _values_of(self, rank: int) -> RankFile:
        if rank not in self._values:
            self._values[rank] = RankFile(self._find(values_name(rank)))
        return self._values[rank]

    def _find(self, name: str) -> str:
        """A verified local copy of a file of this checkpoint."""
        if name not in self._found:
            entry = self._manifest.files.get(name)
            if entry is None:
                raise DamagedCheckpoint(f"step {self._manifest.step}: no rank lists the file {name!r}")
            self._found[name] = self._context.places.find(self._manifest.step, entry)
        return self._found[name]


def _shard_number(tree: Any, path: str, axis: int) -> int:
    """Which array of another rank is the part of the same whole."""
    node = tree
    with contextlib.suppress(KeyError, IndexError, ValueError, TypeError):
        for key in _keys(path):
            node = node[int(key)] if isinstance(node, list) else node[key]
        if node["axis"] == axis and node["$"] == "shard":
            return int(node["at"])
    raise DamagedCheckpoint(f"the ranks have saved different things as {path!r}")


def _keys(path: str) -> Iterator[str]:
    for key in path.split("/"):
        yield key.replace("~1", "/").replace("~0", "~")


def _sliced(array: Any, axis: int, begin: int, end: int) -> Any:
    return array[(slice(None),) * axis + (slice(begin, end),)]


def _joined(arrays: list[Any], axis: int) -> Any:
    if is_tensor(arrays[0]):
        return optional.module("torch").cat(arrays, dim=axis)
    return optional.module("numpy").concatenate(arrays, axis=axis)
