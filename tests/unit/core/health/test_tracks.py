"""Readings of one thing: when it becomes suspect or bad, and when it is well again."""

import pytest

from muster.core.health import LIMITS, Severity, Track
from muster.core.health.limits import limit_of
from tests.unit.core.health.builders import a_signal

CLEAR_MS = 60_000


def fed(name: str, *values: int, best: int = 0) -> Track:
    """A track after these readings, one every ten seconds."""
    track = Track(LIMITS[name])
    for turn, value in enumerate(values):
        track.take(a_signal(name, value, best=best), 10_000 * turn)
    return track


@pytest.mark.parametrize(
    ("name", "values", "severity"),
    [
        ("gpu_temperature", [87], Severity.WELL),
        ("gpu_temperature", [88], Severity.SUSPECT),
        ("gpu_temperature", [97, 97], Severity.SUSPECT),
        ("gpu_temperature", [97, 60, 97, 60, 97], Severity.BAD),
        ("gpu_temperature", [97, 60, 60, 60, 60, 60, 97, 97], Severity.SUSPECT),
        ("gpu_throttled", [1, 1], Severity.WELL),
        ("gpu_throttled", [1, 0, 1, 0, 1], Severity.SUSPECT),
        ("gpu_throttled", [1, 0] * 6, Severity.BAD),
        ("gpu_lost", [1], Severity.BAD),
        ("nic_down", [1, 0, 0, 1, 0, 0, 1], Severity.BAD),
        ("nic_down", [1], Severity.SUSPECT),
        ("disk_free", [6 << 30], Severity.WELL),
        ("disk_free", [4 << 30], Severity.SUSPECT),
        ("disk_free", [1 << 20] * 3, Severity.BAD),
        ("clock_offset", [-600] * 3, Severity.BAD),
    ],
)
def test_each_signal_has_its_limits(name: str, values: list[int], severity: Severity) -> None:
    assert fed(name, *values).severity is severity


@pytest.mark.parametrize(("speed", "severity"), [(95, Severity.WELL), (85, Severity.SUSPECT), (79, Severity.BAD)])
def test_a_link_is_compared_with_its_own_past(speed: int, severity: Severity) -> None:
    assert fed("nic_speed", speed, speed, speed, best=100).severity is severity
    assert fed("nic_speed", speed, speed, speed).severity is Severity.WELL


@pytest.mark.parametrize(
    ("name", "rise", "severity"),
    [
        ("gpu_ecc_corrected", 99, Severity.WELL),
        ("gpu_ecc_corrected", 100, Severity.SUSPECT),
        ("gpu_ecc_corrected", 1_000, Severity.BAD),
        ("gpu_ecc_uncorrected", 1, Severity.BAD),
        ("gpu_xid", 1, Severity.BAD),
        ("nic_errors", 10, Severity.SUSPECT),
        ("disk_errors", 10, Severity.BAD),
        ("memory_errors", 1, Severity.SUSPECT),
    ],
)
def test_counters_are_judged_by_their_rise(name: str, rise: int, severity: Severity) -> None:
    track = Track(LIMITS[name])
    track.take(a_signal(name, 10**9, rise=0), 0)
    assert track.severity is Severity.WELL
    track.take(a_signal(name, 10**9 + rise, rise=rise), 10_000)
    assert track.severity is severity


def test_it_comes_back_only_after_a_while_well_inside_the_limits() -> None:
    track = fed("gpu_temperature", 97, 97, 97)
    for turn in range(3, 20):
        track.take(a_signal(value=85), 10_000 * turn)  # inside the limits, but not well inside
        track.look(10_000 * turn, CLEAR_MS)
    assert track.severity is Severity.BAD
    found = []
    for turn in range(20, 27):
        track.take(a_signal(value=70), 10_000 * turn)
        track.look(10_000 * turn, CLEAR_MS)
        found.append(track.severity)
    assert found == [*(Severity.BAD for _ in range(6)), Severity.WELL]


def test_time_without_readings_says_nothing() -> None:
    track = fed("gpu_temperature", 97, 97, 97, 70)
    track.look(10**9, CLEAR_MS)
    assert track.severity is Severity.BAD


def test_what_is_not_measured_any_more_is_well_after_the_same_time() -> None:
    track = fed("gpu_temperature", 97, 97, 97)
    track.take(a_signal(value=97, is_gone=True), 30_000)
    for wait_ms, severity in ((CLEAR_MS - 1, Severity.BAD), (CLEAR_MS, Severity.WELL)):
        track.look(30_000 + wait_ms, CLEAR_MS)
        assert track.severity is severity


def test_custom_signals_decide_by_themselves() -> None:
    limit = limit_of(a_signal("custom.fabric", verdict="ok"))
    assert limit is not None
    track = Track(limit)
    for verdict, severity in (("ok", Severity.WELL), ("suspect", Severity.SUSPECT), ("bad", Severity.BAD)):
        track.take(a_signal("custom.fabric", verdict=verdict), 0)
        assert track.severity is severity
    assert track.message == "custom.fabric says bad"


def test_power_is_only_shown() -> None:
    assert limit_of(a_signal("gpu_power", 10_000)) is None


def test_only_something_new_is_new_evidence() -> None:
    track = fed("gpu_temperature", 97, 97, 97, 97)
    assert track.evidence_ms == 20_000
    counter = Track(LIMITS["gpu_xid"])
    counter.take(a_signal("gpu_xid", 1, rise=1), 10)
    counter.take(a_signal("gpu_xid", 1, rise=1), 20)
    assert counter.evidence_ms == 10
    counter.take(a_signal("gpu_xid", 2, rise=2), 30)
    assert counter.evidence_ms == 30


def test_what_was_so_before_the_control_plane_started_is_no_new_evidence_until_it_was_well() -> None:
    track = Track(LIMITS["gpu_lost"], is_known=True)
    track.take(a_signal("gpu_lost", 1), 10)
    assert (track.severity, track.evidence_ms) == (Severity.BAD, 0)
    for at_ms in (20, 20 + CLEAR_MS):
        track.take(a_signal("gpu_lost", 0), at_ms)
        track.look(at_ms, CLEAR_MS)
    track.take(a_signal("gpu_lost", 1), 10**6)
    assert track.evidence_ms == 10**6


def test_the_message_shows_what_was_wrong_and_where() -> None:
    track = Track(LIMITS["nic_down"])
    track.take(a_signal("nic_down", 1, nic="eth0"), 0)
    track.take(a_signal("nic_down", 0, nic="eth0"), 1)
    assert track.message == "eth0: down in 1 of 1 readings"
