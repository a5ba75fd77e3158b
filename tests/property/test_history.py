"""The history is the exact sum of what the events say, whatever happens, and however often it is saved and loaded."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.core.lifecycle import occupied
from muster.core.lifecycle.waiting import awaits_gpus
from muster.engine.folding.folding import fold
from muster.engine.folding.state import State
from muster.live.publishing.history_keeper import HistoryKeeper
from muster.model.job import Job
from muster.views.gauges import Gauge, Key
from muster.views.history import HISTORY_STEPS_MS, Bucket
from tests.property.test_saved_states import SEEDS, history, reloaded

MINUTE_MS, *_, DAY_MS = HISTORY_STEPS_MS


def counted(state: State) -> Counter[Key]:
    """What the state says, counted in the simplest way."""
    now: Counter[Key] = Counter({("covered", "", ""): 1})
    for node in state.nodes.values():
        now["gpus", node.pool, ""] += node.gpus * 1000
    for job in state.jobs.values():
        for worker in occupied(job):
            now["used", state.nodes[worker.node].pool, job.spec.tier] += worker.gpu_milli
            now["team_used", job.spec.team, ""] += worker.gpu_milli
        now["waiting", job.spec.tier, ""] += awaits_gpus(job)
        now["team_waiting", job.spec.team, ""] += awaits_gpus(job)
    return now


COUNTED = ("covered", "gpus", "used", "team_used", "waiting", "team_waiting")


def total(buckets: list[Bucket]) -> Counter[Key]:
    found: Counter[Key] = Counter()
    for bucket in buckets:
        found.update({key: amount for key, amount in bucket.sums.items() if key[0] in COUNTED})
    return +found


def followed(seed: int, cut: float) -> tuple[HistoryKeeper, State, Counter[Key], list[int]]:
    """Fold a log, save and load in between; returns the keeper with what it should say, and the waits."""
    played, events = history(seed)
    state = State(played.scenario)
    keeper = HistoryKeeper(state, None)
    sums: Counter[Key] = Counter()
    waits: dict[str, int] = {}
    for number, event in enumerate(events):
        if number == int(len(events) * cut):
            state = reloaded(state)
            keeper = HistoryKeeper(state, keeper.record())
        before, before_ms = counted(state), state.now_ms
        keeper.follow(state, event, fold(state, event))
        for key, amount in before.items():
            sums[key] += amount * (state.now_ms - before_ms)
        waits.update(started(state.jobs.values()))
    return keeper, state, +sums, list(waits.values())


def started(jobs: Iterable[Job]) -> dict[str, int]:
    """How long each job that has started had waited."""
    return {job.id: job.first_started_ms - job.submitted_ms for job in jobs if job.first_started_ms is not None}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, SEEDS - 1), cut=st.floats(0, 1))
def test_the_sums_of_the_history_are_the_sums_over_the_events(seed: int, cut: float) -> None:
    keeper, state, sums, waits = followed(seed, cut)
    for step_ms in HISTORY_STEPS_MS:
        buckets = keeper.buckets(step_ms, 0, state.now_ms)
        if step_ms == DAY_MS or buckets[0].start_ms <= state.now_ms - sums["covered", "", ""]:
            assert total(buckets) == sums
    days = keeper.buckets(DAY_MS, 0, state.now_ms)
    starts = [amount for day in days for key, amount in day.sums.items() if key[0] == Gauge.STARTS]
    waited = [amount for day in days for key, amount in day.sums.items() if key[0] == Gauge.WAITED]
    assert (sum(starts), sum(waited)) == (len(waits), sum(waits))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seed=st.integers(0, SEEDS - 1), cut=st.floats(0, 1), quiet_ms=st.integers(0, 400 * DAY_MS))
def test_reading_later_adds_what_goes_on_and_changes_nothing(seed: int, cut: float, quiet_ms: int) -> None:
    keeper, state, sums, _ = followed(seed, cut)
    later_ms = state.now_ms + quiet_ms
    for key, amount in counted(state).items():
        sums[key] += amount * quiet_ms
    assert total(keeper.buckets(DAY_MS, 0, later_ms)) == +sums
    minutes = keeper.buckets(MINUTE_MS, later_ms - 30 * MINUTE_MS, later_ms)
    assert [each.start_ms for each in minutes] == sorted({each.start_ms for each in minutes})
    assert total(keeper.buckets(DAY_MS, 0, later_ms)) == +sums
