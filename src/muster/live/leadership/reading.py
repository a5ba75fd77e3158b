"""What readers need of a control plane, whether it leads or stands by."""

from concurrent.futures import Future
from enum import StrEnum
from typing import Protocol, TypeVar

from muster.engine.folding.state import State
from muster.live.inbox import Action
from muster.live.publishing.feed import Feed
from muster.live.publishing.history_keeper import HistoryKeeper
from muster.model.errors import Unavailable
from muster.views.view import View

T = TypeVar("T")


class ClusterRole(StrEnum):
    """What a control plane is for the others on its database."""

    LEADER = "leader"
    STANDBY = "standby"


class Readable(Protocol):
    """A control plane as the API sees it. Any thread may read."""

    @property
    def role(self) -> ClusterRole:
        """Whether it leads now."""
        ...

    @property
    def leader_url(self) -> str:
        """The address of the one that leads, if it is another; empty when it is not known."""
        ...

    @property
    def feed(self) -> Feed:
        """The latest events."""
        ...

    @property
    def history(self) -> HistoryKeeper:
        """What was used and wanted over time."""
        ...

    @property
    def view(self) -> View:
        """What is durable at present."""
        ...

    @property
    def state(self) -> State:
        """The folded state. Only for the thread that folds, and for tests."""
        ...

    @property
    def trouble(self) -> str:
        """Why nothing can be changed at present; empty when changes are possible."""
        ...

    @property
    def brief_trouble(self) -> str:
        """The same in a few words that are safe to show to anyone."""
        ...

    @property
    def silence(self) -> Unavailable | None:
        """The error to return while the store does not answer; None when it does."""
        ...

    @property
    def has_stopped(self) -> bool:
        """True when only a restart helps."""
        ...

    def ask(self, action: Action[T]) -> Future[T]:
        """Have a function called with the engine. Raises `NotLeading` on a standby."""
        ...
