"""The process that copies checkpoints to a neighbour and to durable storage: `python -m muster.train.uploader`.

One for each job and node, with the environment of the job. It looks at the hot tier of its node again and again, and
everything it does can be done twice: whatever it was killed at, the next one finishes. The newest step goes first.
Parts of this node go to the neighbour and to durable storage. Copies that the neighbour put here go to durable storage
only when they are not there after a while, because their own node may be gone.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from muster.train.board import has_living_process
from muster.train.failpoints import failpoint
from muster.train.notice_pipe import NoticePipe, say
from muster.train.store.parts import RankPart
from muster.train.store.places import Places, parts_in, places_of
from muster.train.store.retention import complete, hot_surplus, keep_newest, manifest_of, remove_steps
from muster.train.store.stores import CheckpointStore, FolderStore
from muster.train.store.uploads import problem_in_words, send_part
from muster.train.surroundings import Surroundings, surroundings

LOOK_S = 0.5
"""Pause between two looks at the hot tier."""

COPIES_S = 30.0
"""After this time the parts of a neighbour are sent from here: its own uploader would have done it."""

PAUSES_S = (1, 2, 4, 8, 16, 32, 60)
"""Pauses after a failed upload; the last one is used for all further ones."""

COMPLAINTS_S = 60.0
"""A problem that stays the same is reported this often."""

GRACE_S = 60.0
"""How long the uploader works on after it was told to leave."""

OTHERS_S = 30.0
"""How long an idle uploader waits for the parts of other nodes, to write the manifest."""


UNSENT = ".unsent"
"""A file in the hot tier of a run while not everything is sent. The supervisor keeps the run's checkpoints as long."""


@dataclass
class StepProgress:
    """What was done for one step."""

    first_seen_s: float
    sent: set[RankPart] = field(default_factory=set)
    copied: set[RankPart] = field(default_factory=set)
    is_complete: bool = False


class Uploader:
    """Uploads of one job on one node."""

    def __init__(self, around: Surroundings, places: Places, pipe: NoticePipe) -> None:
        self._around = around
        self._places = places
        self._pipe = pipe
        self._neighbour: FolderStore | None = None
        if around.neighbour is not None and around.hot is not None and around.neighbour != around.node:
            self._neighbour = FolderStore(os.path.join(around.hot, around.neighbour, around.run))
        self._progress: dict[int, StepProgress] = {}
        self._failures = 0
        self._again_s = 0.0
        self._said: dict[str, tuple[str, float]] = {}
        self.is_leaving = False
        """True when there may be no later look: then copies are sent at once."""

    def note(self, *, is_unsent: bool) -> None:
        """Leave a note for the supervisor, which outlives this process, that checkpoints are nowhere else yet."""
        note = os.path.join(self._places.own.root, UNSENT)
        with contextlib.suppress(OSError):
            if not is_unsent:
                os.unlink(note)
            elif self._places.durable is not None:
                os.makedirs(self._places.own.root, exist_ok=True)
                with open(note, "ab"):
                    pass

    def look(self, now_s: float) -> bool:
        """Do what can be done now; True when nothing is left to do, apart from the parts of other nodes."""
        if now_s < self._again_s:
            return False
        steps = self._places.own.steps()
        self._progress = {step: seen for step, seen in self._progress.items() if step in steps}
        is_idle = True
        for step in steps:
            progress = self._progress.setdefault(step, StepProgress(now_s))
            if not progress.is_complete and not self._advance(step, progress, now_s):
                is_idle = False
                break
            if progress.is_complete and self._places.durable is not None:
                # Older steps are of no use any more.
                break
        self._tidy_hot()
        return is_idle

    @property
    def is_complete(self) -> bool:
        """True when the newest step with parts of this node is in durable storage as a whole."""
        newest = max((step for step, seen in self._progress.items() if seen.sent or seen.copied), default=None)
        return newest is None or self._progress[newest].is_complete

    def _advance(self, step: int, progress: StepProgress, now_s: float) -> bool:
        """Send what is new of a step; False when something failed or waits for its time."""
        parts = list(self._parts(step))
        own = [part for part in parts if part.node == self._around.node]
        copies = [part for part in parts if part.node != self._around.node]
        try:
            self._copy(own, progress)
            is_late = self.is_leaving or now_s - progress.first_seen_s >= COPIES_S
            self._send([*own, *(copies if is_late else [])], progress)
            self._complete(step, progress, parts)
        except Exception as error:  # noqa: BLE001 (each file system has errors of its own)
            self._failed(step, error, now_s)
            return False
        self._failures = 0
        return is_late or not copies or progress.is_complete

    def _copy(self, parts: list[RankPart], progress: StepProgress) -> None:
        for part in parts:
            if self._neighbour is not None and part not in progress.copied:
                try:
                    send_part(self._places.own, self._neighbour, part, ())
                except Exception as error:  # noqa: BLE001 (a copy is worth less than the upload, which goes on)
                    self._say_once("copy", f"no copy at the neighbour: {problem_in_words(error, self._neighbour)}")
                failpoint("upload.after-copy")
            progress.copied.add(part)

    def _send(self, parts: list[RankPart], progress: StepProgress) -> None:
        for part in parts:
            if self._places.durable is not None and part not in progress.sent:
                send_part(self._places.own, self._places.durable, part, self._places.runs)
                progress.sent.add(part)

    def _complete(self, step: int, progress: StepProgress, parts: list[RankPart]) -> None:
        complete(self._places.own, step)
        durable = self._places.durable
        if not parts:
            return  # a save that has just begun, or that broke off
        if durable is None:
            progress.is_complete = self._places.manifest(step) is not None
            return
        manifest = complete(durable, step)
        newest = max(part.attempt for part in parts)
        if manifest is None or manifest.attempt < newest:
            return
        failpoint("upload.before-notice")
        self._pipe.tell("uploaded", {"step": step, "problem": ""})
        progress.is_complete = True
        if any(part.rank == 0 for part in parts):
            keep_newest(durable, self._around.keep, self._around.run, step, self._given_up(durable))

    def _failed(self, step: int, error: Exception, now_s: float) -> None:
        self._again_s = now_s + PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
        self._failures += 1
        store = self._places.durable if self._places.durable is not None else self._places.own
        problem = problem_in_words(error, store)
        if self.is_leaving:
            problem += f"; it stays on the disk of {self._around.node}"
        if self._say_once("upload", f"step {step} is not uploaded yet: {problem}"):
            self._pipe.tell("uploaded", {"step": step, "problem": problem})

    def _say_once(self, what: str, text: str) -> bool:
        before, at_s = self._said.get(what, ("", 0.0))
        if text == before and time.monotonic() - at_s < COMPLAINTS_S:
            return False
        self._said[what] = (text, time.monotonic())
        say(text)
        return True

    def _tidy_hot(self) -> None:
        """Remove from the hot tier what is not kept."""
        known = {step for step, seen in self._progress.items() if seen.is_complete}
        steps = self._places.own.steps()
        known |= {step for step in steps if manifest_of(self._places.own, step) is not None}
        if self._around.step is not None:
            known.add(self._around.step)
        saved = {step for step in steps if any(True for _ in self._parts(step))}
        gone = hot_surplus(steps, known, saved, self._around.keep, self._saved_last(steps))
        remove_steps(self._places.own, gone)

    def _saved_last(self, steps: list[int]) -> int | None:
        """The newest step of this attempt, or of a later one, here. No training went on from what is above it."""
        saved = (step for step in steps if any(self._is_present(part) for part in self._parts(step)))
        return next(saved, self._around.step)

    def _parts(self, step: int) -> Iterator[RankPart]:
        own = self._places.own
        return parts_in(own, step, own.sizes(step))

    def _given_up(self, store: CheckpointStore) -> set[int]:
        """Steps of earlier attempts from which this one was not told to go on, because they cannot be restored."""
        begun_at = self._around.step or 0
        manifests = (manifest_of(store, step) for step in store.steps() if step > begun_at)
        return {each.step for each in manifests if each is not None and each.attempt < self._around.attempt}

    def _is_present(self, part: RankPart) -> bool:
        return part.attempt >= self._around.attempt and part.run == self._around.run


