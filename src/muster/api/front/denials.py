"""What the audit keeps of requests that were refused: the first at once, and how many more there were.

Somebody who is refused ten thousand times in a minute makes two entries, not ten thousand.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from muster.access.principal import Principal
from muster.api.entries import entry
from muster.formats.units import time_text
from muster.live.control_plane import ControlPlane
from muster.model.audit import AuditEntry
from muster.model.client_limits import DENIALS_REMEMBERED, DENIALS_S
from muster.model.errors import Unavailable

_log = logging.getLogger("muster.api")

Key = tuple[str, str]
OTHERS: Key = ("", "")
"""Where denials are counted when too many pairs of token and action are being counted already."""


@dataclass(slots=True)
class _Counted:
    """Denials of one token for one action."""

    principal: Principal
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
        key: Key = (principal.token, action)
        if key not in self._counted and len(self._counted) >= DENIALS_REMEMBERED:
            key = OTHERS
        now_ms = self._now_ms()
        counted = self._counted.get(key)
        if counted is not None:
            counted.times += 1
            counted.last_ms, counted.subject = now_ms, subject
            return
        self._counted[key] = _Counted(principal, action, now_ms, now_ms, subject)
        asyncio.get_running_loop().call_later(DENIALS_S, self._settle, key)
        await self._written(lambda at_ms: entry(principal, at_ms, action, subject, outcome="denied"))

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
        self._ask(
            lambda at_ms: entry(counted.principal, at_ms, counted.action, counted.subject, outcome="denied", **told)
        )

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
