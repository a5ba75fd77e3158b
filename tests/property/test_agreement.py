"""Ranks that agree on a step save or leave there together, whatever is late, lost, restarted or finished."""

from itertools import pairwise
from random import Random

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muster.backends.agreement import TRIES
from muster.backends.agreement_terms import Announce, Decide, GiveUp
from muster.backends.save_pace import REPORT_MS, SAVES_REMEMBERED
from muster.core.lifecycle.save_interval import FIRST_SAVE_MS, LONGER_TIMES, SaveTime, pause_ms
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


@settings(max_examples=60, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 2**32),
    ranks=st.integers(1, 3),
    every_ms=st.sampled_from([5_000, 20_000]),
    part=st.floats(0, 0.5),
    cost_part=st.floats(0, 1),
    step_ms=st.sampled_from([5, 50, 300]),
)
def test_the_work_since_a_save_is_safe_within_one_interval_while_a_save_takes_less_than_half_of_it(
    seed: int, ranks: int, every_ms: int, part: float, cost_part: float, step_ms: float
) -> None:
    time = a_save_within(part * every_ms - 2 * REPORT_MS, cost_part, ranks)
    faults = Faults(delay_ms=20, step_ms=step_ms, jitter=0.5 if ranks == 1 else 0.0, save=lambda _: time)
    gang = SimulatedGang(Random(seed), ranks, ranks, faults)
    gang.wish(5_000, SAVE, every_ms)
    gang.run(5_000 + 8 * every_ms)
    for rank in range(ranks):
        # The first save is measured. From then on it is known how long one takes.
        _, *saves = [each for each in gang.saves if each.rank == rank]
        assert len(saves) >= 7
        for one, other in pairwise(saves):
            assert other.safe_ms - one.begun_ms <= every_ms
            # They keep half an interval apart, as far as a few steps of uneven length can be foreseen.
            assert other.begun_ms - one.begun_ms >= every_ms * 0.5 - max(every_ms * 0.1, 4 * step_ms)


@settings(max_examples=80, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 2**32),
    ranks=st.integers(1, 4),
    pace=st.sampled_from([(5_000, 5), (5_000, 50), (5_000, 300), (20_000, 50), (120_000, 300)]),
    restore_ms=st.sampled_from([0, 1_900, 9_000]),
    part=st.floats(0.02, 0.5),
)
def test_a_kill_at_any_moment_of_an_attempt_costs_no_more_work_than_an_interval(
    seed: int, ranks: int, pace: tuple[int, float], restore_ms: float, part: float
) -> None:
    """Saves take any time up to twice as long as the longest of the four before, and up to half of the interval."""
    (every_ms, step_ms), random = pace, Random(seed)
    times = SaveTimes(random, part * every_ms - 2 * REPORT_MS, ranks)
    faults = Faults(
        delay_ms=20, step_ms=step_ms, jitter=0.2 if ranks == 1 else 0.0, restore_ms=restore_ms, resumed=500, save=times
    )
    gang = SimulatedGang(random, ranks, ranks, faults)
    # As `first_ask_ms` asks an attempt of a job of which no save was measured.
    gang.wish(pause_ms(every_ms, safe_ms=FIRST_SAVE_MS, took_ms=0), SAVE, every_ms)
    gang.run(restore_ms + 8 * every_ms)
    for rank in range(ranks):
        saves = [each for each in gang.saves if each.rank == rank]
        assert len(saves) >= 8
        since_ms = [restore_ms, *(each.begun_ms for each in saves)]
        # The most is lost by a kill just before a save is safe.
        assert all(save.safe_ms - one_ms <= every_ms for one_ms, save in zip(since_ms, saves, strict=False))


class SaveTimes:
    """How long saves take: of all ranks alike, and no more than twice as long as the longest of the four before."""

    def __init__(self, random: Random, limit_ms: float, nodes: int) -> None:
        self._random = random
        self._longest = a_save_within(limit_ms, 0.2, nodes).took_ms
        self._known: dict[int, SaveTime] = {}

    def __call__(self, step: int) -> SaveTime:
        if step not in self._known:
            last = [each.took_ms for each in self._known.values()][-SAVES_REMEMBERED:]
            took_ms = self._random.randint(1, min(self._longest, LONGER_TIMES * max(last, default=self._longest)))
            self._known[step] = SaveTime(took_ms=took_ms, cost_ms=took_ms // 5)
        return self._known[step]


@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 2**32),
    took_ms=st.sampled_from([100, 1_000, 6_000, 30_000, 90_000]),
    faster=st.sampled_from([1, 3]),
)
def test_saves_keep_half_an_interval_and_their_own_duration_apart(seed: int, took_ms: int, faster: int) -> None:
    time = SaveTime(took_ms=took_ms, cost_ms=20)
    every_ms, faults = 20_000, Faults(delay_ms=20, step_ms=60, save=lambda _: time)
    gang = SimulatedGang(Random(seed), 1, 1, faults)
    gang.wish(5_000, SAVE, every_ms)
    gang.after(6_000, lambda: setattr(faults, "step_ms", 60 / faster))
    gang.run(5_000 + 6 * every_ms + 10 * took_ms)
    # Those before it is known how long a save takes, and how fast steps are, may be closer together.
    late = [each for each in gang.saves if each.begun_ms >= 5_000 + every_ms + took_ms]
    assert len(late) > 2
    assert all(other.begun_ms - one.begun_ms > max(every_ms * 0.4, took_ms) for one, other in pairwise(late))


def a_save_within(safe_ms: float, cost_part: float, nodes: int) -> SaveTime:
    """A save that is safe after so long, as far as there is time for a copy."""
    for took_ms in range(max(int(safe_ms), 1), 0, -1):
        time = SaveTime(took_ms=took_ms, cost_ms=int(took_ms * cost_part))
        if time.safe_ms(nodes) <= safe_ms:
            return time
    return SaveTime(took_ms=1)
