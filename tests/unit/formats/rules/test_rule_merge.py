"""What a file says, what was configured last and what was changed at run time become one."""

import pytest

from muster.formats.rules.rule_merge import ChangedBy, RuleMerge, merge_rules
from muster.model.closed_rules import closed
from muster.model.errors import Conflict
from muster.model.policy import DEFAULT_TIERS, MINUTE_MS, Policy, Pool, Tier
from muster.model.records import evolve
from muster.model.scenario import Rules
from muster.model.team import Team
from tests.builders import a_team

FILE, RUN_TIME, BOTH = ChangedBy


def rules(*teams: Team, **more: object) -> Rules:
    return Rules(teams=teams, **more)  # type: ignore[arg-type]


def told(merge: RuleMerge) -> list[tuple[str, ChangedBy, object]]:
    return [(change.setting, change.changed_by, change.becomes) for change in merge.changes]


def test_a_setting_that_only_one_side_changed_becomes_what_that_side_says() -> None:
    last = rules(a_team("nlp", guaranteed={"h100": 8, "a100": 4}), a_team("cv"))
    now = rules(a_team("nlp", guaranteed={"h100": 16, "a100": 4}), a_team("cv"), a_team("ops"))
    file = rules(a_team("nlp", guaranteed={"h100": 8, "a100": 2}, weight=2), policy=Policy(min_runtime_ms=MINUTE_MS))
    merge = merge_rules(file=file, configured=last, now=now)
    assert told(merge) == [
        ("policy.min_runtime", FILE, "1m"),
        ("teams.nlp.guaranteed.a100", FILE, 2),
        ("teams.nlp.guaranteed.h100", RUN_TIME, 16),
        ("teams.nlp.weight", FILE, 2),
        ("teams.cv", FILE, None),
        ("teams.ops", RUN_TIME, merge.changes[-1].now),
    ]
    kept = rules(a_team("nlp", guaranteed={"h100": 16, "a100": 2}, weight=2), a_team("ops"), policy=file.policy)
    assert merge.rules == closed(kept)


def test_where_both_changed_a_setting_what_is_in_force_stays_and_is_told() -> None:
    last, now = rules(a_team("nlp", limit={"*": 8})), rules(a_team("nlp", limit={"*": 16}))
    merge = merge_rules(file=rules(a_team("nlp", limit={"*": 32})), configured=last, now=now)
    (conflict,) = merge.by(BOTH)
    assert (conflict.configured, conflict.now, conflict.file, conflict.becomes) == (8, 16, 32, 16)
    assert merge.rules == closed(now)
    assert merge_rules(file=now, configured=last, now=now).changes == ()


def test_a_team_that_one_side_removed_and_the_other_changed_is_a_conflict() -> None:
    last, now = rules(a_team("nlp"), a_team("cv")), rules(a_team("nlp"), a_team("cv", weight=3))
    merge = merge_rules(file=rules(a_team("nlp")), configured=last, now=now)
    assert [(change.setting, change.changed_by) for change in merge.changes] == [("teams.cv", BOTH)]
    assert merge.rules == closed(now)


def test_dropped_changes_leave_exactly_what_the_file_says() -> None:
    last, now = rules(a_team("nlp", limit={"*": 8})), rules(a_team("nlp", limit={"*": 16}), a_team("ops"))
    file = rules(a_team("nlp", limit={"*": 32}), pools=(Pool(name="main"),))  # type: ignore[arg-type]
    merge = merge_rules(file=file, configured=last, now=now, drop=True)
    assert merge.rules == closed(file)
    assert all(change.becomes == change.file for change in merge.changes)


def test_a_first_configuration_keeps_what_was_set_before_it() -> None:
    now = rules(policy=Policy(turns=False))
    merge = merge_rules(file=rules(a_team("nlp")), configured=None, now=now)
    assert merge.is_first
    assert merge.rules == closed(rules(a_team("nlp"), policy=Policy(turns=False)))
    assert ("policy.turns", RUN_TIME, False) in told(merge)


def test_tiers_are_compared_one_by_one_while_they_are_the_same_ones_and_else_as_a_list() -> None:
    shorter = (evolve(DEFAULT_TIERS[0], max_duration_ms=MINUTE_MS), *DEFAULT_TIERS[1:])
    merge = merge_rules(file=rules(), configured=rules(), now=rules(tiers=shorter))
    assert told(merge) == [("tiers.production.max_duration", RUN_TIME, "1m")]
    more = (*DEFAULT_TIERS, Tier(name="idle"))  # type: ignore[arg-type]
    merge = merge_rules(file=rules(tiers=more), configured=rules(), now=rules())
    assert [change.setting for change in merge.changes] == ["tiers"]
    assert merge.rules.tiers == more


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (rules(a_team("nlp", guaranteed={"*": 4}), a_team("nlp/a")), "the teams below 'nlp' are guaranteed 8 GPUs"),
        (rules(a_team("nlp", guaranteed={"*": 8}, max_priority=10), a_team("nlp/a")), "has 50, and a team above it 10"),
    ],
)
def test_parts_that_contradict_each_other_are_refused(file: Rules, problem: str) -> None:
    last = rules(a_team("nlp", guaranteed={"*": 8}), a_team("nlp/a"))
    now = rules(a_team("nlp", guaranteed={"*": 8}), a_team("nlp/a", guaranteed={"*": 8}, max_priority=50))
    with pytest.raises(Conflict, match="contradict each other") as refused:
        merge_rules(file=file, configured=last, now=now)
    assert problem in str(refused.value)
    assert "--drop-changes" in str(refused.value)
