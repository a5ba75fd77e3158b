"""How often nodes are pinged, and after how long a silent control plane counts as away."""

import pytest

from muster.model.node_limits import (
    CONTROL_PING_MS,
    CONTROL_SILENCE_MS,
    PING_MOST_MS,
    PINGS_MISSED,
    PINGS_PER_S,
    control_silence_ms,
    ping_ms,
)


@pytest.mark.parametrize("nodes", [1, 10, 750, 2_000, 4_000, 100_000])
def test_a_fleet_costs_no_more_pings_than_it_may_and_misses_several_before_it_acts_alone(nodes: int) -> None:
    every_ms = ping_ms(nodes)
    assert CONTROL_PING_MS <= every_ms <= PING_MOST_MS
    assert nodes * 1000 / every_ms <= PINGS_PER_S * 1.001 or every_ms in (PING_MOST_MS, CONTROL_PING_MS)
    assert control_silence_ms(every_ms) >= max(CONTROL_SILENCE_MS, PINGS_MISSED * every_ms)


def test_a_few_nodes_are_pinged_as_often_as_ever() -> None:
    assert ping_ms(4) == CONTROL_PING_MS
    assert control_silence_ms(CONTROL_PING_MS) == control_silence_ms(0) == CONTROL_SILENCE_MS


def test_what_a_peer_says_of_its_pings_is_bounded() -> None:
    assert control_silence_ms(10**9) == PINGS_MISSED * PING_MOST_MS
