"""What the audit keeps of requests that were refused: the first at once, and how many more there were.

Somebody who is refused ten thousand times in a minute makes two entries, not ten thousand. Where too many are being
counted, what is refused to others is summed up in the engine's own name: an entry never names who did not do it.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from muster.access.audit_entries import entry
from muster.access.principal import Principal
from muster.formats.text.units import time_text
from muster.live.control_plane import ControlPlane
from muster.model.audit import AuditEntry
from muster.model.client_limits import DENIALS_REMEMBERED, DENIALS_S
from muster.model.errors import Unavailable
from muster.model.events import ENGINE

_log = logging.getLogger("muster.api")

Key = tuple[str, str]
OTHERS: Key = ("", "")
"""Where denials are counted when too many pairs of token and action are being counted already."""
OTHERS_ACTION = "denials.others"


@dataclass(slots=True)
class _Counted:
    """Denials of one token for one action, or of all others."""

    principal: Principal | None
    """None when they were denied to several."""
    action: str
    first_ms: int
    last_ms: int
    subject: str
    """Of the last."""
    times: int = 1


class Denials:
    """Counts on the event loop; entries are written by the writer like all others."""

    def __init__(self, control: ControlPlane, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms
        self._counted: dict[Key, _Counted] = {}

    async def note(self, principal: Principal, action: str, subject: str) -> None:
        """Have it written that somebody was refused a change, unless the like was written a moment ago."""
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
        """Write what was counted so far."""
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
