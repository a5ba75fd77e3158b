"""Spot nodes that are taken away, with and without notice."""

from muster.estimates.training import Habits
from muster.model.ids import PoolName
from muster.model.policy import HOUR_MS, MINUTE_MS, Pool
from muster.sim.faults import FaultRates
from muster.sim.outcome import Replay
from tests.builders import a_cluster, a_node
from tests.unit.sim.builders import S, a_trace_job, replayed

POOLS = (Pool(name=PoolName("spot"), spot=True),)


def reclaimed(notice_ms: int, *, habits: Habits | None = None, can_resume: bool = True) -> Replay:
    """Jobs of two hours on nodes that are taken away every three."""
    nodes = [a_node(f"n{place}", gpus=8, pool="spot" if place < 3 else "main") for place in range(4)]
    return replayed(
        [a_trace_job(f"j{place}", 0, 7200, gpus=8) for place in range(20)],
        a_cluster(*nodes),
        faults=FaultRates(spot=3 * HOUR_MS, notice=notice_ms, repair=MINUTE_MS),
        pools=POOLS,
        habits=habits,
        can_resume=can_resume,
    )


def lost_s(made: Replay) -> float:
    return sum(outcome.lost_gpu_ms for outcome in made.outcomes) / S


def interruptions(made: Replay) -> int:
    return sum(outcome.faults for outcome in made.outcomes)


def test_with_notice_nothing_is_lost_and_without_what_came_after_the_last_save_is() -> None:
    unwarned, short, long = (reclaimed(notice_ms) for notice_ms in (0, 2 * MINUTE_MS, 10 * MINUTE_MS))
    assert lost_s(short) == lost_s(long) == 0
    assert interruptions(short) > 5
    assert 0 < lost_s(unwarned) <= interruptions(unwarned) * 8 * 1800


def test_a_last_save_takes_its_time_and_a_shorter_notice_is_of_no_use() -> None:
    slow_saves = Habits(save_cost_ms=3 * MINUTE_MS, save_every_ms=HOUR_MS)
    assert lost_s(reclaimed(2 * MINUTE_MS, habits=slow_saves)) > 0
    in_time = reclaimed(5 * MINUTE_MS, habits=slow_saves)
    assert lost_s(in_time) == 0
    for outcome in in_time.outcomes:
        occupied_ms = sum(stint.end_ms - stint.start_ms for stint in outcome.stints)
        assert outcome.useful_gpu_ms == 8 * 7200 * S
        assert outcome.saving_gpu_ms == 8 * (occupied_ms - 7200 * S)


def test_jobs_that_never_save_themselves_keep_off_spot_nodes() -> None:
    made = reclaimed(10 * MINUTE_MS, can_resume=False)
    assert {node for outcome in made.outcomes for stint in outcome.stints for node in stint.nodes} == {"n3"}
