"""When a supervisor acts by itself, because there may be no control plane to do it."""

from dataclasses import dataclass

from muster.model.node_limits import ABSENCE_MARGIN_MS


@dataclass(slots=True)
class Deadlines:
    """The deadlines of one worker, in milliseconds of any monotonic clock; None means never."""

    tell_ms: float | None = None
    kill_ms: float | None = None

    def limit(self, now_ms: float, max_duration_ms: int | None, grace_ms: int) -> None:
        """Let the worker run this much longer. It is told early enough to be gone `ABSENCE_MARGIN_MS` after that."""
        if max_duration_ms is None:
            self.tell_ms = self.kill_ms = None
            return
        grace_ms = min(grace_ms, max_duration_ms // 2)
        self.kill_ms = now_ms + max_duration_ms + ABSENCE_MARGIN_MS
        self.tell_ms = self.kill_ms - grace_ms

    def told(self, now_ms: float, grace_ms: int) -> None:
        """The worker was told to leave, and has this long."""
        by_ms = now_ms + grace_ms + ABSENCE_MARGIN_MS
        self.tell_ms = None
        self.kill_ms = by_ms if self.kill_ms is None else min(self.kill_ms, by_ms)

    def has_to_leave(self, now_ms: float) -> bool:
        """True when it is time to tell the worker to leave."""
        return self.tell_ms is not None and self.tell_ms <= now_ms

    def has_to_die(self, now_ms: float) -> bool:
        """True when the worker has used all the time that it was given."""
        return self.kill_ms is not None and self.kill_ms <= now_ms

    def next_ms(self, now_ms: float) -> float | None:
        """How long until the next deadline. A deadline that has passed is checked again after `ABSENCE_MARGIN_MS`."""
        moments = [moment for moment in (self.tell_ms, self.kill_ms) if moment is not None]
        if not moments:
            return None
        return min(moment - now_ms if moment > now_ms else ABSENCE_MARGIN_MS for moment in moments)
