"""Ways to kill a part of a training that runs in jobs of Slurm. The others are as on this machine."""

import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from muster.worker.launch.runtime_folder import SCRATCH_PARENT
from tests.chaos.cluster import Cluster
from tests.slurm_cluster import Cluster as Slurm
from tests.survival.strikes import Strike

SLURM_KINDS = ("agent", "controller")
"""What there is to strike only there."""

AWAY_S = 8.0
"""For how long at most the controller of Slurm is away."""


class SlurmStrikes:
    """What can be struck in one Slurm."""

    def __init__(self, slurm: Slurm, disks: str) -> None:
        """`disks` is how the names of the folders begin that are the disks of nodes."""
        self._slurm = slurm
        self._disks = disks
        self._off = ""
        """The node that is switched off."""

    @property
    def strikes(self) -> Mapping[str, Strike]:
        """By kind."""
        return {
            "agent": self._agent,
            "supervisor": self._supervisor,
            "node": self._node,
            "controller": self._controller,
        }

    def _agent(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """An agent dies, and is begun anew. What its supervisor runs goes on."""
        node = self._a_busy_node(chance)
        return node if node is not None and self.agent(node) else None

    def agent(self, node: str) -> bool:
        """Kill an agent of a node; True if there was one."""
        supervisor = self._supervisor_on(node)
        for process in self._slurm.processes_on(node):
            if process != supervisor and _is_agent(process):
                os.kill(process, signal.SIGKILL)
                return True
        return False

    def _supervisor(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """The supervisor of an allocation's node dies, and its workers stay for a moment."""
        node = self._a_busy_node(chance)
        supervisor = None if node is None else self._supervisor_on(node)
        if supervisor is None:
            return None
        os.kill(supervisor, signal.SIGKILL)
        return node

    def _node(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """A machine dies with its disk. The one that died before is back."""
        node = self._a_busy_node(chance)
        if node is None:
            return None
        if self._off:
            self._slurm.start_node(self._off)
            self._slurm.await_idle((self._off,))
        self._slurm.switch_off(node)
        shutil.rmtree(SCRATCH_PARENT / f"{self._disks}{node}", ignore_errors=True)
        self._off = node
        return node

    def _controller(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """Slurm's controller dies, and comes back after a while."""
        self._slurm.kill("slurmctld")
        time.sleep(chance.uniform(0, AWAY_S))
        self._slurm.start_controller()
        return "it is back"

    def _a_busy_node(self, chance: random.Random) -> str | None:
        """A node with a supervisor that lives."""
        busy = [node for node in self._slurm.nodes if self._supervisor_on(node) is not None]
        return chance.choice(busy) if busy else None

    def _supervisor_on(self, node: str) -> int | None:
        living = self._slurm.processes_on(node)
        for told in Path(tempfile.gettempdir()).glob(f"muster-{os.geteuid()}-*-{node}/nodes/{node}/supervisor.json"):
            with suppress(OSError, ValueError, KeyError):
                if (process := int(json.loads(told.read_text())["pid"])) in living:
                    return process
        return None


def _is_agent(process: int) -> bool:
    """True for the Python of an agent, and not for the shell that begins it anew."""
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        return b"--post" in words and b"python" in os.path.basename(words[0])
    return False
