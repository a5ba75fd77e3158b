"""The monitor passes measured values on, and hands verdicts over."""

from collections.abc import Sequence

from muster.live.publishing.publisher import NOTHING
from muster.live.watching.monitor import Monitor
from muster.model.errors import Unavailable
from muster.model.events import HangOver, ObservedEvent
from muster.model.ids import JobId, NodeName
from muster.model.telemetry import Signal, Telemetry
from muster.views.view import View

VERDICT = HangOver(at_ms=1, job=JobId("job-1"), attempt=1)
MEASURED = Signal(node=NodeName("n1"), at_ms=1, signal="gpu_temperature", value=60)
CONCLUDED = Signal(node=NodeName("n1"), at_ms=1, signal="custom.straggler", value=1300)


class Seeing:
    """A watch that notes what it is given, and says what a test tells it to."""

    def __init__(self, *says: ObservedEvent | Telemetry, fails: bool = False) -> None:
        self.given: list[Telemetry] = []
        self._says = list(says)
        self._fails = fails

    def take(self, value: Telemetry) -> None:
        self.given.append(value)

    def look(self, view: View, now_ms: int) -> Sequence[ObservedEvent | Telemetry]:  # noqa: ARG002
        if self._fails:
            raise ValueError("a bug")
        said, self._says = self._says, []
        return said


def monitor(
    *watches: Seeing, measured: Sequence[Telemetry] = (), report: object = None
) -> tuple[Monitor, list[object]]:
    reported: list[object] = []

    def note(verdicts: Sequence[ObservedEvent]) -> None:
        if isinstance(report, Unavailable):
            raise report
        reported.extend(verdicts)

    waiting = [tuple(measured)]
    made = Monitor(
        watches,
        measured=lambda: waiting.pop() if waiting else (),
        view=lambda: NOTHING,
        now_ms=lambda: 7,
        report=note,
    )
    return made, reported


def test_every_watch_gets_every_value_and_verdicts_are_reported() -> None:
    first, second = Seeing(VERDICT), Seeing()
    looking, reported = monitor(first, second, measured=(MEASURED,))
    looking.look()
    assert (first.given, second.given, reported) == ([MEASURED], [MEASURED], [VERDICT])


def test_what_one_watch_concludes_about_a_node_is_given_to_all_at_the_next_look() -> None:
    first, second = Seeing(CONCLUDED), Seeing()
    looking, reported = monitor(first, second)
    looking.look()
    assert (first.given, second.given) == ([], [])
    looking.look()
    looking.look()
    assert (first.given, second.given, reported) == ([CONCLUDED], [CONCLUDED], [])


def test_a_watch_that_fails_does_not_keep_the_others_from_looking() -> None:
    looking, reported = monitor(Seeing(fails=True), Seeing(VERDICT))
    looking.look()
    assert reported == [VERDICT]


def test_verdicts_that_cannot_be_written_now_are_let_go() -> None:
    looking, reported = monitor(Seeing(VERDICT), report=Unavailable("the disk is full"))
    looking.look()
    assert reported == []
