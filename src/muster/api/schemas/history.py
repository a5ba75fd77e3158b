"""Which part of the history to show."""

from enum import StrEnum

from pydantic import Field

from muster.api.rendering.times import moment_ms
from muster.api.schemas.base import Schema
from muster.api.schemas.jobs import Moment
from muster.model.policy import DAY_MS
from muster.views.history import HISTORY_KEPT, HISTORY_STEPS_MS


class Step(StrEnum):
    """How finely."""

    MINUTE = "1m"
    TEN_MINUTES = "10m"
    HOUR = "1h"
    DAY = "1d"


_STEPS_MS = dict(zip(Step, HISTORY_STEPS_MS, strict=True))


class HistorySpan(Schema):
    """Since when, and how finely."""

    since: Moment | None = Field(default=None, description="A day ago, unless it is given.")
    step: Step | None = Field(
        default=None,
        description="Minutes are kept for twelve hours, ten minutes for eight days, hours for two months, days for four"
        " years. Unless it is given: the finest that reaches back to `since`.",
    )

    def since_ms(self, now_ms: int) -> int:
        """`since` as the engine counts time."""
        return now_ms - DAY_MS if self.since is None else moment_ms(self.since)

    def step_ms(self, now_ms: int) -> int:
        """The step as the engine counts time."""
        if self.step is not None:
            return _STEPS_MS[self.step]
        since_ms = self.since_ms(now_ms)
        steps = zip(HISTORY_STEPS_MS, HISTORY_KEPT, strict=True)
        return next((step for step, kept in steps if now_ms - step * kept <= since_ms), HISTORY_STEPS_MS[-1])
