import sys
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from muster import policies
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.errors import InvalidInput
from muster.model.plan import Plan
from muster.model.policy import Order, Policy
from muster.model.records import evolve
from muster.policies import NamedPolicy, find_policy, hidden_plug_ins, policy_names
from muster.sim.replay import replay
from tests.builders import flat
from tests.unit.sim.builders import a_trace, a_trace_job

BUILT_IN = ("fifo", "greedy", "easy", "sjf-oracle", "fair", "muster", "srsf-oracle", "las")

SLOTH = NamedPolicy(name="sloth", summary="tomorrow", rules=Policy())
NO_POLICY = "not a policy"


def plug_in(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    added = EntryPoints([EntryPoint(name=name, value=value, group=policies.PLUG_INS)])
    monkeypatch.setattr(policies, "entry_points", lambda group: added.select(group=group))


def broken_planner(_snapshot: Snapshot, _now_ms: int) -> Plan:
    raise ZeroDivisionError("division by zero")


def planner_of_nothing(_snapshot: Snapshot, _now_ms: int) -> Any:
    return None


def planner_that_leaves(_snapshot: Snapshot, _now_ms: int) -> Plan:
    sys.exit(0)


def planner_of_doubles(snapshot: Snapshot, now_ms: int) -> Plan:
    made = plan(snapshot, now_ms)
    return evolve(made, starts=made.starts * 2)


LEAVING = replace(SLOTH, planner=planner_that_leaves)
DOUBLE = replace(SLOTH, planner=planner_of_doubles)
WRONG: Any = None
NO_RULES = replace(SLOTH, rules=WRONG)
NO_SUMMARY = replace(SLOTH, summary=WRONG)
SEVEN: Any = 7
NO_PLANNER = replace(SLOTH, planner=SEVEN)
BROKEN = replace(SLOTH, planner=broken_planner)
EMPTY = replace(SLOTH, planner=planner_of_nothing)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_name_of_the_format_is_known(name: str) -> None:
    assert find_policy(name).name == name
    assert find_policy(name).summary


def test_all_of_them_are_listed() -> None:
    assert policy_names() == BUILT_IN
    assert tuple(find_policy(name).name for name in policy_names()) == BUILT_IN


def test_the_policies_others_are_compared_with_leave_teams_out_and_stop_no_job() -> None:
    for name in ("fifo", "greedy", "easy", "sjf-oracle"):
        rules = find_policy(name).rules
        assert not any((rules.weighs_teams, rules.preemption, rules.consolidation, rules.elastic))
    assert not find_policy("fifo").rules.backfill
    assert find_policy("greedy").rules.hold_depth == 0
    assert find_policy("easy").rules.hold_depth == 1
    assert find_policy("sjf-oracle").rules.order is Order.SHORTEST
    assert find_policy("muster").rules == Policy()


def test_fair_is_the_default_without_turns() -> None:
    assert find_policy("fair").rules == Policy(turns=False)


def test_only_oracles_know_durations() -> None:
    knowing = [name for name in BUILT_IN if find_policy(name).knows_durations]
    assert knowing == ["sjf-oracle", "srsf-oracle"]


def test_policies_by_rank_say_that_victims_are_of_the_same_tier() -> None:
    by_rank = [find_policy(name) for name in BUILT_IN if find_policy(name).planner is not None]
    assert [policy.name for policy in by_rank] == ["srsf-oracle", "las"]
    assert all("of its tier" in policy.summary for policy in by_rank)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"there is no policy 'fifi'; choose from: fifo, greedy, easy"):
        find_policy("fifi")


def test_a_package_can_bring_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, "sloth", "tests.unit.test_policies:SLOTH")
    assert find_policy("sloth") == SLOTH
    assert policy_names()[-1] == "sloth"


def test_a_plug_in_is_called_as_its_user_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, "alias", "tests.unit.test_policies:SLOTH")
    assert find_policy("alias").name == "alias"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("BROKEN", r"the policy 'mine' failed: ZeroDivisionError: division by zero \(test_policies.py:[0-9]+\)"),
        ("LEAVING", r"the policy 'mine' failed: SystemExit: 0 \(test_policies.py:[0-9]+\)"),
        ("EMPTY", "the policy 'mine' failed: its planner returned a NoneType, not a Plan"),
    ],
)
def test_a_planner_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, value: str, problem: str) -> None:
    plug_in(monkeypatch, "mine", f"tests.unit.test_policies:{value}")
    with pytest.raises(InvalidInput, match=problem):
        replay(a_trace(a_trace_job("a", 0)), flat(1), find_policy("mine"))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("tests.unit.nowhere:SLOTH", "the policy 'sloth' from tests.unit.nowhere:SLOTH cannot be used: ModuleNotFound"),
        ("tests.unit.test_policies:MISSING", "AttributeError"),
        ("tests.unit.test_policies:NO_POLICY", "it is a str, not a NamedPolicy"),
        (
            "tests.unit.test_policies:NO_RULES",
            "'sloth' from .* cannot be used: rules must be of type Policy, not NoneType",
        ),
        ("tests.unit.test_policies:NO_SUMMARY", "summary must be of type str, not NoneType"),
        ("tests.unit.test_policies:NO_PLANNER", "planner must be a function, not int"),
    ],
)
def test_a_broken_plug_in_is_named(monkeypatch: pytest.MonkeyPatch, value: str, problem: str) -> None:
    plug_in(monkeypatch, "sloth", value)
    with pytest.raises(InvalidInput, match=problem):
        find_policy("sloth")
    assert find_policy("fifo").name == "fifo"


def test_a_plug_in_does_not_replace_a_built_in_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, "fifo", "tests.unit.test_policies:SLOTH")
    assert find_policy("fifo").summary != SLOTH.summary
    assert policy_names() == BUILT_IN
    assert hidden_plug_ins("fifo") == ("tests.unit.test_policies:SLOTH",)
    assert hidden_plug_ins("easy") == ()


def test_plans_that_are_not_sound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, "double", "tests.unit.test_policies:DOUBLE")
    made = replay(a_trace(a_trace_job("a", 0)), flat(1), find_policy("double"))
    assert made.dropped_plans > 0
    assert made.first_drop.startswith("a ")
    assert replay(a_trace(a_trace_job("a", 0)), flat(1), find_policy("fifo")).dropped_plans == 0
