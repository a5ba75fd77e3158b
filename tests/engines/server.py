"""A server that people started with `muster up` over an engine, and what a story needs of the engine below it."""

import json
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Shell, eventually
from tests.engine_processes import Machines, agents_among, kill_all


@dataclass(kw_only=True)
class OnEngine(ABC):
    """A server over an engine with four nodes in two racks."""

    shell: Shell
    cluster: Machines

    prints = ""
    """What a worker prints of the engine: a part of a line of its script."""

    @abstractmethod
    def configuration(self) -> str:
        """What `muster.toml` says of the engine, with `PORT` where the server is to listen."""

    @abstractmethod
    def runs(self) -> Collection[object]:
        """What the engine runs for Muster, by its own names: each gang, or each of its parts."""

    @abstractmethod
    def printed(self, job: str) -> str:
        """What became of `prints`."""

    @abstractmethod
    def others(self, gpus: int) -> AbstractContextManager[None]:
        """Jobs of others have so many GPUs of each node for a while."""

    @abstractmethod
    def without(self, node: str) -> AbstractContextManager[None]:
        """Muster's part of the engine does not have a node meanwhile. Then it joins."""

    @abstractmethod
    def await_nothing_left(self) -> None:
        """Wait until nothing of any gang is there any more, and no record is left."""

    @property
    def machines(self) -> tuple[str, ...]:
        """The nodes, the first two in one rack."""
        return self.cluster.nodes

    def kill_agent(self, node: str) -> bool:
        """Kill the agents on a node; True if there was one."""
        return kill_all(agents_among(self.cluster.processes_on(node)))

    def await_ready(self, *nodes: str) -> None:
        """Wait until nodes take work."""
        for node in nodes or self.machines:
            self.await_node(node, "ready")

    python = sys.executable
    """What agents are run with."""

    def up(self, port: int = 0) -> str:
        """Start the server; what it says."""
        file = self.shell.folder / "muster.toml"
        file.write_text(self.configuration().replace("PORT", str(port)).replace("PYTHON", self.python), "utf-8")
        done = self.shell.run("up", "-d", "--config", str(file))
        assert done.returncode == 0, done.stderr
        return done.stderr + (self.shell.home / "server.log").read_text("utf-8")

    @property
    def port(self) -> int:
        """Where the server listens."""
        return int(self._told["url"].rpartition(":")[2])

    def kill_server(self) -> None:
        """Kill the server at once."""
        os.kill(self._told["pid"], signal.SIGKILL)

    def end_server(self) -> None:
        """Kill the server if there is one. To ask it takes two more programs, and what it ran is ended otherwise."""
        if (self.shell.home / "server.json").exists() and not self.has_died:
            self.kill_server()

    @property
    def has_died(self) -> bool:
        """True once the server has."""
        try:
            return not Path(f"/proc/{self._told['pid']}/cmdline").read_bytes()
        except OSError:
            return True

    @property
    def _told(self) -> dict[str, Any]:
        return dict(json.loads((self.shell.home / "server.json").read_text("utf-8")))

    def submit(self, text: str) -> str:
        """Submit a job file."""
        return self.shell.says("submit", "-", "-q", input=text).strip()

    def job(self, job: str) -> dict[str, Any]:
        """What the server says of a job."""
        return dict(json.loads(self.shell.says("show", job, "-o", "json")))

    def story(self, job: str) -> str:
        """What became of a job, in one line."""
        return " ".join(self.shell.says("story", job).split())

    def begin(self, text: str) -> str:
        """Start the server and a job; the job, once it runs."""
        self.up()
        self.await_ready()
        job = self.submit(text)
        self.await_state(job, "running")
        return job

    def placed(self, job: str) -> list[str]:
        """The nodes of a job, in order."""
        return sorted({worker["node"] for worker in self.job(job)["workers"]})

    def await_state(self, job: str, *states: str) -> None:
        """Wait until a job is in one of these states."""
        eventually(lambda: self.job(job)["state"] in states, what=f"{job} is {' or '.join(states)}")

    def output(self, job: str, rank: str = "0") -> str:
        """What a worker has printed so far; nothing while nothing of it is here."""
        return str(self.shell.type("logs", job, "--rank", rank).stdout)

    def await_output(self, job: str, rank: str, text: str) -> None:
        """Wait until what a worker has printed is here, which is a moment after it has ended."""
        eventually(lambda: text in self.output(job, rank), what=f"{text!r} was printed")

    def nodes(self) -> dict[str, dict[str, Any]]:
        """What the server says of its nodes."""
        return {each["name"]: each for each in json.loads(self.shell.says("nodes", "-o", "json"))}

    def await_node(self, node: str, *states: str) -> None:
        """Wait until a node is in one of these states."""
        eventually(lambda: self.nodes()[node]["state"] in states, what=f"{node} is {' or '.join(states)}")

    def await_no_record(self) -> None:
        """Wait until the server remembers no allocation."""
        eventually(lambda: not list(self.shell.home.glob("allocations/*.json")), what="no allocation is remembered")
