"""Every property can fail: a bug planted in the core is found within a few hundred examples."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import HypothesisWarning

from muster.core import plan_lint, snapshot
from muster.core.cluster import capacity, footprint, gang, horizons, setting, tenancy, tree
from muster.core.explaining import explain, forecast, post_plan
from muster.core.order import queueing
from muster.core.order.quota import Ledger
from muster.core.planning import cycle, draft
from muster.core.planning.displacing import (
    last_resort,
    preemption,
    room_search,
    victim_rights,
    victim_tally,
    victims,
)
from muster.core.planning.placing import placement
from muster.core.planning.promising import promise_renewal
from muster.model.plan import Reason, ReasonCode, Why
from muster.model.policy import Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import a_team
from tests.property import checks
from tests.property.situations import SEEDS, situations
from tests.property.test_determinism import check_edits_leave_no_trace, printed_plans, scenarios_for_hashing, shuffled
from tests.property.test_explaining import (
    check_all_that_wait_are_explained,
    check_only_the_impossible_is_called_so,
    check_places_and_estimates,
)
from tests.property.test_linting import check_spoiled_plans_are_found, spoiled_gangs, spoiled_jobs, spoiled_promises
from tests.property.test_no_starvation import check_big_gang_starts
from tests.property.test_promised_starts import check_promises_over_cycles
from tests.property.test_yielding import check_guarantee_comes_back, check_guarantee_survives_a_stream

pytestmark = pytest.mark.pure_only(reason="compiled code calls its own functions, whatever was put in their place")

EXAMPLES = 2_000

Check = Callable[[Scenario, int], None]
Plant = Callable[[pytest.MonkeyPatch], None]


def is_found(check: Check) -> bool:
    """True when the check fails for one of the first few thousand situations."""

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

    with warnings.catch_warnings():
        # The example that fails is never shown, so it may be as large as it likes.
        warnings.simplefilter("ignore", HypothesisWarning)
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
    again = tuple(evolve(job, requeued=True) for job in scenario.waiting)
    checks.check_preemption_comes_to_rest(evolve(scenario, waiting=again), cycles=1)


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


def guarantee_survives_a_stream(_: Scenario, seed: int) -> None:
    check_guarantee_survives_a_stream(1 + seed % 2, seed)


def guarantee_survives_a_stream_that_was_promised_room(_: Scenario, seed: int) -> None:
    """One of a hundred streams in which a promise to a borrower is in the way of a guarantee."""
    check_guarantee_survives_a_stream(*((2, 74) if seed % 2 else (1, 118)))


def all_that_wait_are_explained(scenario: Scenario, _: int) -> None:
    check_all_that_wait_are_explained(scenario)


def only_the_impossible_is_called_so(scenario: Scenario, _: int) -> None:
    check_only_the_impossible_is_called_so(scenario)


def places_and_estimates_are_sane(scenario: Scenario, _: int) -> None:
    check_places_and_estimates(scenario)


def wrong_jobs_are_found(scenario: Scenario, _: int) -> None:
    check_spoiled_plans_are_found(scenario, spoiled_jobs)


def wrong_gangs_are_found(scenario: Scenario, _: int) -> None:
    check_spoiled_plans_are_found(scenario, spoiled_gangs)


def wrong_promises_are_found(scenario: Scenario, _: int) -> None:
    check_spoiled_plans_are_found(scenario, spoiled_promises)


def one_gpu_is_given_to_all(patch: pytest.MonkeyPatch) -> None:
    def first_gpus(_: Any, __: int, ask: Any, workers: int) -> list[tuple[int, ...]]:
        return [tuple(range(ask.devices))] * workers

    patch.setattr(capacity.Capacity, "devices_for", first_gpus)


def a_worker_is_left_out(patch: pytest.MonkeyPatch) -> None:
    honest = placement.seat

    def all_but_one(*args: Any, **kwargs: Any) -> Any:
        workers, uses = honest(*args, **kwargs)
        return workers[: max(1, len(workers) - 1)], uses

    patch.setattr(placement, "seat", all_but_one)


def limits_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "breach", lambda *_: None)


def topology_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gang, "_levels", lambda *_: (0, 0))


def labels_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(setting.Setting, "nodes_for", lambda *_: None)


def nodes_are_never_for_one_job_alone(patch: pytest.MonkeyPatch) -> None:
    for module in (setting, footprint):
        patch.setattr(module, "tenancy_of", lambda **_: tenancy.ORDINARY)


def reservations_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(draft, "horizons_at", lambda free, *_: horizons.Horizons(free))


def reservations_are_for_everybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(setting, "admitted_kinds", lambda *_: ~0)


def used_gpus_count_as_free(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity.Capacity, "holds", lambda *_: True)
    patch.setattr(promise_renewal, "is_free_for", lambda *_: True)


def backfill_ignores_promises(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(horizons.Horizons, "until", lambda self, _: self.free)


def promises_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cycle, "renew_promises", lambda *_: {})


def victims_are_not_pruned(patch: pytest.MonkeyPatch) -> None:
    honest = room_search.RoomSearch._without_superfluous
    patch.setattr(
        room_search.RoomSearch, "_without_superfluous", lambda self, victims, _: honest(self, victims, in_order=())
    )


def victims_may_preempt(patch: pytest.MonkeyPatch) -> None:
    honest = queueing.JobClass.__init__

    def with_rights(self: Any, **fields: Any) -> None:
        honest(self, **fields)
        self.may_preempt = True

    patch.setattr(queueing.JobClass, "__init__", with_rights)


def the_starving_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cycle, "_promise_starving", lambda *_: None)


def guarantees_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "within_guarantee", lambda *_: False)


def protected_jobs_keep_what_was_lent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(victim_rights.VictimRights, "insisting", lambda *_: None)


def urgent_jobs_move_what_a_team_is_owed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cycle, "renew_guaranteed", lambda *_: ({}, {}))


def promises_to_borrowers_stand_in_the_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(last_resort, "_promised_to_borrowers", lambda *_: [])


def a_tier_stops_jobs_that_a_guarantee_shelters(patch: pytest.MonkeyPatch) -> None:
    honest = victims.Roster.claim

    def shelters_no_job(self: Any, *args: Any) -> Any:
        return honest(self, *args)._replace(sheltered=())

    patch.setattr(victims.Roster, "claim", shelters_no_job)
    for module in (victim_tally, preemption):
        patch.setattr(module, "only_as_borrower", lambda *args: args[3].why is Why.RECLAIM)


def plans_are_charged_for_good(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "fork", lambda self: self)


def planning_marks_what_is_stuck(patch: pytest.MonkeyPatch) -> None:
    honest = draft.PlanDraft.block

    def marks(self: Any, parts: Any, *reason: Any) -> None:
        listed = list(parts)
        for group, _ in listed:
            group.stuck_at = self.snapshot.releases
        honest(self, listed, *reason)

    patch.setattr(draft.PlanDraft, "block", marks)


def nodes_stand_as_they_are_listed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tree, "natural", lambda _: "")


def a_job_that_ends_leaves_something_behind(patch: pytest.MonkeyPatch) -> None:
    honest = snapshot.Snapshot.finish

    def leaky(self: snapshot.Snapshot, job_id: Any) -> Any:
        footprint = self.footprints[job_id]
        job = honest(self, job_id)
        self.capacity.take(footprint)
        return job

    patch.setattr(snapshot.Snapshot, "finish", leaky)


def a_job_that_fits_nowhere_is_told_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(explain, "AT_THE_NEXT_CHANGE", Reason(code=ReasonCode.CAPACITY, message="", would_help=""))
    patch.setattr(post_plan.PostPlan, "why_not", lambda *_: ())


def started_jobs_are_explained_as_well(patch: pytest.MonkeyPatch) -> None:
    honest = explain._in_order

    def without_starts(state: Any, made: Any, now_ms: int) -> Any:
        return honest(state, evolve(made, starts=()), now_ms)

    patch.setattr(explain, "_in_order", without_starts)


def held_jobs_are_not_mentioned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(explain, "not_considered", lambda *_: ())


def whatever_is_busy_is_called_impossible(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(post_plan, "bare", lambda state: state.capacity.fork())


def promises_are_not_told(patch: pytest.MonkeyPatch) -> None:
    honest = forecast.StartForecast.__init__

    def without_promises(self: Any, state: Any, made: Any) -> None:
        honest(self, state, evolve(made, promises=()))

    patch.setattr(forecast.StartForecast, "__init__", without_promises)


def the_linter_does_not_look_at_jobs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan_lint, "_wrong_jobs", lambda *_: [])


def the_linter_does_not_look_at_gangs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan_lint, "_wrong_size", lambda *_: [])


def the_linter_does_not_look_at_promises(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan_lint, "_wrong_promises", lambda *_: [])


PLANTED: tuple[tuple[Plant, Check], ...] = (
    (one_gpu_is_given_to_all, nothing_is_violated),
    (a_worker_is_left_out, nothing_is_violated),
    (limits_are_ignored, nothing_is_violated),
    (topology_is_ignored, nothing_is_violated),
    (labels_are_ignored, nothing_is_violated),
    (nodes_are_never_for_one_job_alone, nothing_is_violated),
    (reservations_are_ignored, nothing_is_violated),
    (reservations_are_for_everybody, nothing_is_violated),
    (backfill_ignores_promises, nothing_is_violated),
    (used_gpus_count_as_free, nothing_is_violated_over_time),
    (promises_are_forgotten, check_promises_over_cycles),
    (victims_are_not_pruned, no_victim_is_superfluous),
    (victims_may_preempt, preemption_comes_to_rest),
    (the_starving_are_forgotten, big_gang_starts),
    (the_starving_are_forgotten, big_gang_starts_within_its_limit),
    (guarantees_are_ignored, guarantee_comes_back),
    (protected_jobs_keep_what_was_lent, guarantee_comes_back),
    (urgent_jobs_move_what_a_team_is_owed, guarantee_survives_a_stream),
    (promises_to_borrowers_stand_in_the_way, guarantee_survives_a_stream_that_was_promised_room),
    (a_tier_stops_jobs_that_a_guarantee_shelters, nothing_is_violated),
    (plans_are_charged_for_good, planning_changes_nothing),
    (planning_marks_what_is_stuck, planning_changes_nothing),
    (nodes_stand_as_they_are_listed, order_decides_nothing),
    (a_job_that_ends_leaves_something_behind, check_edits_leave_no_trace),
    (a_job_that_fits_nowhere_is_told_nothing, all_that_wait_are_explained),
    (started_jobs_are_explained_as_well, all_that_wait_are_explained),
    (held_jobs_are_not_mentioned, all_that_wait_are_explained),
    (whatever_is_busy_is_called_impossible, only_the_impossible_is_called_so),
    (promises_are_not_told, places_and_estimates_are_sane),
    (the_linter_does_not_look_at_jobs, wrong_jobs_are_found),
    (the_linter_does_not_look_at_gangs, wrong_gangs_are_found),
    (the_linter_does_not_look_at_promises, wrong_promises_are_found),
)


@pytest.mark.parametrize(("plant", "check"), PLANTED, ids=lambda each: each.__name__)
def test_a_planted_bug_is_found(plant: Plant, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert is_found(check)


def test_an_order_that_hangs_on_hashes_is_found() -> None:
    scenarios = scenarios_for_hashing()
    assert printed_plans(scenarios, "0", "--ordered-by-hash") != printed_plans(scenarios, "1", "--ordered-by-hash")
