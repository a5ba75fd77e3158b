"""A configuration at the start, and what was changed at run time."""

import pytest

from muster.live import control_plane
from muster.live.configuration import Configuration, merge_notes
from muster.live.control_plane import ControlPlane
from muster.model.closed_rules import closed
from muster.model.errors import Unavailable
from muster.model.policy import MINUTE_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Rules
from muster.store.memory import MemoryLog
from tests.builders import a_cluster, a_job, a_node, a_team
from tests.unit.live.writer import DEADLINE_S, FullDisk, retried, running

CLUSTER = a_cluster(a_node("n1", gpus=8))
BEFORE, AT_RUN_TIME, AFTER = (Rules(teams=(a_team("default", limit={"*": most}),)) for most in (2, 4, 6))
SHORT = Policy(min_runtime_ms=MINUTE_MS)
CHANGED = evolve(AFTER, policy=SHORT)


def change(control: ControlPlane, rules: Rules) -> None:
    control.ask(lambda engine, now_ms: engine.change_rules(closed(rules), now_ms, by="ada")).result(DEADLINE_S)


def notes(control: ControlPlane, *, is_told: bool = False) -> list[str]:
    assert control.merge is not None
    return list(merge_notes(control.merge, is_told=is_told))


def test_a_changed_configuration_keeps_what_was_changed_at_run_time_and_says_so() -> None:
    log = MemoryLog()
    with running(log, configuration=Configuration(cluster=CLUSTER, rules=BEFORE)) as control:
        change(control, AT_RUN_TIME)
        assert notes(control) == []
    with running(log, configuration=Configuration(cluster=CLUSTER, rules=CHANGED)) as control:
        assert control.state.snapshot.rules == evolve(closed(AT_RUN_TIME), policy=SHORT)
        assert control.state.configured == closed(CHANGED)
        applied, kept = notes(control)
        assert applied == "the configuration changed: policy.min_runtime is '1m', not '10m'"
        assert kept.startswith("teams.default.limit.*: the file now says 6, and it was changed to 4 at run time, which")
        assert len(notes(control, is_told=True)) == 1
    with running(log, configuration=Configuration(cluster=CLUSTER, rules=CHANGED)) as control:
        (kept,) = notes(control)
        assert kept.startswith("changed at run time and kept: teams.default.limit.* is 4, not 6; `muster config diff`")


def test_changes_are_dropped_when_that_is_asked_and_only_those_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log = FullDisk()
    with running(log, configuration=Configuration(cluster=CLUSTER, rules=BEFORE)) as control:
        change(control, AT_RUN_TIME)
    with running(log, configuration=Configuration(cluster=CLUSTER, rules=BEFORE, drop_changes=True)) as control:
        assert control.state.snapshot.rules == closed(BEFORE)
        assert notes(control, is_told=True) == [
            "dropped what was changed at run time: teams.default.limit.* is 2, not 4"
        ]
        change(control, AT_RUN_TIME)
        log.is_full = True
        with pytest.raises(Unavailable):
            control.ask(lambda engine, now_ms: engine.submit(a_job("lost"), now_ms)).result(DEADLINE_S)
        log.is_full = False
        retried(control)
        assert control.state.snapshot.rules == closed(AT_RUN_TIME)


def test_many_changes_are_counted() -> None:
    log = MemoryLog()
    teams = tuple(a_team(f"t{number}") for number in range(8))
    with running(log, configuration=Configuration(cluster=CLUSTER, rules=Rules(teams=teams))) as control:
        change(control, Rules(teams=tuple(evolve(team, weight=3000) for team in teams)))
    with running(log, configuration=Configuration(cluster=CLUSTER, rules=Rules(teams=teams))) as control:
        (note,) = notes(control)
        assert "t4.weight is 3, not 1 and 3 more" in note
