import json
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.cluster import an_event
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_node


def test_nodes_are_drained_with_a_reason(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.shows("drain", "n1", "n6", "--reason", "smoke", "-q") == "n1\nn6\n"
    assert day.bodies("POST", "/v1/nodes/n1/drain") == [{"reason": "smoke"}]
    assert terminal.shows("undrain", "n8") == "n8 is ready\n"
    assert terminal.type("drain", "n99").exit_code == 4


def test_a_spare_is_ready_and_says_what_it_is_kept_for(terminal: Terminal, server: FakeServer) -> None:
    server.nodes = [a_node("n1"), a_node("n2", spare=True, because="it is back")]
    first, second = terminal.shows("nodes").splitlines()[1:3]
    assert "spare" not in first
    assert "ready" in second
    assert second.endswith("kept as a spare")


def test_events_name_the_nodes_that_are_kept(terminal: Terminal, server: FakeServer) -> None:
    server.events = [
        an_event(1, "spares_set", "11:59:58", spares=["n3", "n4"]),
        an_event(2, "spares_set", "11:59:59", spares=[]),
    ]
    first, second = terminal.shows("events").splitlines()
    assert first.endswith("kept as spares: n[3-4]")
    assert second.endswith("no node is kept as a spare")


def test_a_quota_keeps_what_is_not_changed(terminal: Terminal, day: FakeServer) -> None:
    terminal.shows("quota", "set", "nlp", "--guaranteed", "h100=80,a100=8")
    terminal.shows("quota", "set", "nlp", "--limit", "none", "--weight", "3")
    assert day.bodies("PUT", "/v1/teams/nlp") == [
        {"guaranteed": {"h100": 80, "a100": 8}, "limit": {"h100": 128}, "weight": 2},
        {"guaranteed": {"h100": 64}, "limit": {}, "weight": 3},
    ]


def test_a_quota_of_a_new_team_is_set(terminal: Terminal, day: FakeServer) -> None:
    day.answers["PUT /v1/teams/new/one"] = {"path": "new/one", "guaranteed": {"*": 4}}
    terminal.shows("quota", "set", "new/one", "--guaranteed", "*=4")
    assert day.bodies("PUT", "/v1/teams/new/one") == [{"guaranteed": {"*": 4}, "limit": {}, "weight": 1}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "nothing to change"),
        ("--limit many", "--limit: 'many' is not KEY=VALUE"),
        ("--guaranteed h100=x", "--guaranteed: 'x' is not a number of GPUs"),
        ("--guaranteed h100=nan", "--guaranteed: 'nan' is not a number of GPUs"),
    ],
)
def test_a_wrong_quota_is_explained(terminal: Terminal, day: FakeServer, options: str, message: str) -> None:
    result = terminal.type("quota", "set", "nlp", *options.split())
    assert result.exit_code == 2
    assert message in result.stderr


def test_events_are_one_object_to_a_line(terminal: Terminal, day: FakeServer) -> None:
    lines = terminal.shows("events", "-n", "3", "-o", "json").splitlines()
    assert [json.loads(line)["version"] for line in lines] == [1053, 1054, 1055]


def test_events_after_a_version_are_all_shown(terminal: Terminal, day: FakeServer) -> None:
    assert len(terminal.shows("events", "--after", "1045", "-n", "1").splitlines()) == 10


def test_a_trace_is_written(terminal: Terminal, server: FakeServer, tmp_path: Path) -> None:
    trace = b"job_id,submit_s,duration_s,gpus\njob-1,0,60,8\n"
    server.answers["GET /v1/export"] = httpx.Response(200, content=trace)
    assert terminal.shows("export").encode() == trace
    assert "1 jobs are in" in terminal.type("export", str(tmp_path / "trace.csv")).stderr
    assert (tmp_path / "trace.csv").read_bytes() == trace
    assert json.loads(terminal.shows("export", "-o", "json")) == [
        {"job_id": "job-1", "submit_s": "0", "duration_s": "60", "gpus": "8"}
    ]
    assert terminal.type("export", str(tmp_path)).exit_code == 2


def test_what_the_jobs_of_a_team_may_ask_for_is_set(terminal: Terminal, day: FakeServer) -> None:
    terminal.shows(
        "quota", "set", "nlp", "--tiers", "standard, exploratory", "--max-priority", "60", "--no-unpreemptible"
    )
    (sent,) = day.bodies("PUT", "/v1/teams/nlp")
    assert sent["tiers"] == ["standard", "exploratory"]
    assert (sent["max_priority"], sent["allow_unpreemptible"]) == (60, False)
