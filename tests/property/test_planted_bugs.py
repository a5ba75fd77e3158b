"""Every property can fail: a bug planted in the core is found within a few hundred examples."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from muster.core import gang, queueing, snapshot
from muster.core.cluster import capacity, tree
from muster.core.planning import deciding, horizons, placing, search
from muster.core.quota import Ledger
from muster.model.policy import Policy
from muster.model.scenario import Scenario
from tests.builders import a_team
from tests.property import checks
from tests.property.situations import SEEDS, situations
from tests.property.test_determinism import check_edits_leave_no_trace, printed_plans, scenarios_for_hashing, shuffled
from tests.property.test_no_starvation import check_big_gang_starts
from tests.property.test_promised_starts import check_promises_over_cycles
from tests.property.test_yielding import check_guarantee_comes_back

EXAMPLES = 400

Check = Callable[[Scenario, int], None]
Plant = Callable[[pytest.MonkeyPatch], None]


def is_found(check: Check) -> bool:
    """True when the check fails for one of the first few hundred situations."""

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(situations(policy=Policy(), punctual=True), SEEDS)
    def search_for_it(scenario: Scenario, seed: int) -> None:
        check(scenario, seed)

    try:
        search_for_it()
    except AssertionError:
        return True
    return False


def nothing_is_violated(scenario: Scenario, _: int) -> None:
    checks.check_nothing_is_violated(scenario)


def nothing_is_violated_over_time(scenario: Scenario, seed: int) -> None:
    checks.check_nothing_is_violated_over_time(scenario, [seed % 97, seed % 89])


def no_victim_is_superfluous(scenario: Scenario, _: int) -> None:
    checks.check_no_victim_is_superfluous(scenario)


def preemption_comes_to_rest(scenario: Scenario, _: int) -> None:
    again = tuple(replace(job, requeued=True) for job in scenario.waiting)
    checks.check_preemption_comes_to_rest(replace(scenario, waiting=again), cycles=1)


def planning_changes_nothing(scenario: Scenario, _: int) -> None:
    checks.check_planning_changes_nothing(scenario)


def order_decides_nothing(scenario: Scenario, seed: int) -> None:
    checks.check_order_of_lists_decides_nothing(scenario, shuffled(scenario, seed))


def big_gang_starts(_: Scenario, seed: int) -> None:
    check_big_gang_starts(1 + seed % 3, seed, teams=())


def big_gang_starts_within_its_limit(_: Scenario, seed: int) -> None:
    check_big_gang_starts(3, seed, teams=(a_team("busy", limit={"*": 16}),))


def guarantee_comes_back(_: Scenario, seed: int) -> None:
    check_guarantee_comes_back(1 + seed % 3, seed)


def one_gpu_is_given_to_all(patch: pytest.MonkeyPatch) -> None:
    def first_gpus(_: Any, __: int, ask: Any, workers: int) -> list[tuple[int, ...]]:
        return [tuple(range(ask.devices))] * workers

    patch.setattr(capacity.Capacity, "devices_for", first_gpus)


def a_worker_is_left_out(patch: pytest.MonkeyPatch) -> None:
    honest = placing.seat

    def all_but_one(*args: Any, **kwargs: Any) -> Any:
        workers, uses = honest(*args, **kwargs)
        return workers[: max(1, len(workers) - 1)], uses

    patch.setattr(placing, "seat", all_but_one)


def limits_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "breach", lambda *_: None)


def topology_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gang, "_levels", lambda *_: (0, 0))


def used_gpus_count_as_free(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity.Capacity, "holds", lambda *_: True)


def backfill_ignores_promises(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(horizons.Horizons, "until", lambda self, _: self.free)


def promises_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deciding, "keep_promises", lambda *_: {})


def nobody_is_spared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(search.Search, "_spare", lambda _, chosen: chosen)


def victims_may_preempt(patch: pytest.MonkeyPatch) -> None:
    honest = queueing.JobClass.__init__

    def with_rights(self: Any, **fields: Any) -> None:
        honest(self, **fields)
        self.may_preempt = True

    patch.setattr(queueing.JobClass, "__init__", with_rights)


def the_starving_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deciding, "_promise_starving", lambda *_: None)


def guarantees_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "within_guarantee", lambda *_: False)


def plans_are_charged_for_good(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "fork", lambda self: self)


def nodes_stand_as_they_are_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tree, "_natural", lambda _: ())


def whoever_ends_leaves_something_behind(patch: pytest.MonkeyPatch) -> None:
    honest = snapshot.Snapshot.finish

    def leaky(self: snapshot.Snapshot, job_id: Any) -> Any:
        footprint = self.footprints[job_id]
        job = honest(self, job_id)
        self.capacity.take(footprint)
        return job

    patch.setattr(snapshot.Snapshot, "finish", leaky)


PLANTED: tuple[tuple[Plant, Check], ...] = (
    (one_gpu_is_given_to_all, nothing_is_violated),
    (a_worker_is_left_out, nothing_is_violated),
    (limits_are_ignored, nothing_is_violated),
    (topology_is_ignored, nothing_is_violated),
    (backfill_ignores_promises, nothing_is_violated),
    (used_gpus_count_as_free, nothing_is_violated_over_time),
    (promises_are_forgotten, check_promises_over_cycles),
    (nobody_is_spared, no_victim_is_superfluous),
    (victims_may_preempt, preemption_comes_to_rest),
    (the_starving_are_forgotten, big_gang_starts),
    (the_starving_are_forgotten, big_gang_starts_within_its_limit),
    (guarantees_are_ignored, guarantee_comes_back),
    (plans_are_charged_for_good, planning_changes_nothing),
    (nodes_stand_as_they_are_listed, order_decides_nothing),
    (whoever_ends_leaves_something_behind, check_edits_leave_no_trace),
)


@pytest.mark.parametrize(("plant", "check"), PLANTED, ids=lambda each: each.__name__)
def test_a_planted_bug_is_found(plant: Plant, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert is_found(check)


def test_an_order_that_hangs_on_hashes_is_found() -> None:
    scenarios = scenarios_for_hashing()
    assert printed_plans(scenarios, "0", "--ordered-by-hash") != printed_plans(scenarios, "1", "--ordered-by-hash")
