"""What the audit keeps of refused requests: the first at once, and later how many more there were.

A caller that is refused ten thousand times in a minute makes two entries, not ten thousand. When too many callers and
actions are being counted, all further denials are summed up in one entry in the name of the engine, so that an entry
never names a caller that did not do it.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from muster.access.audit_entries import entry
from muster.access.principal import Principal
from muster.formats.text.units import time_text
from muster.live.leadership.reading import Readable
from muster.model.audit import AuditEntry
from muster.model.client_limits import DENIALS_REMEMBERED, DENIALS_S
from muster.model.errors import Unavailable
from muster.model.events import ENGINE

_log = logging.getLogger("muster.api")

Key = tuple[str, str]
OTHERS: Key = ("", "")
"""The key for all further denials when too many pairs of token and action are already being counted."""
OTHERS_ACTION = "denials.others"


@dataclass(slots=True)
class _Counted:
    """Denials of one token for one action, or all further denials together."""

    principal: Principal | None
    """None when several callers were denied."""
    action: str
    first_ms: int
    last_ms: int
    subject: str
    """The subject of the last denial."""
    times: int = 1


class Denials:
    """Counts denials on the event loop. The writer writes their entries, like all other entries."""

    def __init__(self, control: Readable, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms
        self._counted: dict[Key, _Counted] = {}

    async def note(self, principal: Principal, action: str, subject: str) -> None:
        """Write that a caller was refused a change, or only count it if the same was written a moment ago."""
        now_ms = self._now_ms()
        key: Key = (principal.token, action)
        fresh = _Counted(principal, action, now_ms, now_ms, subject)
        if key not in self._counted and len(self._counted) >= DENIALS_REMEMBERED:
            key, fresh = OTHERS, _Counted(None, OTHERS_ACTION, now_ms, now_ms, "others")
        counted = self._counted.get(key)
        if counted is not None:
            counted.times += 1
            counted.last_ms, counted.subject = now_ms, fresh.subject
            return
        self._counted[key] = fresh
        asyncio.get_running_loop().call_later(DENIALS_S, self._settle, key)
        await self._written(lambda at_ms: _told(fresh, at_ms))

    def close(self) -> None:
        """Write the denials that were counted so far."""
        for key in list(self._counted):
            self._settle(key)

    def _settle(self, key: Key) -> None:
        counted = self._counted.pop(key, None)
        if counted is None or counted.times == 1:
            return
        told = {
            "times": str(counted.times),
            "first": time_text(counted.first_ms),
            "last": time_text(counted.last_ms),
        }
        self._ask(lambda at_ms: _told(counted, at_ms, **told))

    async def _written(self, made: Callable[[int], AuditEntry]) -> None:
        answer = self._ask(made)
        if answer is not None:
            try:
                await asyncio.wrap_future(answer)
            except Unavailable:
                _log.warning("a denial could not be written down")

    def _ask(self, made: Callable[[int], AuditEntry]) -> Future[None] | None:
        try:
            return self._control.ask(lambda engine, now_ms: engine.audit(made(now_ms)))
        except Unavailable:
            _log.warning("a denial could not be written down")
            return None


def _told(counted: _Counted, at_ms: int, **more: str) -> AuditEntry:
    if counted.principal is not None:
        return entry(counted.principal, at_ms, counted.action, counted.subject, outcome="denied", **more)
    return AuditEntry(
        at_ms=at_ms,
        by=ENGINE,
        action=counted.action,
        subject=counted.subject,
        detail=(("outcome", "denied"), *more.items()),
        reason="too much is being refused to name everybody who asks",
    )
