"""What a control plane tells nodes to do besides jobs: what they measure, and how they run containers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from muster.backends.local.link import Link
from muster.model.ids import EngineName
from muster.worker.containers.settings import ContainerSettings
from muster.worker.probes.prober import ProbeSettings
from muster.worker.service import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """The settings of all nodes."""

    probes: ProbeSettings | None = None
    """What nodes measure; None when they measure nothing."""
    containers: ContainerSettings = ContainerSettings()
    of_engines: Mapping[EngineName, ContainerSettings] = field(default_factory=dict)
    """How the nodes of an engine run containers, if otherwise than all others."""

    def say(self, link: Link, hello: Message) -> None:
        """Tell a node that has greeted, as far as it knows these settings.

        An agent in an allocation is there for one gang: what its node measures and runs is the engine's.
        """
        if not link.is_standing:
            return
        if self.probes is not None and hello.get("probes"):
            link.say({"probes": {**asdict(self.probes), "gpus": link.node.gpus}})
        if hello.get("containers"):
            link.say({"containers": asdict(self.of_engines.get(link.node.engine, self.containers))})


EVERYDAY = NodeSettings()
"""Nothing is measured, and images run with the first runtime that a node finds."""
