"""A list of the cluster that is kept current by a watch, on a thread of its own.

    list ─▶ watch ── the server ends it, or the connection breaks ──▶ watch from the last version
     ▲        └── it does not know so old a version (410) ──┐
     └─────────────────────────────────────────────────────┘

What fails is tried again, at first soon and then less often. Whoever reads gets what was seen last, and hears when the
server has not answered the last try.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from muster.backends.allocations.engine import EngineSilent, RequestRefused
from muster.backends.kubernetes.api import KubernetesApi, VersionGone
from muster.model.node_limits import ENGINE_CALL_S

WATCH_S = 30
"""How long one watch lasts. A server that hangs is noticed when the next one is due."""

RETRY_LEAST_S = 0.1
RETRY_MOST_S = 5.0

PAGE = "500"
"""How many objects one answer to a list has, as in the server's own clients."""

REMEMBERED = 10_000
REMEMBERED_S = 120.0
"""Of how many objects that are gone, and for how long, it is remembered how they were last."""

_log = logging.getLogger("muster.kubernetes")


class Seen(Protocol):
    """What is kept of an object."""

    @property
    def uid(self) -> str:
        """Its own, even among objects that had its name."""
        ...

    @property
    def version(self) -> str:
        """Grows when it changes."""
        ...


T = TypeVar("T", bound=Seen)


class WatchedList(Generic[T]):
    """All objects that a path lists."""

    def __init__(
        self, api: KubernetesApi, path: str, read: Callable[[Mapping[str, Any]], T], selector: str = ""
    ) -> None:
        """`read` makes of an object what is kept of it."""
        self._api = api
        self._path = path
        self._read = read
        self._query = {"labelSelector": selector} if selector else {}
        self._changed = threading.Condition()
        self._objects: dict[str, T] = {}
        self._gone: dict[str, tuple[float, T]] = {}
        """With the time at which it was noticed, by a monotonic clock."""
        self._version = ""
        """From which to watch on; empty when everything has to be listed."""
        self._is_listed = False
        self._problem = ""
        """What the last try has met; empty when it went well."""
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None

    def all(self) -> tuple[T, ...]:
        """What there is. Waits for the first list. Raises `EngineSilent` when the server does not answer."""
        self._start()
        give_up_s = time.monotonic() + ENGINE_CALL_S
        with self._changed:
            while not (self._is_listed or self._problem):
                if not self._changed.wait(give_up_s - time.monotonic()):
                    raise EngineSilent(f"{self._path} has not been listed for {ENGINE_CALL_S:.0f} s")
            if self._problem:
                raise EngineSilent(self._problem)
            return tuple(self._objects.values())

    def gone(self) -> tuple[T, ...]:
        """Objects that went in the last minutes, as they were last."""
        with self._changed:
            since_s = time.monotonic() - REMEMBERED_S
            return tuple(seen for gone_s, seen in self._gone.values() if gone_s > since_s)

    def learn(self, body: Mapping[str, Any]) -> None:
        """An answer has shown an object that the watch may bring later."""
        seen = self._read(body)
        with self._changed:
            known = self._objects.get(seen.uid)
            is_old = known is not None and known.version != seen.version
            if seen.uid not in self._gone and not is_old:
                self._objects[seen.uid] = seen

    def close(self) -> None:
        """Watch no more. The thread ends when its present request does."""
        self._is_closed.set()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"watch{self._path}", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        pause_s = RETRY_LEAST_S
        while not self._is_closed.is_set():
            try:
                if not self._version:
                    self._list()
                self._note("")
                self._watch()
                pause_s = RETRY_LEAST_S
            except VersionGone:
                self._version = ""
            except (EngineSilent, RequestRefused) as silent:
                self._note(str(silent))
                self._is_closed.wait(pause_s)
                pause_s = min(2 * pause_s, RETRY_MOST_S)
            except Exception as error:  # noqa: BLE001 - an object that is not understood must not end the watch
                _log.exception("what the API server sends is not understood", extra={"path": self._path})
                self._version = ""
                self._note(f"what {self._path} has is not understood ({type(error).__name__}: {error})")
                self._is_closed.wait(RETRY_MOST_S)

    def _list(self) -> None:
        """List everything, page by page. What is missing now is gone."""
        found: dict[str, T] = {}
        answer = self._api.read(self._path, limit=PAGE, **self._query)
        while True:
            for body in answer["items"]:
                seen = self._read(body)
                found[seen.uid] = seen
            following = answer["metadata"].get("continue")
            if not following:
                break
            answer = self._api.read(self._path, **{"limit": PAGE, "continue": following}, **self._query)
        with self._changed:
            for uid, seen in self._objects.items():
                if uid not in found:
                    self._lose(uid, seen)
            self._objects, self._is_listed = found, True
            self._version = answer["metadata"]["resourceVersion"]

    def _watch(self) -> None:
        for change in self._api.watch(self._path, WATCH_S, resourceVersion=self._version, **self._query):
            body = change["object"]
            if change["type"] != "BOOKMARK":
                self._take(change["type"], self._read(body))
            self._version = body["metadata"]["resourceVersion"]
            if self._is_closed.is_set():
                return

    def _take(self, kind: str, seen: T) -> None:
        with self._changed:
            if kind == "DELETED":
                self._objects.pop(seen.uid, None)
                self._lose(seen.uid, seen)
            else:
                self._objects[seen.uid] = seen

    def _lose(self, uid: str, seen: T) -> None:
        self._gone[uid] = time.monotonic(), seen
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _note(self, problem: str) -> None:
        with self._changed:
            if problem != self._problem:
                self._problem = problem
                (_log.warning if problem else _log.info)(
                    problem or "the API server answers", extra={"path": self._path}
                )
            self._changed.notify_all()
