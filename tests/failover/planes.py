"""Two control planes on one database and in one home, each with a wire of its own to the database."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import httpx

from muster.client import Client
from tests.chaos.database import Postgres
from tests.failover.wire import Wire
from tests.failover.witness import Witness
from tests.postgres import USER

DEADLINE_S = 240.0
ANSWER_S = 1.0


class Plane:
    """One control plane, known by its port."""

    def __init__(self, home: Path, port: int, wire: Wire) -> None:
        self.home = home
        self.port = port
        self.wire = wire
        self.url = f"http://127.0.0.1:{port}"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """The name under which the database knows it."""
        return str(self.port)

    def start(self, *more: str) -> None:
        """Start it. It leads or stands by."""
        options = quote(f"-cmuster.plane={self.name}")
        database = f"postgresql://{USER}@127.0.0.1:{self.wire.port}/postgres?options={options}"
        command = [sys.executable, "-m", "muster.main", "serve", "--home", str(self.home), "--port", self.name]
        with (self.home.parent / f"{self.name}.out").open("ab") as output:
            self.process = subprocess.Popen(
                [*command, "--nodes", "2x4", "--database", database, *more],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def role(self) -> str:
        """What it says it is; empty when it does not answer."""
        try:
            return str(httpx.get(f"{self.url}/healthz", timeout=ANSWER_S).json()["role"])
        except (httpx.HTTPError, ValueError, KeyError):
            return ""

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def end(self) -> None:
        """Kill it, whatever it does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


class Planes:
    """The database, both control planes, and the nodes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self.postgres = Postgres()
        self.postgres.start()
        self.witness = Witness(self.postgres.url)
        self.planes = [Plane(self.home, _free_port(), Wire(self.postgres.folder)) for _ in range(2)]

    def start(self) -> None:
        """Start both, the first as the leader."""
        first, second = self.planes
        first.start()
        await_so(lambda: first.role() == "leader", "the first control plane leads")
        self.witness.begin()
        second.start()
        await_so(lambda: second.role() == "standby", "the second control plane stands by")

    @property
    def leader(self) -> Plane:
        """The one that leads. Exactly one does, while nothing is wrong."""
        await_so(lambda: sorted(plane.role() for plane in self.planes) == ["leader", "standby"], "one of two leads")
        return next(plane for plane in self.planes if plane.role() == "leader")

    def other(self, plane: Plane) -> Plane:
        """The other of both."""
        return next(each for each in self.planes if each is not plane)

    def client(self, *planes: Plane) -> Client:
        """A client of both, or of these."""
        token = (self.home / "token").read_text("utf-8").strip()
        return Client(",".join(plane.url for plane in planes or self.planes), token)

    def end(self) -> None:
        """End everything, with all that runs."""
        for plane in self.planes:
            plane.wire.end()
            plane.end()
        subprocess.run([sys.executable, "-m", "muster.main", "down", "--home", str(self.home)], check=False)
        self.postgres.end()


def await_so(is_so: Callable[[], bool], what: str, within_s: float = DEADLINE_S) -> float:
    """Wait until it is so; returns how long that took, in seconds."""
    began_s = time.monotonic()
    while not is_so():
        assert time.monotonic() - began_s < within_s, f"within {within_s:.0f} s it was not so that {what}"
        time.sleep(0.02)
    return time.monotonic() - began_s


def _free_port() -> int:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port: int = probe.getsockname()[1]
    os.sched_yield()
    return port
