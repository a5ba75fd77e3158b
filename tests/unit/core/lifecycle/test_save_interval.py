"""How often a job saves itself."""

from math import sqrt

import pytest

from muster.core.lifecycle.save_interval import (
    COPY_PAUSE_MS,
    FailureRecord,
    SaveTime,
    best_interval_ms,
    gang_mtbf_ms,
    pause_ms,
    save_interval_ms,
)
from muster.model.limits import (
    CHECKPOINT_ASKED_MIN_MS,
    CHECKPOINT_EVERY_MAX_MS,
    CHECKPOINT_EVERY_MIN_MS,
    CHECKPOINT_EVERY_MS,
    NODE_MTBF_MS,
)
from muster.model.spec import CheckpointSpec

SECOND_MS, HOUR_MS = 1_000, 3_600_000


@pytest.mark.parametrize(("cost_s", "mtbf_h"), [(10, 24), (60, 24), (60, 3), (300, 2)])
def test_the_best_interval_is_dalys(cost_s: int, mtbf_h: int) -> None:
    cost, mtbf = cost_s * SECOND_MS, mtbf_h * HOUR_MS
    ratio = cost / (2 * mtbf)
    daly = sqrt(2 * cost * mtbf) * (1 + sqrt(ratio) / 3 + ratio / 9) - cost
    assert abs(best_interval_ms(cost_ms=cost, mtbf_ms=mtbf) - daly) < 3


def test_the_best_interval_stays_within_its_limits() -> None:
    assert best_interval_ms(cost_ms=0, mtbf_ms=HOUR_MS) == CHECKPOINT_EVERY_MIN_MS
    assert best_interval_ms(cost_ms=HOUR_MS, mtbf_ms=10**12) == CHECKPOINT_EVERY_MAX_MS
    assert best_interval_ms(cost_ms=10 * HOUR_MS, mtbf_ms=HOUR_MS) == HOUR_MS


def test_more_nodes_and_more_failures_mean_less_time_between_them() -> None:
    assert gang_mtbf_ms(nodes=1, record=FailureRecord()) == NODE_MTBF_MS
    assert gang_mtbf_ms(nodes=100, record=FailureRecord()) == NODE_MTBF_MS // 100
    worse = FailureRecord(failures=9, node_ms=0)
    assert gang_mtbf_ms(nodes=1, record=worse) == NODE_MTBF_MS // 10
    assert gang_mtbf_ms(nodes=0, record=FailureRecord(node_ms=NODE_MTBF_MS)) == 2 * NODE_MTBF_MS


def test_what_the_job_asks_for_comes_before_what_is_best() -> None:
    spec = CheckpointSpec(path="x", every_ms=HOUR_MS)
    assert save_interval_ms(spec, cost_ms=1, nodes=1, record=FailureRecord()) == HOUR_MS
    hasty = CheckpointSpec(path="x", every_ms=1)
    assert save_interval_ms(hasty, cost_ms=1, nodes=1, record=FailureRecord()) == CHECKPOINT_ASKED_MIN_MS
    auto = CheckpointSpec(path="x")
    assert save_interval_ms(auto, cost_ms=None, nodes=1, record=FailureRecord()) == CHECKPOINT_EVERY_MS
    tuned = save_interval_ms(auto, cost_ms=10_000, nodes=2, record=FailureRecord())
    assert tuned == best_interval_ms(cost_ms=10_000, mtbf_ms=NODE_MTBF_MS // 2)


def test_saves_begin_earlier_by_twice_the_time_that_one_takes_to_be_safe() -> None:
    assert pause_ms(10_000, safe_ms=0, took_ms=0) == 10_000
    assert pause_ms(10_000, safe_ms=2_000, took_ms=2_000) == 6_000
    assert pause_ms(10_000, safe_ms=5_000, took_ms=5_000) == 5_000


def test_saves_that_take_long_are_not_made_all_the_time() -> None:
    assert pause_ms(10_000, safe_ms=7_000, took_ms=4_000) == 5_000
    assert pause_ms(10_000, safe_ms=8_000, took_ms=8_000) == 11_000
    assert pause_ms(10_000, safe_ms=60_000, took_ms=60_000) == 115_000


def test_a_gang_on_several_nodes_is_safe_once_a_neighbour_has_a_copy() -> None:
    time = SaveTime(cost_ms=300, took_ms=1_000)
    assert time.safe_ms(nodes=1) == 1_000
    assert time.safe_ms(nodes=2) == 1_000 + 700 + COPY_PAUSE_MS
