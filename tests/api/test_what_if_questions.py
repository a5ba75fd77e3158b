"""What a what-if question is made from: the rules and nodes of today with changes, and the jobs to replay."""

import json

import pytest

from muster.api.what_if.changes import changed_rules, with_counts
from muster.api.what_if.questions import facts, with_teams_of
from muster.model.errors import InvalidInput
from muster.model.ids import JobId, TeamPath
from muster.model.policy import Order
from muster.model.trace import ReplaySetting, Trace, TraceJob, WhatIf
from muster.policies import find_policy
from muster.sim.what_if import answer
from tests.api.world import CLUSTER, RULES
from tests.builders import a_cluster, a_node

TRACE = Trace(
    name="history",
    jobs=tuple(
        TraceJob(id=JobId(f"j{number}"), submit_ms=0, run_ms=60_000, gpu_milli=16_000, team=TeamPath("nlp"))
        for number in range(4)
    ),
)


def test_what_is_not_named_stays_as_it_is() -> None:
    assert changed_rules(RULES, None, {}, {}).policy == RULES.policy
    changed = changed_rules(RULES, None, {"order": "fifo"}, {"nlp": {"guaranteed": {"*": 16}}})
    assert changed.policy.order is Order.FIFO
    teams = {team.path: team for team in changed.teams}
    assert dict(teams[TeamPath("nlp")].guaranteed) == {"*": 16_000}
    assert teams.keys() == {team.path for team in RULES.teams}


def test_a_guarantee_below_another_team_is_changed_too() -> None:
    changed = changed_rules(RULES, None, {}, {"nlp/pre": {"weight": 3}})
    assert {team.path: team.weight for team in changed.teams}[TeamPath("nlp/pre")] == 3000


def test_a_named_policy_comes_with_its_own_rules() -> None:
    easy = find_policy("easy").rules
    assert changed_rules(RULES, easy, {}, {}).policy == easy


def test_a_kind_of_node_is_counted_and_other_kinds_stay() -> None:
    cluster = a_cluster(a_node("n1", gpus=8), a_node("n2", gpus=8), a_node("m1", gpus=4))
    names = [node.name for node in with_counts(cluster, {"n2": 4}).nodes]
    assert names == ["m1", "n1", "n2", "n1-more-1", "n1-more-2"]
    assert [node.name for node in with_counts(cluster, {"n1": 1}).nodes] == ["m1", "n1"]
    with pytest.raises(InvalidInput, match="at most 100000 nodes"):
        with_counts(cluster, {"n1": 100_000, "m1": 100_000})


@pytest.mark.parametrize("count", [0, 3])
def test_a_kind_is_counted_once(count: int) -> None:
    cluster = a_cluster(a_node("n1", gpus=8), a_node("n2", gpus=8), a_node("m1", gpus=4))
    with pytest.raises(InvalidInput, match="n2 is of the same kind as a node before it"):
        with_counts(cluster, {"n1": count, "n2": 3})


def test_a_team_that_is_gone_has_no_quota() -> None:
    gone = Trace(
        name="history", jobs=(TraceJob(id=JobId("j"), submit_ms=0, run_ms=1, gpu_milli=1, team=TeamPath("x")),)
    )
    assert with_teams_of(RULES, gone).teams[-1].path == "x"
    assert with_teams_of(RULES, TRACE) == RULES


def test_the_report_says_what_was_compared_and_what_was_left_out() -> None:
    told = dict(facts(Trace(name="history", jobs=TRACE.jobs, skipped=3), 86_400_000, ["policy easy"]))
    assert told == {"Jobs": "the jobs of the last 1d", "Changed": "policy easy", "Left out": "3 jobs"}
    assert dict(facts(TRACE, None, []))["Changed"] == "nothing"


@pytest.mark.parametrize("policy", ["", "las"])
def test_the_answer_has_the_figures_of_both_replays_and_the_report(policy: str) -> None:
    told: list[dict[str, object]] = []
    rules = RULES if not policy else changed_rules(RULES, find_policy(policy).rules, {}, {})
    question = WhatIf(
        trace=TRACE,
        today=ReplaySetting(cluster=CLUSTER, rules=RULES),
        changed=ReplaySetting(cluster=with_counts(CLUSTER, {"n1": 8}), rules=rules, policy=policy),
    )
    answer(question, told.append)
    assert all(json.dumps(each) for each in told)
    assert [each["done"] for each in told if "done" in each] == sorted(
        float(str(e["done"])) for e in told if "done" in e
    )
    last = told[-1]
    assert isinstance(last["today"], dict)
    assert isinstance(last["changed"], dict)
    assert last["changed"]["first_wait_s"]["mean"] < last["today"]["first_wait_s"]["mean"]
    assert str(last["report"]).startswith("<!DOCTYPE html>")
