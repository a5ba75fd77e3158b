"""`python -m tests.chaos`: strike real servers until so many faults have struck, and say what broke.

    python -m tests.chaos --faults 500 --seed 1 --minutes 60 --results build/chaos.jsonl
    python -m tests.chaos --resume build/chaos.jsonl        goes on where the last run of the same code ended
    python -m tests.chaos --seeds 17                        one trial again
    python -m tests.chaos --only supervisor-kill,old-backup some kinds only

Each trial is a process of its own with a line in the file of results. The exit code is 1 when a promise was broken.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.chaos import processes
from tests.chaos.faults import KINDS
from tests.chaos.trial import run_trial

ROOT = Path(__file__).parents[2]
TRIAL_S = 600.0
"""A trial that takes longer is ended, and counts as broken."""
STOP_S = 60.0
NOT_ENDED = "trial-not-ended"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one trial, or all of them."""
    options = _options(arguments)
    only = tuple(name for name in options.only.split(",") if name)
    unknown = [name for name in only if name not in KINDS]
    if unknown:
        sys.stderr.write(f"there is no fault {', '.join(unknown)}; there are {', '.join(KINDS)}\n")
        return 2
    if options.trial is not None:
        return _one(options.trial, options.mark, only)
    return _Campaign(options, only).run()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--faults", type=int, default=500, help="how many must have struck, over all runs of a file")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first trial")
    parser.add_argument("--seeds", default="", help="these trials only: 17 or 17,23")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no trial after this long")
    parser.add_argument("--processes", type=int, default=2, help="trials at once")
    parser.add_argument("--only", default="", help=f"kinds of faults, by commas: {', '.join(KINDS)}")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "chaos.jsonl", help="where results are added")
    parser.add_argument("--resume", type=Path, help="the same, and trials that are in it are not run again")
    parser.add_argument("--trial", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--mark", default="", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _one(seed: int, mark: str, only: tuple[str, ...]) -> int:
    """Run a trial in this process, and print its result."""

    _leave_on_signals()
    result = run_trial(seed, mark, only)
    sys.stdout.write(json.dumps(asdict(result)) + "\n")
    return 0


def _leave_on_signals() -> None:
    """Leave at the first signal, and tidy up undisturbed by a second. A shell may have left one of the two ignored."""

    def leave(*_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)


class _Campaign:
    """Trials, some at a time, until enough faults have struck or the time is over."""

    def __init__(self, options: argparse.Namespace, only: tuple[str, ...]) -> None:
        self._options = options
        self._only = only
        self._path: Path = options.resume or options.results
        self._path.parent.mkdir(parents=True, exist_ok=True)
        before = read_results(self._path) if options.resume else []
        self._code = code_digest()
        self._done = [each for each in before if tuple(each["only"]) == only and each["code"] == self._code]
        self._running: dict[int, tuple[subprocess.Popen[str], float]] = {}
        self._until_s = time.monotonic() + options.minutes * 60

    def run(self) -> int:
        """Until it is over; whatever happens, what was begun is ended."""
        _leave_on_signals()
        seeds = self._seeds()
        try:
            while self._begin(seeds) or self._running:
                self._collect()
                time.sleep(0.2)
        except KeyboardInterrupt:
            sys.stdout.write("\ninterrupted: the trials that run are ended\n")
        finally:
            self._end()
        sys.stdout.write(summary(self._done))
        return 1 if any(each["violations"] for each in self._done) else 0

    def _seeds(self) -> Iterator[int]:
        if self._options.seeds:
            yield from (int(word) for word in self._options.seeds.split(","))
            return
        known = {each["seed"] for each in self._done}
        seed = self._options.seed
        while self._struck() < self._options.faults and time.monotonic() < self._until_s:
            if seed not in known:
                yield seed
            seed += 1

    def _struck(self) -> int:
        return sum(len(each["faults"]) for each in self._done)

    def _begin(self, seeds: Iterator[int]) -> bool:
        """Begin trials while there is room; False when there are no more."""
        while len(self._running) < self._options.processes:
            seed = next(seeds, None)
            if seed is None:
                return False
            words = ["-m", "tests.chaos", "--trial", str(seed), "--mark", _mark(seed), "--only", ",".join(self._only)]
            process = subprocess.Popen(
                [sys.executable, *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            self._running[seed] = process, time.monotonic()
        return True

    def _collect(self) -> None:
        for seed, (process, began_s) in tuple(self._running.items()):
            passed_s = time.monotonic() - began_s
            if process.poll() is None and passed_s > TRIAL_S:
                process.terminate()
            if process.poll() is None and passed_s > TRIAL_S + STOP_S:
                process.kill()
            if process.poll() is not None:
                self._note(seed, process, passed_s)
                del self._running[seed]

    def _note(self, seed: int, process: "subprocess.Popen[str]", passed_s: float) -> None:
        said, trouble = process.communicate()
        processes.sweep(_mark(seed))
        try:
            result = json.loads(said.splitlines()[-1])
        except (IndexError, ValueError):
            told = f"exit code {process.returncode}: {trouble.strip()[-1500:]}"
            broken = [{"rule": NOT_ENDED, "told": told}]
            result = {"seed": seed, "faults": [], "violations": broken, "seconds": round(passed_s, 1)}
        result |= {"only": list(self._only), "code": self._code}
        self._done.append(result)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        sys.stdout.write(_line(result))
        sys.stdout.flush()

    def _end(self) -> None:
        for process, _ in self._running.values():
            process.terminate()
        for seed, (process, _) in self._running.items():
            try:
                process.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            processes.sweep(_mark(seed))


def _mark(seed: int) -> str:
    return f"chaos-{os.getpid()}-{seed}"


def code_digest() -> str:
    """What was tried, and by what: results of other code are not counted together."""
    digest = hashlib.sha256()
    for folder in (ROOT / "src" / "muster", ROOT / "tests" / "chaos"):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def read_results(path: Path) -> list[dict[str, Any]]:
    """What earlier runs found; a line that was cut off by the end of a run is left out."""
    found = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _line(result: dict[str, Any]) -> str:
    kinds = " ".join(f"{fault['kind']}{'+' if fault['is_paired'] else ''}" for fault in result["faults"])
    head = f"seed {result['seed']:5d}  {result.get('database', ''):10s} {result['seconds']:6.1f} s  {kinds}\n"
    broken = (f"    BROKEN {each['rule']}: {each['told']}\n" for each in result["violations"])
    return head + "".join(broken)


def summary(results: Sequence[dict[str, Any]]) -> str:
    """Faults by kind, and promises broken, over all results."""
    struck = Counter(fault["kind"] for each in results for fault in each["faults"])
    paired = Counter(fault["kind"] for each in results for fault in each["faults"] if fault["is_paired"])
    broken = Counter(violation["rule"] for each in results for violation in each["violations"])
    lines = [f"{'fault':20s} {'struck':>6s} {'paired':>6s}"]
    lines += [f"{kind:20s} {struck[kind]:6d} {paired[kind]:6d}" for kind in KINDS if struck[kind]]
    seeds = [each["seed"] for each in results]
    longest_s = max((each.get("partial_s", 0.0) for each in results), default=0.0)
    jobs, runs = (sum(each.get(name, 0) for each in results) for name in ("jobs", "runs"))
    lines.append(
        f"{len(results)} trials (seeds {min(seeds, default=0)} to {max(seeds, default=0)}),"
        f" {sum(struck.values())} faults, {jobs} jobs, {runs} workers,"
        f" {sum(each['seconds'] for each in results) / 60:.1f} minutes of trials;"
        f" a gang was in parts for {longest_s:.1f} s at most"
    )
    lines.append(f"{sum(broken.values())} promises broken")
    for rule, count in broken.most_common():
        where = [each["seed"] for each in results if any(one["rule"] == rule for one in each["violations"])]
        lines.append(f"  {rule:24s} {count:5d}  seeds {', '.join(map(str, where[:12]))}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
