"""By how much counters rose lately."""

from pathlib import Path

import pytest

from muster.model.ids import NodeName
from muster.model.node_limits import COUNTER_WINDOW_MS
from muster.model.telemetry import Signal
from muster.worker.probes.counters import FILE, Counters


def a_signal(name: str, value: int, at_ms: int = 0) -> Signal:
    return Signal(node=NodeName("n1"), at_ms=at_ms, signal=name, value=value, gpu=0)


def test_a_rise_is_forgotten_after_a_while(tmp_path: Path) -> None:
    counters = Counters(tmp_path)
    rises = [
        counters.complete(a_signal("nic_errors", value, at_ms), is_first_run=True).rise
        for value, at_ms in ((100, 0), (105, 1_000), (106, 2_000), (106, 1_000 + COUNTER_WINDOW_MS))
    ]
    assert rises == [0, 5, 6, 1]


@pytest.mark.parametrize(
    ("name", "is_first_run", "rise"),
    [("nic_errors", True, 0), ("nic_errors", False, 7), ("gpu_xid", True, 7), ("gpu_xid", False, 7)],
)
def test_what_a_counter_shows_first_counts_if_it_should_be_zero_or_is_new(
    tmp_path: Path, name: str, is_first_run: bool, rise: int
) -> None:
    assert Counters(tmp_path).complete(a_signal(name, 7), is_first_run=is_first_run).rise == rise


def test_a_counter_that_was_reset_counts_from_zero(tmp_path: Path) -> None:
    counters = Counters(tmp_path)
    for value, rise in ((9, 9), (2, 11)):
        assert counters.complete(a_signal("gpu_xid", value)).rise == rise


def test_the_next_supervisor_knows_what_counters_showed_and_how_fast_a_link_was(tmp_path: Path) -> None:
    first = Counters(tmp_path)
    first.complete(a_signal("gpu_xid", 3))
    first.complete(a_signal("nic_speed", 100_000))
    first.save()
    second = Counters(tmp_path)
    assert second.complete(a_signal("gpu_xid", 3), is_first_run=True).rise == 0
    assert second.complete(a_signal("nic_speed", 10_000)).best == 100_000


@pytest.mark.parametrize("text", ["", "[]", '{"gpu_xid 0 ": "many"}'])
def test_a_damaged_file_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert Counters(tmp_path).complete(a_signal("gpu_xid", 3)).rise == 3


def test_other_signals_are_left_alone(tmp_path: Path) -> None:
    for name in ("gpu_temperature", "custom.x"):
        assert Counters(tmp_path).complete(a_signal(name, 3)) == a_signal(name, 3)
    Counters(tmp_path / "missing").save()
