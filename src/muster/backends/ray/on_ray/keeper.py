"""Keeps the allocations of one node: starts their agents, counts their devices, and ends what is left of them.

It runs in a standing actor of Ray, with the standard library alone. Everything it knows is on the node's disk, so an
actor that takes the place of a dead one goes on where that one was. What it starts is no child of the actor and
outlives it: agents talk to Muster and not to Ray.

    waiting ── enough devices are free ──▶ running ── nothing of it is alive ──▶ ended
       └──────────── told to end, or overdue ────▶ ending ───────────┘
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MARK = "ALLOCATION_OF_MUSTER"
"""The variable by which every process of an allocation is found, whoever its parent is."""

HOME = "MUSTER_ALLOCATION_HOME"
PYTHON = "MUSTER_NODE_PYTHON"

WAITING, RUNNING, ENDING, ENDED = "waiting", "running", "ending", "ended"

TICK_S = 0.5
END_S = 8.0
"""How long what was told to end may take, before everything of it is killed."""

KEPT_S = 600.0
"""How long it is remembered that an allocation has ended. Muster looks every two seconds."""

AWAY_S = 300.0
"""After how long without a word from Muster a keeper that keeps nothing gives its devices back to Ray."""

LOCK_S = 20.0
"""How long to wait for the keeper that was here before. It ends with its raylet."""

WAITING_MOST = 1_000

OVERDUE = "its time was over"


@dataclass
class HeldAllocation:
    """One allocation on this node, as its record on the disk."""

    id: str
    nodes: list[str]
    """All nodes of the allocation."""
    gpus: int
    home: str
    until: float = 0.0
    """When it is to be ended at the latest, in seconds since 1970; 0 for never."""
    phase: str = WAITING
    devices: list[str] = field(default_factory=list)
    process: int = 0
    """The shell that keeps its agent running; 0 while it is not known."""
    start_ticks: int = 0
    boot: str = ""
    since: float = 0.0
    """When it came into its phase."""
    is_overdue: bool = False
    is_orderly: bool = False
    """True when its agent had nothing left to do."""
    lacks_python: bool = False
    """True when nothing on this node could run an agent."""

    @property
    def lives(self) -> bool:
        """True while it has devices, or is to get some."""
        return self.phase != ENDED


class AllocationKeeper:
    """All allocations of one Muster on one node."""

    def __init__(self, name: str, devices: list[str]) -> None:
        """`name` tells the node, and this Muster from others; `devices` are those that Ray gave to the actor."""
        self._folder = Path(tempfile.gettempdir()) / f"muster-{os.geteuid()}-{name}-kept"
        self._devices = list(devices)
        self._guard = threading.RLock()
        _claim(self._folder)
        self._lock = _locked(self._folder / "lock")
        self._entries = {entry.id: entry for entry in _read(self._folder)}
        self._heard_s = time.monotonic()

    def keep(self) -> None:
        """Look after everything, on a thread of its own."""
        threading.Thread(target=self._run, name="keeper", daemon=True).start()

    def look(self) -> dict[str, Any]:
        """What there is on this node."""
        with self._guard:
            self._heard_s = time.monotonic()
            self._settle()
            told = ("id", "nodes", "phase", "devices", "is_overdue", "is_orderly", "lacks_python")
            entries = [{name: getattr(each, name) for name in told} for each in self._entries.values()]
            return {"devices": self._devices, "entries": entries}

    def begin(self, order: dict[str, Any], agent: bytes) -> str:
        """Start the agent of an allocation, as soon as enough devices are free. Returns why that is not possible.

        An allocation that is known already is left as it is.
        """
        with self._guard:
            self._heard_s = time.monotonic()
            if order["id"] in self._entries:
                return ""
            if sum(each.phase == WAITING for each in self._entries.values()) >= WAITING_MOST:
                return f"{WAITING_MOST} allocations wait on this node already"
            try:
                self._take(order, agent)
            except OSError as error:
                return f"it cannot be written down: {error}"
            self._settle()
            return ""

    def end(self, allocation: str) -> None:
        """End an allocation with everything in it."""
        with self._guard:
            self._heard_s = time.monotonic()
            entry = self._entries.get(allocation)
            if entry is not None:
                self._end(entry)
                self._settle()

    @property
    def is_idle(self) -> bool:
        """True when it keeps nothing."""
        return not any(each.lives for each in self._entries.values())

    @property
    def is_left(self) -> bool:
        """True when it keeps nothing, and nobody has asked for long."""
        return self.is_idle and time.monotonic() - self._heard_s > AWAY_S

    def _run(self) -> None:
        while True:
            time.sleep(TICK_S)
            with self._guard:
                with suppress(OSError):  # the disk may be full for a while
                    self._settle()
                if self.is_left:
                    os._exit(0)

    def _take(self, order: dict[str, Any], agent: bytes) -> None:
        """Write down what is to be started, before anything is."""
        home = Path(tempfile.gettempdir()) / f"muster-{os.geteuid()}-{order['id']}-{order['node']}"
        home.mkdir(mode=0o700)
        try:
            files = {name: text.encode() for name, text in order["files"].items()}
            for name, content in {**files, "agent.pyz": agent}.items():
                _write(home / name, content)
            limit_s = order["limit_s"]
            until = 0.0 if limit_s is None else time.time() + limit_s
            entry = HeldAllocation(
                id=order["id"], nodes=order["nodes"], gpus=order["gpus"], home=str(home), until=until
            )
            self._note(entry, WAITING)
        except OSError:
            shutil.rmtree(home, ignore_errors=True)
            raise
        self._entries[entry.id] = entry

    def _settle(self) -> None:
        """See what has ended, end what is to end, and start what can be started."""
        for entry in tuple(self._entries.values()):
            if entry.phase == RUNNING:
                self._see(entry)
            if entry.phase == ENDING:
                self._see_end(entry)
            if entry.phase == ENDED and time.time() - entry.since > KEPT_S:
                self._record(entry.id).unlink(missing_ok=True)
                del self._entries[entry.id]
        free = [each for each in self._devices if each not in self._used()]
        for entry in [each for each in self._entries.values() if each.phase == WAITING]:
            if len(free) < entry.gpus:
                break  # whoever came first starts first
            entry.devices, free = free[: entry.gpus], free[entry.gpus :]
            self._start(entry)

    def _used(self) -> list[str]:
        return [device for each in self._entries.values() if each.lives for device in each.devices]

    def _see(self, entry: HeldAllocation) -> None:
        if entry.process and _is_same(entry.process, entry.start_ticks) and entry.boot == _boot():
            if entry.until and time.time() > entry.until:
                entry.is_overdue = True
                self._end(entry)
        elif _processes_of(entry.id):
            if entry.process:
                self._note(entry, ENDING)  # its agent sees that, and ends what it runs
        elif entry.process or _is_never_begun(entry):
            self._over(entry)

    def _see_end(self, entry: HeldAllocation) -> None:
        left = _processes_of(entry.id)
        if not left:
            self._over(entry)
        elif time.time() - entry.since > END_S:
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for process in left:
                    _signal(process, number)

    def _end(self, entry: HeldAllocation) -> None:
        if entry.phase == WAITING:
            self._over(entry)
        elif entry.phase == RUNNING:
            self._note(entry, ENDING)
            if entry.process and _is_same(entry.process, entry.start_ticks):
                _signal(entry.process, signal.SIGKILL)

    def _over(self, entry: HeldAllocation) -> None:
        """Nothing of it is alive. Its record is written first, so that nobody starts it again."""
        with suppress(FileNotFoundError):
            said = self._record(entry.id).with_suffix(".done").read_text("ascii").strip()
            entry.is_orderly, entry.lacks_python = not said, bool(said)
        self._note(entry, ENDED)
        shutil.rmtree(entry.home, ignore_errors=True)
        self._record(entry.id).with_suffix(".done").unlink(missing_ok=True)

    def _start(self, entry: HeldAllocation) -> None:
        """Start its shell as nobody's child. Whoever makes the folder `begun` first decides whether it runs."""
        entry.boot = _boot()
        self._note(entry, RUNNING)
        variables = {
            **_variables_of_the_node(),
            MARK: entry.id,
            HOME: entry.home,
            PYTHON: sys.executable,
            "MUSTER_ALLOCATION_DONE": str(self._record(entry.id).with_suffix(".done")),
            "CUDA_VISIBLE_DEVICES": ",".join(entry.devices),
        }
        begin = 'sh "$0" < /dev/null > /dev/null 2>&1 & echo $!'
        command = ["sh", "-c", begin, f"{entry.home}/run.sh"]
        with suppress(
            OSError, ValueError, subprocess.SubprocessError
        ):  # the next look finds that nothing of it is alive
            done = subprocess.run(
                command, env=variables, cwd="/", start_new_session=True, stdout=subprocess.PIPE, check=True, text=True
            )
            entry.process = int(done.stdout)
            entry.start_ticks = _start_ticks(entry.process)
        self._note(entry, RUNNING)

    def _note(self, entry: HeldAllocation, phase: str) -> None:
        """Bring it into a phase, on the disk first."""
        before, entry.phase, entry.since = (entry.phase, entry.since), phase, time.time()
        try:
            _write(self._record(entry.id), json.dumps(asdict(entry)).encode())
        except OSError:
            entry.phase, entry.since = before
            raise

    def _record(self, allocation: str) -> Path:
        return self._folder / f"{allocation}.json"


