"""How long steps take, over the last minutes. In synchronous training one rank speaks for all."""

from collections import deque

from muster.model.records import Record

WINDOW_MS = 5 * 60_000
"""How far back steps count."""

REPORTS = 400
"""Reports that are kept: one a second for the whole window, and some more."""

TAIL = 50
"""One step in so many of a report, and at least one, counts as long as the report's 99th percentile."""


class StepPercentiles(Record, frozen=True, kw_only=True):
    """Half of the steps took at most `p50_us`, and 99 of 100 at most `p99_us`."""

    p50_us: int
    p99_us: int


class StepTimes:
    """The step times that one rank reported."""

    def __init__(self) -> None:
        self._reports: deque[tuple[int, int, int, int]] = deque(maxlen=REPORTS)
        """When, how many steps, their median, and their 99th percentile."""

    def note(self, at_ms: int, steps: int, median_us: int, p99_us: int) -> None:
        """Some steps were made."""
        self._reports.append((at_ms, steps, median_us, max(p99_us, median_us)))
        while self._reports[0][0] < at_ms - WINDOW_MS:
            self._reports.popleft()

    def percentiles(self) -> StepPercentiles | None:
        """Over the window; None before the first step."""
        weighed: list[tuple[int, int]] = []
        for _, steps, median_us, p99_us in self._reports:
            tail = max(steps // TAIL, 1) if steps > 1 else 0
            weighed.append((median_us, steps - tail))
            weighed.append((p99_us, tail))
        weighed.sort()
        total = sum([steps for _, steps in weighed])
        if not total:
            return None
        return StepPercentiles(p50_us=_at(weighed, (total - 1) // 2), p99_us=_at(weighed, (99 * total - 1) // 100))


def _at(weighed: list[tuple[int, int]], place: int) -> int:
    """The value at a place of the ordered steps."""
    found = 0
    for value, steps in weighed:
        if place < 0:
            break
        place, found = place - steps, value if steps else found
    return found
