"""A server that people started with `muster up`, over a real Ray. It and its test are in the namespace of Ray."""

import sys
from dataclasses import dataclass

from tests.e2e.conftest import eventually
from tests.engines.conftest import OnSlurm
from tests.ray_cluster import ADDRESS, RayCluster

CONFIGURATION = """
[server]
port = PORT

[[engines]]
name = "ray"
kind = "ray"
address = "ADDRESS"
driver = "DRIVER"
python = "PYTHON"
output = "OUTPUT"
levels = {rack = "rack"}
"""


@dataclass(kw_only=True)
class OnRay(OnSlurm):
    """A server, and the Ray below it."""

    cluster: RayCluster  # type: ignore[assignment]
    address: str = ADDRESS

    def up(self, port: int = 0) -> str:
        """Start the server; what it says."""
        text = CONFIGURATION.replace("PORT", str(port)).replace("ADDRESS", self.address)
        text = text.replace("DRIVER", self.cluster.python).replace("PYTHON", sys.executable)
        file = self.shell.folder / "muster.toml"
        file.write_text(text.replace("OUTPUT", str(self.shell.folder)), "utf-8")
        done = self.shell.run("up", "-d", "--config", str(file))
        assert done.returncode == 0, done.stderr
        return done.stderr + (self.shell.home / "server.log").read_text("utf-8")

    def await_output(self, job: str, rank: str, text: str) -> None:
        """Wait until what a worker has printed is here, which is a moment after it has printed it."""
        eventually(lambda: text in self.shell.type("logs", job, "--rank", rank).stdout, what=f"{text!r} was printed")

    def await_ready(self, *nodes: str) -> None:
        """Wait until nodes take work."""
        for node in nodes or self.cluster.nodes:
            eventually(lambda: self.nodes()[node]["state"] == "ready", what=f"{node} takes work")  # noqa: B023

    def await_nothing_left(self) -> None:
        """Wait until nothing of an allocation runs any more, or lies around, and no record is left."""
        eventually(lambda: not self._running(), what="nothing runs on any node")
        eventually(lambda: not list(self.shell.home.glob("allocations/*.json")), what="no allocation is remembered")
        homes = self.cluster.scratch
        eventually(lambda: not list(homes.glob("muster-*/run.sh")), what="no home is left")

    def _running(self) -> list[int]:
        return [process for node in self.cluster.nodes for process in self.cluster.agents(node)]