def run(uploader: Uploader, until_idle: bool, boards: str | None, grace_s: float, told: threading.Event) -> int:
    """Look again and again, until told to leave or, if so wanted, until there is nothing left to do."""
    uploader.note(is_unsent=True)
    deadline_s: float | None = None
    while True:
        now_s = time.monotonic()
        if told.is_set():
            deadline_s = deadline_s or now_s + grace_s
            uploader.is_leaving = True
        elif until_idle and deadline_s is None and not has_living_process(boards):
            uploader.is_leaving = True
        is_idle = uploader.look(now_s)
        if is_idle and uploader.is_leaving:
            # Only the parts of other nodes are missing, if anything is.
            deadline_s = min(deadline_s or now_s + OTHERS_S, now_s + OTHERS_S)
            if uploader.is_complete:
                uploader.note(is_unsent=False)
                return 0
        if deadline_s is not None and now_s >= deadline_s:
            uploader.note(is_unsent=not is_idle)
            return 0 if is_idle else 1
        told.wait(LOOK_S) if not told.is_set() else time.sleep(LOOK_S)


def main(arguments: list[str] | None = None) -> int:
    """Run the uploader. It ends with 0 when everything that is committed here was sent, 1 when something was not."""
    parser = argparse.ArgumentParser(prog="python -m muster.train.uploader", description=__doc__.splitlines()[0])
    parser.add_argument("--run", help="the run; MUSTER_RUN_ID when it is not given")
    parser.add_argument("--until-idle", action="store_true", help="leave when no process trains and all is uploaded")
    parser.add_argument("--grace-s", type=float, default=GRACE_S, help="seconds to finish in after SIGTERM")
    given = parser.parse_args(arguments)
    environ = {**os.environ, **({"MUSTER_RUN_ID": given.run} if given.run else {})}
    around = surroundings(environ)
    places = places_of(around, None)
    if around.hot is None or places is None:
        sys.stderr.write("the uploader needs MUSTER_HOT, MUSTER_NODE and MUSTER_RUN_ID\n")
        return 2
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    uploader = Uploader(around, places, NoticePipe(around.notice))
    return run(uploader, given.until_idle, around.boards, given.grace_s, told)


if __name__ == "__main__":
    sys.exit(main())