def _claim(folder: Path) -> None:
    """Make the folder, or take it if it is this user's own."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not folder.is_dir() or folder.is_symlink() or found.st_uid != os.geteuid():
        raise OSError(f"{folder} belongs to somebody else: remove it")
    folder.chmod(0o700)


def _locked(path: Path) -> int:
    """Hold the folder, so that there is one keeper only, also while a raylet takes the place of another."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    give_up_s = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > give_up_s:
                os.close(lock)
                raise
            time.sleep(0.05)


def _read(folder: Path) -> Iterator[HeldAllocation]:
    """The allocations that a keeper before this one has left. What cannot be read was never begun."""
    for path in sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime_ns):
        with suppress(OSError, ValueError, TypeError):
            yield HeldAllocation(**json.loads(path.read_text("utf-8")))


def _write(path: Path, content: bytes) -> None:
    """A file that is whole or not there, and that only its owner can read."""
    draft = path.with_name(f".{path.name}.new")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _is_never_begun(entry: HeldAllocation) -> bool:
    """Whether its shell will never run, or has ended: for an entry whose process a keeper did not live to note."""
    with suppress(FileExistsError, FileNotFoundError):
        (Path(entry.home) / "begun").mkdir()
    return True


def _variables_of_the_node() -> dict[str, str]:
    """What the raylet was started with, without what is Ray's: workers take part in no Ray that they do not know."""
    try:
        pairs = Path(f"/proc/{os.getppid()}/environ").read_bytes().decode(errors="replace").split("\0")
        variables = dict(each.split("=", 1) for each in pairs if "=" in each)
    except OSError:
        variables = dict(os.environ)
    return {name: value for name, value in variables.items() if not name.startswith("RAY_")}


def _processes_of(allocation: str) -> list[int]:
    """Every process of an allocation, and all that they have started."""
    mark = f"{MARK}={allocation}\0".encode()
    parents: dict[int, int] = {}
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            process = int(folder.name)
            state, parent = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
            if state in "ZX":
                continue
            parents[process] = int(parent)
            if mark in b"\0" + (folder / "environ").read_bytes() + b"\0":
                found.add(process)
    count = -1
    while count != len(found):
        count = len(found)
        found |= {process for process, parent in parents.items() if parent in found}
    return sorted(found)


def _start_ticks(process: int) -> int:
    """When a process was started; 0 for one that is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except OSError:
        return 0
    values = text.rpartition(")")[2].split()
    return 0 if values[0] in "ZX" else int(values[19])


def _is_same(process: int, start_ticks: int) -> bool:
    return start_ticks != 0 and _start_ticks(process) == start_ticks


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()


def _signal(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)
