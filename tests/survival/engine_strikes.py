"""Ways to kill a part of a training that runs on an engine. The others are as on this machine."""

import random
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from muster.worker.launch.runtime_folder import SCRATCH_PARENT
from tests.chaos.cluster import Cluster
from tests.engine_processes import Machines, agents_among, kill_all, supervisors_among
from tests.survival.strikes import Strike

ENGINE_KINDS = ("agent", "controller")
"""What there is to strike only there."""

AWAY_S = 8.0
"""For how long at most the engine does not answer."""


class EngineStrikes:
    """What can be struck on the nodes of one engine."""

    def __init__(
        self,
        below: Machines,
        disks: str,
        silent: Callable[[], AbstractContextManager[object]],
        more: Mapping[str, Callable[[str], str | None]] | None = None,
    ) -> None:
        """`disks` is how the names of the folders begin that are the disks of nodes; while `silent`, nothing answers.

        `more` are strikes on a node that only this engine knows.
        """
        self._below = below
        self._disks = disks
        self._silent = silent
        self._more = more or {}
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
            **{kind: self._on_a_node(strike) for kind, strike in self._more.items()},
        }

    def _agent(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """An agent dies, and is begun anew. What its supervisor runs goes on."""
        node = self._a_busy_node(chance)
        return node if node and kill_all(agents_among(self._below.processes_on(node))) else None

    def _supervisor(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """The supervisor of an allocation's node dies, and its workers stay for a moment."""
        node = self._a_busy_node(chance)
        return node if node and kill_all(supervisors_among(self._below.processes_on(node))) else None

    def _node(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """A machine dies with its disk. The one that died before is back."""
        node = self._a_busy_node(chance)
        if node is None:
            return None
        if self._off:
            self._below.switch_on(self._off)
        self._below.switch_off(node)
        shutil.rmtree(SCRATCH_PARENT / f"{self._disks}{node}", ignore_errors=True)
        self._off = node
        return node

    def _controller(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """What the engine is asked by does not answer for a while."""
        with self._silent():
            time.sleep(chance.uniform(0, AWAY_S))
        return "it is back"

    def _on_a_node(self, strike: Callable[[str], str | None]) -> Strike:
        def struck(_cluster: Cluster, chance: random.Random) -> str | None:
            node = self._a_busy_node(chance)
            return None if node is None else strike(node)

        return struck

    def _a_busy_node(self, chance: random.Random) -> str | None:
        """A node with a supervisor that lives."""
        busy = [node for node in self._below.nodes if supervisors_among(self._below.processes_on(node))]
        return chance.choice(busy) if busy else None
