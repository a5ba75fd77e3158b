"""A control plane in a process of its own that a test can kill and start again."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import httpx

from muster.client import Client
from muster.failpoints import VARIABLE
from muster.model.errors import MusterError

DEADLINE_S = 60
NO_SERVER = "http://127.0.0.1:9"


class Server:
    """`muster up` under a home, with the nodes and workers that outlive it."""

    def __init__(self, home: Path, *, nodes: str | None = "2x4", arguments: tuple[str, ...] = ()) -> None:
        self.home = home
        self._nodes = nodes
        self.arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self.client = Client(NO_SERVER, "none", tries=1)
        """To the server that was started last; nothing answers there once it has died."""

    def start(self, failpoint: str = "", *, is_up: Callable[[str], bool] | None = None) -> Client:
        """Start it, perhaps with a place to die at, and wait until it answers or is dead.

        `is_up` is asked with its address where something else than an answer is waited for.
        """
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        if failpoint:
            environment[VARIABLE] = failpoint
        command = [sys.executable, "-m", "muster.main", "serve", "--home", str(self.home), "--port", "0"]
        with (self.home / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [*command, *(() if self._nodes is None else ("--nodes", self._nodes)), *self.arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        until(lambda: self.is_dead or self._answers(is_up))
        return self.client

    @property
    def is_dead(self) -> bool:
        """True once the process has ended."""
        assert self._process is not None
        return self._process.poll() is not None

    @property
    def pid(self) -> int:
        """The process of the server."""
        assert self._process is not None
        return self._process.pid

    def await_death(self) -> int:
        """Wait until it has died of itself."""
        assert self._process is not None
        return self._process.wait(DEADLINE_S)

    def kill(self) -> None:
        """As a lost machine would, but for the workers."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """Ask it to stop, and say how it ended."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(DEADLINE_S)

    def end_everything(self) -> None:
        """The control plane, the supervisors and all workers."""
        if self._process is not None and not self.is_dead:
            self.kill()
        self.client.close()
        subprocess.run([sys.executable, "-m", "muster.main", "down", "--home", str(self.home)], check=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_everything()

    def rss_mb(self) -> int:
        """The memory that the server has."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20

    def cpu_s(self) -> float:
        """How much processor time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _answers(self, is_up: Callable[[str], bool] | None) -> bool:
        try:
            record = json.loads((self.home / "server.json").read_text())
            if record["pid"] != self.pid:
                return False  # left by one that was killed
            url = record["url"]
            if is_up is not None:
                return is_up(url)
            self._connect(url, (self.home / "token").read_text().strip())
            list(self.client.nodes())
        except (OSError, ValueError, MusterError, httpx.HTTPError):
            return False
        return True

    def _connect(self, url: str, token: str) -> None:
        if url != self.client.url:
            self.client.close()
            self.client = Client(url, token, tries=1)


def until(is_so: Callable[[], bool | None]) -> None:
    """Wait for something, for a bounded time."""
    give_up_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < give_up_s, "it never came to pass"
        time.sleep(0.01)
