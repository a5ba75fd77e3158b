"""A PostgreSQL server that a trial can kill, stop and start again on the same data."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.chaos.job import start_ticks
from tests.postgres import USER, find_binaries

DEADLINE_S = 60.0
SETTINGS = ("fsync=off", "listen_addresses=", "max_connections=50", "shared_buffers=16MB")


class Postgres:
    """One server in a folder of its own, on a unix socket. It ends with the process that started it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="chaos-pg-"))
        self.url = f"postgresql:///postgres?host={self.folder}&user={USER}"
        self._identity: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            self._identity = {"user": USER, "group": USER}
            shutil.chown(self.folder, USER, USER)
        init = [find_binaries() / "initdb", "-D", self.folder / "data", "-U", USER, "-A", "trust", "-N"]
        init += ["--no-locale", "-E", "UTF8"]
        made = subprocess.run(init, capture_output=True, text=True, check=False, cwd="/", **self._identity)  # type: ignore[call-overload]
        assert made.returncode == 0, made.stderr

    def start(self) -> None:
        """Start it, and wait until it answers. One that was killed is waited for: its children end by themselves."""
        until_s = time.monotonic() + DEADLINE_S
        while not self._answers():
            assert time.monotonic() < until_s, (self.folder / "server.log").read_text("utf-8", "replace")[-2000:]
            if self._process is None or self._process.poll() is not None:
                self._spawn()
            time.sleep(0.05)

    def kill(self) -> None:
        """As if the kernel had run out of memory."""
        if self._process is not None:
            children = self._children()
            self._process.kill()
            self._process.wait()
            # Its children see that it is gone, and end; those that were stopped would keep its memory for ever.
            for pid in children:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def kill_backend(self, pick: int) -> bool:
        """Kill one of the processes that serve a client: the server then ends all others and recovers."""
        serving = [pid for pid in self._children() if b"idle" in _command(pid) or b"[local]" in _command(pid)]
        if not serving:
            return False
        with suppress(ProcessLookupError):
            os.kill(serving[pick % len(serving)], signal.SIGKILL)
        return True

    def signal_all(self, number: int) -> None:
        """Signal the server and everything that belongs to it."""
        if self._process is None or self._process.poll() is not None:
            return
        for pid in (self._process.pid, *self._children()):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self) -> None:
        """End it with its data, whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            children = [(pid, start_ticks(pid)) for pid in self._children()]
            self.kill()
            for pid, ticks in children:
                if ticks and start_ticks(pid) == ticks:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self) -> None:
        # Left behind by a server that was killed; whether another one lives is looked at by the server itself too.
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        serve = ["setpriv", "--pdeathsig", "QUIT", find_binaries() / "postgres", "-D", self.folder / "data"]
        for setting in (*SETTINGS, f"unix_socket_directories={self.folder}"):
            serve += ["-c", setting]
        with (self.folder / "server.log").open("ab") as output:
            self._process = subprocess.Popen(serve, stdout=output, stderr=output, cwd="/", **self._identity)  # type: ignore[call-overload]

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            return False
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _children(self) -> list[int]:
        assert self._process is not None
        try:
            listed = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        except OSError:
            return []
        return [int(word) for word in listed.split()]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
