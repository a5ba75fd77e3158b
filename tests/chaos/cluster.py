"""A real Muster that a trial may harm: `muster up` as people start it, with its supervisors, its disk and its clock."""

import json
import os
import random
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from muster.client import Client
from muster.home import Home
from tests.chaos import job, processes
from tests.chaos.job import start_ticks
from tests.chaos.processes import MARK

MUSTER = (sys.executable, "-c", "from muster.cli.main import main; main()")
START_S = 45.0
"""How long a server may take until it answers or gives up, on a machine that is busy with other trials."""
COMMAND_S = 100.0
ANSWER_S = 3.0
TURN_S = 0.05
DISK_BYTES = 48 << 20
"""Room for a trial; the output of workers may take a tenth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What became of a start."""

    is_up: bool
    code: int | None
    """The exit code of a server that gave up."""
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervisor:
    """A living supervisor."""

    node: str
    pid: int
    ticks: int


class Cluster:
    """The control plane of one home, and what runs below it."""

    def __init__(
        self,
        folder: Path,
        mark: str,
        *,
        nodes: str = "",
        configuration: Path | None = None,
        database: str = "",
        has_clock: bool = False,
    ) -> None:
        """With virtual nodes of this machine, or with those that a configuration names."""
        self.folder = folder
        self.mark = mark
        self.home = folder / "home"
        self.database = database or f"sqlite:///{self.home}/muster.db"
        self.output = folder / "control.out"
        self.control: subprocess.Popen[bytes] | None = None
        self.meanwhile: Callable[[], None] = lambda: None
        """What is done again and again while a thread waits here: faults that are over are mended."""
        self._nodes = ("--nodes", nodes) if configuration is None else ("--config", str(configuration))
        self._clock = folder / "clock"
        self._library = _clock_library(folder) if has_clock else None
        self._mine = threading.local()
        self._open = ExitStack()
        self._port = _free_port()
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.step_clock(0)

    @property
    def url(self) -> str:
        """Where the control plane is when it is up: always the same, so that a client need not look for it."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def is_up(self) -> bool:
        """True when the process of a control plane is there."""
        return self.control is not None and self.control.poll() is None

    @property
    def database_file(self) -> Path:
        """The file of a SQLite database."""
        return Path(self.database.removeprefix("sqlite:///"))

    def client(self) -> Client:
        """A client of the calling thread that asks once and does not wait long."""
        token = Home(self.home).token.read_text().strip()
        if getattr(self._mine, "token", None) != token:
            made = self._open.enter_context(Client(self.url, token, tries=1, timeout=ANSWER_S))
            self._mine.token, self._mine.client = token, made
        found: Client = self._mine.client
        return found

    def spawn(self, *flags: str, home: Path | None = None, database: str = "") -> "subprocess.Popen[bytes]":
        """Begin `muster up`. With another home or database it listens elsewhere: no client asks it by mistake."""
        port = str(_free_port() if home or database else self._port)
        words = ["up", "--home", str(home or self.home), *self._nodes, "--port", port]
        words += ["--database", database or self.database, *flags]
        with self.output.open("ab") as output:
            return subprocess.Popen(
                [*MUSTER, *words], env=self._environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def start(self, *flags: str, home: Path | None = None) -> Started:
        """Have a control plane that answers; one that lives is left alone."""
        if self.is_up:
            return Started(is_up=True, code=None, said="")
        if home is not None:
            self.home = home
        begin = self.output.stat().st_size if self.output.exists() else 0
        self.control = self.spawn(*flags)
        until_s = time.monotonic() + START_S
        while time.monotonic() < until_s:
            if self.control.poll() is not None:
                return Started(is_up=False, code=self.control.returncode, said=self.said(begin))
            if self.health() is not None:
                return Started(is_up=True, code=None, said="")
            self.pause(TURN_S)
        return Started(is_up=False, code=None, said=f"no answer after {START_S:.0f} s: {self.said(begin)}")

    def said(self, begin: int = 0) -> str:
        """What control planes have printed since."""
        with suppress(FileNotFoundError):
            return plain(self.output.read_bytes()[begin:].decode("utf-8", "replace"))
        return ""

    def health(self) -> tuple[int, str] | None:
        """What `/healthz` says: code and status; None when no server answers."""
        if getattr(self._mine, "asker", None) is None:
            asker = httpx.Client(timeout=ANSWER_S, trust_env=False, verify=False)
            self._mine.asker = self._open.enter_context(asker)
        try:
            answer = self._mine.asker.get(f"{self.url}/healthz")
            return answer.status_code, str(answer.json().get("status", ""))
        except (httpx.HTTPError, ValueError):
            return None

    def kill_control(self) -> bool:
        """End the control plane at once; True if there was one."""
        if self.control is None or not self.is_up:
            return False
        self.control.kill()
        self.control.wait()
        return True

    def signal_control(self, number: int) -> bool:
        """Signal the control plane; True if there is one."""
        if self.control is None or not self.is_up:
            return False
        self.control.send_signal(number)
        return True

    def supervisors(self, home: Path | None = None) -> list[Supervisor]:
        """The supervisors of a home that live."""
        nodes = Home(home or self.home).nodes
        folders = sorted(nodes.iterdir()) if nodes.is_dir() else []
        return [found for folder in folders if (found := _supervisor(folder)) is not None]

    def run(self, *words: str, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command of Muster against a home, until it ends."""
        variables = {**self._environment(), "MUSTER_HOME": str(home or self.home)}
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as trouble:
            running = subprocess.Popen(
                [*MUSTER, *words], env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=trouble
            )
            until_s = time.monotonic() + COMMAND_S
            while running.poll() is None and time.monotonic() < until_s:
                self.pause(TURN_S)
            if running.poll() is None:
                running.kill()
            code = running.wait()
            output.seek(0)
            trouble.seek(0)
            return subprocess.CompletedProcess(words, code, output.read(), trouble.read())

    def pause(self, seconds: float) -> None:
        """Let time pass, in which other faults may end."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            self.meanwhile()
            time.sleep(min(TURN_S, left_s))

    def close(self) -> None:
        """Let go of all connections; a control plane that still runs is ended."""
        self.kill_control()
        self._open.close()

    def step_clock(self, offset_s: int) -> None:
        """Set the clock of control plane and supervisors, as an operator does who sets that of the machine."""
        file = os.open(self._clock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(file, struct.pack("=q", offset_s), 0)
        os.close(file)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        marked = {**kept, MARK: self.mark, "COLUMNS": "200"}
        clock = {"LD_PRELOAD": str(self._library), "CHAOS_CLOCK": str(self._clock)} if self._library else {}
        return {**marked, **clock}


def plain(text: str) -> str:
    """What was printed, without the frames around it."""
    return re.sub(r"[ ─│╭╮╰╯]+", " ", text).strip()


def command(script: dict[str, Any]) -> str:
    """What a job file runs: the program of this trial under the true clock, whatever its supervisor sees."""
    words = ["exec", "env", "-u", "LD_PRELOAD", sys.executable, "-S", "-E", "-B", str(job.__file__), json.dumps(script)]
    return shlex.join(words)


def _clock_library(folder: Path) -> Path:
    """What lets a process see another time: compiled here, because there is one for each kind of machine."""
    library = folder / "clock.so"
    source = Path(str(job.__file__)).with_name("clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True, capture_output=True)
    return library


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """A small file system in this place while it is needed."""
    place.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "chaos", str(place)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


def tidy_up(folder: Path, mark: str) -> None:
    """End everything that a trial started, and remove what it leaves: files and control groups."""
    homes = [path.stat().st_ino for path in (folder / "home", *folder.glob("second-*")) if path.exists()]
    processes.sweep(mark)
    names = tuple(f"muster-{inode:x}-" for inode in homes)
    # From the bottom up; what others remove meanwhile is passed over.
    for place, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if any(part.startswith(names) for part in Path(place).parts):
            with suppress(OSError):
                os.rmdir(place)
    shutil.rmtree(folder, ignore_errors=True)


def _supervisor(folder: Path) -> Supervisor | None:
    try:
        said = json.loads((folder / "supervisor.json").read_text())
        found = Supervisor(node=folder.name, pid=said["pid"], ticks=said["start_ticks"])
    except (OSError, ValueError, KeyError):
        return None
    return found if start_ticks(found.pid) == found.ticks else None


def _free_port() -> int:
    """A port below those that the kernel gives out by itself: it must still be free when the server starts again."""
    while True:
        port = random.randrange(10_000, 20_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
