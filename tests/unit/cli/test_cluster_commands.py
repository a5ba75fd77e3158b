import json
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.cluster import a_team, an_event
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_node


def test_nodes_are_drained_with_a_reason(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.shows("drain", "n1", "n6", "--reason", "smoke", "-q") == "n1\nn6\n"
    assert day.bodies("POST", "/v1/nodes/n1/drain") == [{"reason": "smoke"}]
    assert terminal.shows("undrain", "n8") == "n8 is ready\n"
    assert terminal.type("drain", "n99").exit_code == 4


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_a_time_of_a_reservation_that_cannot_be_read_is_named_by_its_option(terminal: Terminal, option: str) -> None:
    times = {"--from": "now", "--to": "4h", option: "08:45"}
    words = [word for pair in times.items() for word in pair]
    answer = terminal.type("reservation", "create", "upkeep", "--nodes", "n1", *words)
    assert answer.exit_code == 2
    assert f"{option}: must be a time such as 2026-01-01T00:00:00Z, not '08:45'" in " ".join(answer.stderr.split())


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


def test_gpus_whose_type_nobody_named_have_no_row_of_their_own(terminal: Terminal, server: FakeServer) -> None:
    server.teams = [
        a_team("a", guaranteed={"*": 16}, used={"": 8, "*": 8}, borrowed={}),
        a_team("b", used={"": 2, "*": 2}, borrowed={"": 2, "*": 2}),
        a_team("c", guaranteed={"*": 16}, used={"h100": 8, "*": 8}, borrowed={}),
    ]
    rows = [line.split()[:3] for line in terminal.shows("teams").splitlines()[1:5]]
    assert rows == [
        ["a", "any", "██████░░░░░░"],
        ["b", "any", "▓▓▓▓▓▓▓▓▓▓▓▓"],
        ["c", "any", "██████░░░░░░"],
        ["h100", "████████████", "8"],
    ]


def test_nothing_is_drawn_as_borrowed_where_no_team_has_a_guarantee(terminal: Terminal, server: FakeServer) -> None:
    server.teams = [a_team("a", used={"": 8, "*": 8}, borrowed={"": 8, "*": 8})]
    assert terminal.shows("teams").splitlines()[1].split()[:3] == ["a", "any", "████████████"]


def test_a_quota_keeps_what_is_not_changed(terminal: Terminal, day: FakeServer) -> None:
    terminal.shows("quota", "set", "nlp", "--guaranteed", "h100=80,a100=8")
    terminal.shows("quota", "set", "nlp", "--limit", "none", "--weight", "3")
    terminal.shows("quota", "set", "nlp", "--guaranteed", "h100=none")
    assert day.bodies("PATCH", "/v1/teams/nlp") == [
        {"guaranteed": {"h100": 80, "a100": 8}},
        {"limit": {"h100": None}, "weight": 3},
        {"guaranteed": {"h100": None}},
    ]


def test_a_quota_of_a_new_team_is_set(terminal: Terminal, day: FakeServer) -> None:
    warning = "team new/one is guaranteed 4 GPUs, and the cluster has 2 GPUs"
    day.answers["PATCH /v1/teams/new/one"] = {"path": "new/one", "guaranteed": {"*": 4}, "warnings": [warning]}
    said = terminal.type("quota", "set", "new/one", "--guaranteed", "*=4", "--limit", "none")
    assert (said.exit_code, said.stderr) == (0, f"muster: warning: {warning}\n")
    assert day.bodies("PATCH", "/v1/teams/new/one") == [{"guaranteed": {"*": 4}, "limit": {}}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "nothing to change"),
        ("--limit many", "--limit: 'many' is not KEY=VALUE"),
        ("--limit 16", "--limit: '16' of which type? Write --limit '*=16' for all types together"),
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
    server.answers["GET /v1/export"] = httpx.Response(200, content=trace, headers={"Muster-Left-Out": "2"})
    assert terminal.shows("export").encode() == trace
    said = terminal.type("export", str(tmp_path / "trace.csv")).stderr
    assert "1 job is in" in said
    assert "2 ended jobs without GPUs, or that never ran, left out" in " ".join(said.split())
    assert f"muster simulate --trace {tmp_path / 'trace.csv'} --policy muster,fifo" in said
    assert (tmp_path / "trace.csv").read_bytes() == trace
    assert json.loads(terminal.shows("export", "-o", "json")) == [
        {"job_id": "job-1", "submit_s": "0", "duration_s": "60", "gpus": "8"}
    ]
    assert terminal.type("export", str(tmp_path)).exit_code == 2


@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_the_cluster_is_written_beside_the_trace_and_the_command_that_is_said_replays_both(
    terminal: Terminal, day: FakeServer, tmp_path: Path, name: str
) -> None:
    day.answers["GET /v1/export"] = httpx.Response(200, content=b"job_id,submit_s,duration_s,gpus\njob-1,0,60,8\n")
    said = terminal.type("export", str(tmp_path / name)).stderr
    cluster = json.loads((tmp_path / "trace.cluster.json").read_text("utf-8"))
    assert [each["name"] for each in cluster["nodes"]] == [node["name"] for node in day.nodes]
    command = said.split("to replay: muster ")[1].split()
    figures = json.loads(terminal.shows(*command, "-o", "json"))
    assert [(each["policy"], each["finished"]) for each in figures] == [("muster", 1), ("fifo", 1)]


def test_what_the_jobs_of_a_team_may_ask_for_is_set(terminal: Terminal, day: FakeServer) -> None:
    terminal.shows(
        "quota", "set", "nlp", "--tiers", "standard, exploratory", "--max-priority", "60", "--no-unpreemptible"
    )
    (sent,) = day.bodies("PATCH", "/v1/teams/nlp")
    assert sent["tiers"] == ["standard", "exploratory"]
    assert (sent["max_priority"], sent["allow_unpreemptible"]) == (60, False)
