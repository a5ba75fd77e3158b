"""Whatever the situation, a plan breaks no rule, and planning leaves no trace."""

from collections.abc import Sequence

from hypothesis import event, given
from hypothesis import strategies as st

from muster.model.policy import MINUTE_MS, Policy
from muster.model.scenario import Scenario
from tests.property.checks import (
    check_lint_is_clean,
    check_nothing_is_violated,
    check_nothing_is_violated_over_time,
    check_planning_changes_nothing,
    planned,
)
from tests.property.effort import examples
from tests.property.situations import SPEEDS, situations

MIXED = Policy(throughput=SPEEDS, restart_cost_ms=MINUTE_MS)
EARLY_EXITS = st.lists(st.integers(0, 99), max_size=4)


@examples(1000)
@given(situations())
def test_every_plan_keeps_capacity_gangs_limits_topology_and_rights(scenario: Scenario) -> None:
    check_nothing_is_violated(scenario)


@examples(200)
@given(situations())
def test_the_linter_finds_nothing_in_a_plan(scenario: Scenario) -> None:
    check_lint_is_clean(scenario)


@examples(20)
@given(situations(nodes_max=24, waiting_max=40))
def test_plans_for_larger_clusters_break_no_rule_either(scenario: Scenario) -> None:
    check_nothing_is_violated(scenario)


@examples(400)
@given(situations(), EARLY_EXITS)
def test_plans_break_no_rule_while_time_passes_and_jobs_end_early(scenario: Scenario, exits: Sequence[int]) -> None:
    check_nothing_is_violated_over_time(scenario, exits)


@examples(200)
@given(situations())
def test_planning_twice_gives_the_same_plan_and_changes_nothing(scenario: Scenario) -> None:
    check_planning_changes_nothing(scenario)


@examples(200)
@given(situations(policy=MIXED), EARLY_EXITS)
def test_moves_to_faster_gpus_break_no_rule(scenario: Scenario, exits: Sequence[int]) -> None:
    event(f"moves for itself: {any(entry.job == entry.for_job for entry in planned(scenario).evictions)}")
    check_lint_is_clean(scenario)
    check_nothing_is_violated_over_time(scenario, exits)
