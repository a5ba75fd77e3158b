"""The program that the jobs of a trial run: it claims what it was given, keeps the ledger, and ends as its script says.

It runs alone, with the standard library only. What it claims it claims with record locks, which the kernel drops at the
moment the process dies: a claim that another process holds is proof that two processes live that must not.
"""

import fcntl
import json
import os
import signal
import struct
import sys
import time
from contextlib import suppress
from typing import Any

STEP_S = 0.1
SAVE_STEPS = 5
RANKS = 1_000
"""Bytes of a job's claim file that belong to one attempt: one for each rank."""

FLOCK = "hhqqi0q"
"""`struct flock` of Linux on 64 bits: type, whence, start, length, pid."""


def take(descriptor: int, byte: int) -> bool:
    """Claim one byte of a file for as long as this process lives; False when another process has it."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError:
        return False
    return True


def holder(descriptor: int, first: int, length: int) -> tuple[int, int] | None:
    """A process that holds a claim in a range of bytes, and on which byte; a length of 0 is up to the end."""
    asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, first, length, 0)
    kind, _, start, _, pid = struct.unpack(FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    return None if kind == fcntl.F_UNLCK else (pid, max(start, first))


def start_ticks(pid: int) -> int:
    """When a process was started, in ticks since boot; 0 when there is none, or one that has died."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return 0
    values = text[text.rindex(b")") + 2 :].split()
    return 0 if values[0] in (b"Z", b"X") else int(values[19])


class Worker:
    """One rank of one attempt."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.folder: str = script["folder"]
        index = os.environ.get("MUSTER_ARRAY_INDEX", "")
        self.label = script["label"] + (f":{index}" if index else "")
        self.attempt = int(os.environ["MUSTER_ATTEMPT"])
        self.rank = int(os.environ["MUSTER_RANK"])
        self.node = os.environ["MUSTER_NODE"]
        self.gpus = [int(gpu) for gpu in os.environ["MUSTER_GPUS"].split(",") if gpu]
        self.is_told = False
        self.printed = 0
        self.ledger = os.open(f"{self.folder}/ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.identity = {
            "label": self.label,
            "job": os.environ["MUSTER_JOB"],
            "attempt": self.attempt,
            "rank": self.rank,
            "world": int(os.environ["MUSTER_WORLD"]),
            "node": self.node,
            "gpus": self.gpus,
            "pid": os.getpid(),
            "ticks": start_ticks(os.getpid()),
        }

    def write(self, what: str, **details: object) -> None:
        """Add a line to the ledger. Lines are short, and the kernel appends each whole."""
        times = {"at_s": time.clock_gettime(time.CLOCK_BOOTTIME), "wall_s": time.time()}
        line = json.dumps({"what": what, **self.identity, **times, **details})
        os.write(self.ledger, f"{line}\n".encode())

    def claim(self) -> None:
        """Take this attempt, rank and GPUs; write down which process has them already.

        Its own byte is taken before the others are looked at, so of two attempts at least one sees the other.
        """
        job = self._claim_file(f"job-{self.label}")
        own = self.attempt * RANKS + self.rank
        if not take(job, own):
            self.write("clash", over="rank", held_by=holder(job, own, 1))
        for first, length in ((0, self.attempt * RANKS), ((self.attempt + 1) * RANKS, 0)):
            other = holder(job, first, length)
            if other is not None:
                self.write("clash", over="attempt", held_by=other)
        node = self._claim_file(f"node-{self.node}")
        for gpu in self.gpus:
            if not take(node, gpu):
                self.write("clash", over="gpu", gpu=gpu, held_by=holder(node, gpu, 1))

    def _claim_file(self, name: str) -> int:
        return os.open(f"{self.folder}/claims/{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def work(self) -> int:
        """Do the steps; the exit code that the script or a stop asks for."""
        steps = round(float(self.script["seconds"]) / STEP_S)
        for done in range(self._saved() + 1, steps + 1):
            time.sleep(STEP_S)
            self._say(done)
            self.write("step", step=done, printed=self.printed)
            if self.script.get("saves") and (done % SAVE_STEPS == 0 or self._is_asked()):
                self._save(done)
            if self.is_told and not self.script.get("stubborn"):
                if self.script.get("saves"):
                    self._save(done)
                return 143
        return int(self.script.get("code", 0))

    def _say(self, step: int) -> None:
        """Print a numbered line. When no process reads any more the work goes on all the same."""
        try:
            os.write(1, f"line {self.printed} of {self.label} attempt {self.attempt} step {step}\n".encode())
        except OSError:
            return
        self.printed += 1

    def _progress_file(self) -> str:
        return f"{self.folder}/saves/{self.label}-{self.rank}"

    def _saved(self) -> int:
        try:
            with open(self._progress_file()) as file:
                return int(file.read())
        except (OSError, ValueError):
            return 0

    def _save(self, step: int) -> None:
        draft = f"{self._progress_file()}.{os.getpid()}"
        with open(draft, "w") as file:
            file.write(str(step))
        os.replace(draft, self._progress_file())
        # The disk of the notices may be full, and no save may have been asked for.
        with suppress(OSError, KeyError), open(os.environ["MUSTER_CHECKPOINT_NOTICE"], "a") as file:
            file.write("saved 1\n")
        with suppress(OSError, KeyError):
            os.unlink(os.environ["MUSTER_CHECKPOINT_ASK"])

    def _is_asked(self) -> bool:
        return os.path.exists(os.environ.get("MUSTER_CHECKPOINT_ASK", ""))


def main() -> None:
    """Claim, write down the start, work, write down the end."""
    worker = Worker(json.loads(sys.argv[1]))

    def told(*_: object) -> None:
        worker.is_told = True

    signal.signal(signal.SIGTERM, told)
    worker.claim()
    worker.write("start")
    code = worker.work()
    worker.write("end", code=code, printed=worker.printed)
    os._exit(code)  # at once: a process that is killed after it wrote its end has not ended by itself


if __name__ == "__main__":
    main()
