"""What the jobs wrote down, and what the watcher saw of their processes, as one value per process."""

import json
import os
import select
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.chaos.job import holder, start_ticks

LOOK_S = 0.03
"""How often the watcher looks for processes that are new in the ledger. How they end it is told by the kernel."""

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def now_s() -> float:
    """The clock of ledgers: it is never set, and it is that of the start times in `/proc`."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One entry of the ledger."""

    what: str
    """`start`, `step`, `end`, or `clash`: something that it was given was in use."""
    label: str
    """The name under which the job was submitted, with the index of an array's task. Never used twice in a trial."""
    job: str
    attempt: int
    rank: int
    world: int
    node: str
    gpus: tuple[int, ...]
    pid: int
    ticks: int
    at_s: float
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process that ran a rank of an attempt."""

    label: str
    job: str
    attempt: int
    rank: int
    world: int
    node: str
    gpus: tuple[int, ...]
    pid: int
    ticks: int
    started_s: float
    """When the kernel made the process, to a tick; its program began some milliseconds later."""
    alive_s: float
    """When it was alive for certain: its last line."""
    gone_s: float
    """When it was gone for certain: when the watcher learnt of its death, which may be late on a busy machine."""
    is_alive: bool
    code: int | None
    """The exit code that it wrote down; None when something ended it before."""
    printed: int
    """Numbered lines that it had printed when it wrote down its last step."""
    prints: tuple[tuple[float, int], ...] = ()
    """How many lines it had printed, by time."""

    @property
    def key(self) -> tuple[str, int, int]:
        """Whose output this is."""
        return self.label, self.attempt, self.rank

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.label} ({self.job}) attempt {self.attempt} rank {self.rank} on {self.node} [pid {self.pid}]"


def read_lines(path: Path, offset: int = 0) -> tuple[list[Line], int]:
    """The whole lines from an offset on, and where they end."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            text = stream.read()
    except FileNotFoundError:
        return [], offset
    whole = text[: text.rfind(b"\n") + 1]
    return [_line(json.loads(each)) for each in whole.splitlines()], offset + len(whole)


def _line(said: dict[str, Any]) -> Line:
    known = ("what", "label", "job", "attempt", "rank", "world", "node", "pid", "ticks", "at_s")
    return Line(
        **{name: said.pop(name) for name in known},
        gpus=tuple(said.pop("gpus")),
        details=said,
    )


def runs_of(lines: Iterable[Line], deaths: dict[tuple[int, int], float]) -> list[Run]:
    """The processes of a ledger, in the order of their starts."""
    found: dict[tuple[int, int], Run] = {}
    prints: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for line in lines:
        process = line.pid, line.ticks
        if process not in found:
            found[process] = _begun(line)
        run = found[process]
        printed = int(line.details.get("printed", run.printed))
        prints.setdefault(process, []).append((line.at_s, printed))
        found[process] = replace(
            run, alive_s=line.at_s, printed=printed, code=line.details["code"] if line.what == "end" else run.code
        )
    return [_ended(run, process, deaths, prints[process]) for process, run in found.items()]


def _begun(line: Line) -> Run:
    return Run(
        label=line.label,
        job=line.job,
        attempt=line.attempt,
        rank=line.rank,
        world=line.world,
        node=line.node,
        gpus=line.gpus,
        pid=line.pid,
        ticks=line.ticks,
        started_s=min(line.ticks / TICKS_PER_S, line.at_s) if line.ticks else line.at_s,
        alive_s=line.at_s,
        gone_s=line.at_s,
        is_alive=False,
        code=None,
        printed=0,
    )


def _ended(
    run: Run, process: tuple[int, int], deaths: dict[tuple[int, int], float], prints: list[tuple[float, int]]
) -> Run:
    is_alive = start_ticks(run.pid) == run.ticks and run.ticks > 0
    if is_alive:
        run = replace(run, alive_s=now_s())
    return replace(run, gone_s=max(run.alive_s, deaths.get(process, 0.0)), is_alive=is_alive, prints=tuple(prints))


class Watcher(threading.Thread):
    """Follows the ledger, and lets the kernel say when each process has died."""

    def __init__(self, folder: Path) -> None:
        super().__init__(name="watcher", daemon=True)
        self.path = folder / "ledger"
        self.claims = folder / "claims"
        self.lines: list[Line] = []
        self.deaths: dict[tuple[int, int], float] = {}
        self._handles: dict[int, tuple[int, int]] = {}
        self._known: dict[tuple[int, int], None] = {}
        self._offset = 0
        self._poll = select.poll()
        self._is_over = threading.Event()

    def run(self) -> None:
        """Look until told to stop."""
        while not self._is_over.is_set():
            self._look()
        self._look()
        for handle in self._handles:
            os.close(handle)

    def stop(self) -> None:
        """Read the ledger to its end, and look no more."""
        self._is_over.set()
        if self.is_alive():
            self.join()

    def runs(self) -> list[Run]:
        """The processes so far."""
        return runs_of(list(self.lines), dict(self.deaths))

    def living(self) -> list[Run]:
        """Those that are alive now."""
        return [run for run in self.runs() if run.is_alive]

    def holder_of(self, label: str) -> tuple[int, int] | None:
        """A process of a job that lives now, and the byte of its claim; exact, because the kernel says so."""
        return self._held(self.claims / f"job-{label}")

    def held(self) -> list[str]:
        """The claims that are held now."""
        return [path.name for path in sorted(self.claims.iterdir()) if self._held(path) is not None]

    def _held(self, path: Path) -> tuple[int, int] | None:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return holder(descriptor, 0, 0)
        finally:
            os.close(descriptor)

    def _look(self) -> None:
        lines, self._offset = read_lines(self.path, self._offset)
        self.lines += lines
        for line in lines:
            process = line.pid, line.ticks
            if process not in self._known:
                self._known[process] = None
                self._follow(process)
        for handle, _ in self._poll.poll(LOOK_S * 1000):
            self.deaths[self._handles.pop(handle)] = now_s()
            self._poll.unregister(handle)
            os.close(handle)

    def _follow(self, process: tuple[int, int]) -> None:
        with suppress(OSError):
            handle = os.pidfd_open(process[0])
            if start_ticks(process[0]) == process[1]:
                self._handles[handle] = process
                self._poll.register(handle, select.POLLIN)
            else:
                os.close(handle)
