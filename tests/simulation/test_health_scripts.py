"""Two hundred random scripts of signals: what is ill is taken out in time, and never more than may be."""

import pytest

from muster.core.health import Severity
from tests.simulation.health_scripts import Fleet

SCRIPTS = 200
AT_ONCE = 10


@pytest.mark.parametrize("first", range(0, SCRIPTS, AT_ONCE))
def test_what_is_ill_leaves_service_in_time_and_nothing_else_does(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        Fleet(seed).run()


def found(monkeypatch: pytest.MonkeyPatch, where: str, instead: object) -> bool:
    """True when one of the first scripts finds a planted bug."""
    monkeypatch.setattr(where, instead)
    for seed in range(20):
        try:
            Fleet(seed).run()
        except AssertionError:
            return True
    return False


def test_a_guard_that_allows_everything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, "muster.live.watching.health_watch.guarded", lambda wishes, *_: tuple(wishes))


def test_a_judgement_by_single_readings_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, "muster.core.health.tracks.Track._found", lambda track: track._levels[-1])


def test_bad_things_that_are_never_called_bad_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, "muster.core.health.tracks.Track._found", lambda _: Severity.SUSPECT)
