"""Ranks that agree on a step save or leave there together, whatever is late, lost, restarted or finished."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.backends.agreement import TRIES, Announce, Decide, GiveUp
from muster.train.board import LEAVE, SAVE
from tests.property.gangs import Faults, SimulatedGang

STEP_MS = st.sampled_from([0.5, 5, 50, 300, 1_000, 3_000])
CALM = st.builds(
    Faults,
    delay_ms=st.sampled_from([1, 20, 100]),
    step_ms=STEP_MS,
    jitter=st.sampled_from([0.0, 0.2, 0.9]),
)
ROUGH = st.builds(
    Faults,
    delay_ms=st.sampled_from([1, 50, 400, 3_000]),
    lost=st.sampled_from([0.0, 0.1, 0.5]),
    step_ms=STEP_MS,
    jitter=st.sampled_from([0.0, 0.9]),
    restarts=st.integers(0, 4).map(int),
    hangs=st.booleans(),
    last_step=st.sampled_from([3, 40, 1_000_000]),
)

SLOW = st.builds(
    Faults,
    delay_ms=st.sampled_from([1, 100, 400]),
    lost=st.sampled_from([0.0, 0.2]),
    decisions_arrive=st.just(True),
    step_ms=STEP_MS,
    jitter=st.sampled_from([0.0, 0.9]),
    last_step=st.sampled_from([3, 40, 1_000_000]),
)


def a_troubled_gang(seed: int, ranks: int, nodes: int, faults: Faults) -> SimulatedGang:
    random = Random(seed)
    gang = SimulatedGang(random, ranks, nodes, faults)
    for _ in range(faults.restarts):
        gang.restart(random.random() * 20_000, random.randrange(ranks))
    if faults.hangs:
        gang.hang(random.random() * 20_000, random.randrange(ranks))
    for _ in range(random.randrange(5)):
        gang.wish(random.random() * 20_000, SAVE, random.choice([0, 1_000, 60_000]))
    gang.wish(random.random() * 20_000, LEAVE, 15_000)
    return gang


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 6), nodes=st.integers(1, 3), faults=ROUGH)
def test_no_two_ranks_act_on_an_announcement_at_different_steps(
    seed: int, ranks: int, nodes: int, faults: Faults
) -> None:
    gang = a_troubled_gang(seed, ranks, nodes, faults)
    gang.run(80_000 if faults.step_ms > 1 else 30_000)
    announced = {each.number: each for each in gang.actions if isinstance(each, Announce)}
    kept = {each.number for each in gang.actions if isinstance(each, Decide) and each.is_kept}
    assert all(number in kept and announced[number].step == step for _, number, _, step in gang.acted)
    assert len({number for _, number, kind, _ in gang.acted if kind == LEAVE}) <= 1


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 6), nodes=st.integers(1, 3), faults=ROUGH)
def test_every_wish_comes_to_an_end(seed: int, ranks: int, nodes: int, faults: Faults) -> None:
    gang = a_troubled_gang(seed, ranks, nodes, faults)
    gang.run(80_000 if faults.step_ms > 1 else 60_000)
    assert not gang.agreement.is_busy
    announcements = [each for each in gang.actions if isinstance(each, Announce)]
    decisions = [each.number for each in gang.actions if isinstance(each, Decide)]
    assert [each.number for each in announcements] == decisions
    assert len(announcements) <= 5 * TRIES
    is_given_up = any(isinstance(each, GiveUp) for each in gang.actions)
    assert gang.agreement.is_leaving is not is_given_up


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 6), nodes=st.integers(1, 3), faults=SLOW)
def test_as_long_as_decisions_arrive_all_ranks_act_on_an_announcement_or_none(
    seed: int, ranks: int, nodes: int, faults: Faults
) -> None:
    gang = a_troubled_gang(seed, ranks, nodes, faults)
    gang.run(80_000 if faults.step_ms > 1 else 30_000)
    highest = min(each.step for each in gang.ranks)
    by_number: dict[int, dict[int, int]] = {}
    for rank, number, _, step in gang.acted:
        by_number.setdefault(number, {})[rank] = step
    for acted in by_number.values():
        assert sorted(acted) == list(range(ranks)) or max(acted.values()) > highest


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), ranks=st.integers(1, 6), nodes=st.integers(1, 3), faults=CALM)
def test_without_faults_all_ranks_save_together_and_leave_together(
    seed: int, ranks: int, nodes: int, faults: Faults
) -> None:
    gang = SimulatedGang(Random(seed), ranks, nodes, faults)
    gang.wish(5_000, SAVE, 600_000)
    gang.wish(5_000 + seed % 9_000, LEAVE, 60_000)
    gang.run(60_000 if faults.step_ms > 1 else 25_000)
    by_number: dict[int, list[tuple[int, int]]] = {}
    for rank, number, kind, _ in gang.acted:
        by_number.setdefault(number, []).append((rank, kind))
    for acted in by_number.values():
        assert sorted(rank for rank, _ in acted) == list(range(ranks))
    assert all(each.has_left for each in gang.ranks)
