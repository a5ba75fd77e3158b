"""What adapters of engines have in common: a name, settings, and the way in which agents come to nodes.

An engine that knows better says so: that it runs images, that its posts have addresses of their own, what is open.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationId
from muster.model.ids import EngineName, NodeName


class NamedSettings(Protocol):
    """How a part of an engine is used."""

    @property
    def name(self) -> EngineName:
        """What nodes call it."""
        ...


Settings = TypeVar("Settings", bound=NamedSettings)


class EngineAdapter(Generic[Settings]):
    """The part of an `AllocationEngine` that is the same for most."""

    def __init__(self, settings: Settings, arrival: Callable[[], AgentDelivery]) -> None:
        self._settings = settings
        self._arrival = arrival

    @property
    def name(self) -> EngineName:
        """What nodes call it."""
        return self._settings.name

    @property
    def runs_images(self) -> bool:
        """False: jobs run on the nodes as they are, or in a container runtime that nodes have."""
        return False

    def address(self, allocation: AllocationId, node: NodeName) -> str:  # noqa: ARG002 - as in the port
        """Empty: a post is reached where its node is."""
        return ""

    def close(self) -> None:
        """Nothing is open between calls."""
