"""One training under fire: a real server with four nodes, a real training, and kills at random moments."""

import random
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from muster.client.answers import Event, Job
from muster.model.errors import MusterError
from tests.chaos.cluster import tidy_up
from tests.chaos.processes import MARK
from tests.survival.grounds import GROUNDS, Ground
from tests.survival.ledger import Entry, Resume, differences, entries, resumes
from tests.survival.saves import SeenSave
from tests.survival.strikes import INTERRUPTS

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "survive" / "train.py"
EVERY_S = 5
GRACE_S = 30
REFERENCE_S = 600.0
"""How long the training that is left alone may take."""
RECOVERY_S = 90.0
"""After how long without a step a trial is given up."""
DETECTED = ("workers_exited", "node_unreachable", "node_lost", "start_failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """One kill and what followed."""

    kind: str
    what: str
    at_s: float
    detected_s: float | None = None
    stepped_s: float | None = None
    """When the next new step was done, in seconds after the kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """What one kill cost, and what became of the last saves before it."""

    kind: str
    reached: int
    fell_back_to: int
    lost_s: float
    saves: tuple[str, ...]
    """The save that it fell back to and all later ones: times are seconds before the last step that was lost."""

    @property
    def told(self) -> str:
        """For people."""
        saves = "; ".join(self.saves) or "no save"
        return f"{self.kind}: {self.lost_s:.2f} s of work lost, from {self.reached} to {self.fell_back_to} ({saves})"


@dataclass(slots=True, kw_only=True)
class Result:
    """What became of one training."""

    seed: int
    steps: int = 0
    attempts: int = 0
    struck: list[Struck] = field(default_factory=list)
    interruptions: list[Interruption] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def lost_s(self) -> list[float]:
        """How much work each interruption lost."""
        return [each.lost_s for each in self.interruptions]

    @property
    def document(self) -> dict[str, Any]:
        """For a file of results."""
        return asdict(self)


def reference(folder: Path, *, steps: int, world: int, fsdp: bool = False) -> list[Entry]:
    """The same training, left alone and without Muster."""
    ledger = folder / f"reference-{world}-{fsdp}"
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
    program = [str(PROGRAM), "--steps", str(steps), "--ledger", str(ledger), "--path", str(folder / "unused")]
    flags = ["--every", "1000000", *(["--fsdp"] if fsdp else [])]
    done = subprocess.run([*words, *program, *flags], check=False, capture_output=True, text=True, timeout=REFERENCE_S)
    assert done.returncode == 0, done.stderr
    return entries(ledger)


def run_trial(
    seed: int,
    *,
    kills: int,
    steps: int,
    kinds: tuple[str, ...] = (),
    worlds: tuple[int, ...] = (4,),
    fsdp: bool = False,
    pause_s: float = 0.05,
    where: str = "local",
) -> Result:
    """Kill a training so many times, let it end, and compare it with one that was left alone.

    `kinds` are ways to kill a part of it: all that there are, if none is named.
    """
    mark = f"survival-{seed}-{random.randrange(1 << 32):x}"
    folder = Path(tempfile.mkdtemp(prefix="muster-survival-"))
    with GROUNDS[where](folder, mark) as ground:
        try:
            wanted = reference(folder, steps=steps, world=4, fsdp=fsdp)
            trial = _Trial(seed, ground, folder, kills=kills, steps=steps, kinds=kinds)
            job = _job(folder, steps=steps, workers=worlds[0], fsdp=fsdp, pause_s=pause_s)
            trial.run({**job, "env": {MARK: mark}})
            trial.compare(wanted)
            return trial.result
        finally:
            ground.cluster.close()
            tidy_up(folder, mark)


def _job(folder: Path, *, steps: int, workers: int, fsdp: bool, pause_s: float) -> dict[str, Any]:
    flags = ["--steps", str(steps), "--ledger", str(folder / "ledger"), "--pause", str(pause_s)]
    return {
        "name": "counting",
        "workers": workers,
        "resources": {"gpus": 1},
        "launch": "torchrun",
        "run": shlex.join([sys.executable, str(PROGRAM), *flags, *(["--fsdp"] if fsdp else [])]),
        "checkpoint": {"path": str(folder / "durable"), "every": f"{EVERY_S}s", "keep": 3, "grace": f"{GRACE_S}s"},
        "retry": {"limit": 100, "on": ["error"]},
        "max_duration": "2h",
        "workdir": str(folder),
    }


class _Trial:
    def __init__(
        self, seed: int, ground: Ground, folder: Path, *, kills: int, steps: int, kinds: tuple[str, ...]
    ) -> None:
        self.result = Result(seed=seed)
        self._chance = random.Random(seed)
        self._cluster = ground.cluster
        self._strikes = ground.strikes
        self._ledger = folder / "ledger"
        self._watch = ground.watch(folder / "durable")
        self._kills, self._steps, self._kinds = kills, steps, kinds or tuple(ground.strikes)
        self._job = ""

    def run(self, job: dict[str, Any]) -> None:
        """Start everything, strike, and wait for the end."""
        started = self._cluster.start()
        assert started.is_up, started.said
        self._job = self._cluster.client().submit(job).id
        self._await_step(0, RECOVERY_S, since_s=time.time())
        turns = [self._kinds[number % len(self._kinds)] for number in range(self._kills)]
        self._chance.shuffle(turns)
        for kind in turns:
            time.sleep(self._chance.uniform(0.5, 1.6 * EVERY_S))
            if self._has_ended():
                self.result.problems.append(f"it ended before {kind}: give it more steps")
                return
            self._strike(kind)
        self._await_end()

    def _strike(self, kind: str) -> None:
        what = self._strikes[kind](self._cluster, self._chance)
        at_s = time.time()
        if what is None:
            self.result.problems.append(f"there was nothing to strike for {kind}")
            return
        before = self._last()
        restart = before.restart if kind in INTERRUPTS else None
        stepped_s = self._await_step(before.step, RECOVERY_S, since_s=at_s, after_restart=restart)
        self.result.struck.append(Struck(kind=kind, what=what, at_s=at_s, stepped_s=stepped_s))
        if stepped_s is None:
            self.result.problems.append(
                f"{kind} ({what}): no new step after {RECOVERY_S:.0f} s, and it was at {before.step}"
            )

    def _await_step(
        self, beyond: int, patience_s: float, *, since_s: float, after_restart: int | None = None
    ) -> float | None:
        """Wait for a step of a later attempt, or for a step that was not done before; how long that took."""
        while time.time() < since_s + patience_s:
            last = self._last()
            is_new = last.step > beyond if after_restart is None else last.restart > after_restart
            if is_new or self._has_ended():
                return time.time() - since_s
            time.sleep(0.1)
        return None

    def _last(self) -> Entry:
        found = entries(self._ledger)
        return found[-1] if found else Entry(step=0, loss="", restart=0, at_s=0.0)

    def _reached(self) -> int:
        return max((entry.step for entry in entries(self._ledger)), default=0)

    def _record(self) -> Job | None:
        try:
            return self._cluster.client().job(self._job)
        except MusterError:
            return None

    def _has_ended(self) -> bool:
        found = self._record()
        return found is not None and found.is_final

    def _await_end(self) -> None:
        while not self._has_ended() and time.time() < self._last().at_s + RECOVERY_S:
            time.sleep(0.2)
        found = self._record()
        if found is None or not found.succeeded:
            state = "unknown" if found is None else f"{found.state} ({found.reason}, exit code {found.exit_code})"
            self.result.problems.append(f"the job is {state} in the end")
        else:
            self.result.attempts = found.attempt
        self.result.struck = _with_detections(self.result.struck, list(self._cluster.client().job_events(self._job)))

    def compare(self, wanted: list[Entry]) -> None:
        """Every step, in every attempt, has the loss of the training that was left alone; little work was repeated."""
        found = entries(self._ledger)
        self.result.steps = self._reached()
        self.result.problems += differences(found, wanted)[:5]
        if self.result.steps != self._steps:
            self.result.problems.append(f"it ended at step {self.result.steps} of {self._steps}")
        self._watch.close()
        for each in resumes(found):
            self.result.interruptions.append(interruption(self._kind_of(each), each, found, self._watch.saves))
        self.result.problems += [each.told for each in self.result.interruptions if each.lost_s > EVERY_S]

    def _kind_of(self, resume: Resume) -> str:
        """The last kill before the training went on."""
        went_on_s = resume.last_s + resume.stood_s
        return next((each.kind for each in reversed(self.result.struck) if each.at_s < went_on_s), "unknown")


def interruption(kind: str, resume: Resume, found: list[Entry], saves: list[SeenSave]) -> Interruption:
    """What an interruption cost, with the history of the saves that it could have fallen back to."""
    done_s = {(each.restart, each.step): each.at_s for each in found}
    later = [each for each in saves if each.restart <= resume.restart and resume.resumed - 1 <= each.step]
    of_attempt = [each for each in later if each.restart == resume.restart or each.step == resume.resumed - 1]
    return Interruption(
        kind=kind,
        reached=resume.reached,
        fell_back_to=resume.resumed - 1,
        lost_s=round(resume.lost_s, 2),
        saves=tuple(each.told(done_s.get((each.restart, each.step)), resume.last_s) for each in of_attempt),
    )


def _with_detections(struck: list[Struck], events: list[Event]) -> list[Struck]:
    """The kills with how long it took until the control plane knew of each."""
    known = sorted(each.at.timestamp() for each in events if each.kind in DETECTED and each.at is not None)
    return [
        Struck(**{**asdict(each), "detected_s": _first_after(known, each.at_s) if each.kind in INTERRUPTS else None})
        for each in struck
    ]


def _first_after(moments: list[float], at_s: float) -> float | None:
    return next((moment - at_s for moment in moments if moment >= at_s - 0.5), None)
