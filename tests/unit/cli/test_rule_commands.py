"""`muster policy`, `tiers`, `pools` and `config`: what is sent, and what is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer

POLICY = {"order": "fair", "turns": False, "min_runtime": "5m", "throughput": {}}
TIERS = [
    {"name": "gold", "preempts": True, "max_duration": "7d"},
    {"name": "idle", "preempts": False, "max_duration": "1h"},
]
POOLS = {"spot": {"tiers": ["gold", "idle"], "teams": [], "spot": True, "price": 0.5}}


def test_the_policy_is_shown_and_changed_one_setting_at_a_time(terminal: Terminal, server: FakeServer) -> None:
    server.answers["GET /v1/policy"] = server.answers["PATCH /v1/policy"] = POLICY
    shown = terminal.shows("policy", "show")
    assert [line.split() for line in shown.splitlines()[1:]] == [
        ["order", "fair"],
        ["turns", "false"],
        ["min_runtime", "5m"],
        ["throughput", "{}"],
    ]
    assert terminal.shows("policy", "set", "min_runtime=5m", "turns=false", "spares=null") == shown
    assert server.bodies("PATCH", "/v1/policy") == [{"min_runtime": "5m", "turns": False, "spares": None}]
    assert json.loads(terminal.shows("policy", "show", "-o", "json")) == POLICY
    assert "'turns' is not KEY=VALUE" in terminal.type("policy", "set", "turns").stderr


def test_tiers_are_shown_added_and_removed(terminal: Terminal, server: FakeServer) -> None:
    for request in ("GET /v1/tiers", "PATCH /v1/tiers/gold", "DELETE /v1/tiers/old"):
        server.answers[request] = TIERS
    shown = "tier  preempts  max_duration\ngold  true      7d\nidle  false     1h\n"
    assert terminal.shows("tiers", "show") == shown
    assert terminal.shows("tiers", "set", "gold", "max_duration=7d", "--before", "idle") == shown
    assert terminal.shows("tiers", "remove", "old") == shown
    assert json.loads(terminal.shows("tiers", "show", "-o", "json")) == TIERS
    (sent,) = [request for request in server.requests if request.method == "PATCH"]
    assert (json.loads(sent.content), sent.url.params["before"]) == ({"max_duration": "7d"}, "idle")


def test_pools_are_shown_added_and_removed(terminal: Terminal, server: FakeServer) -> None:
    server.answers["GET /v1/pools"] = server.answers["PATCH /v1/pools/spot"] = POOLS
    server.answers["DELETE /v1/pools/spot"] = {}
    shown = "pool  tiers       teams  spot  price\nspot  gold, idle  -      true  0.5\n"
    assert terminal.shows("pools", "show") == shown
    assert terminal.shows("pools", "set", "spot", "tiers=[gold, idle]", "price=0.5") == shown
    assert server.bodies("PATCH", "/v1/pools/spot") == [{"tiers": ["gold", "idle"], "price": 0.5}]
    assert "there are no pools" in terminal.type("pools", "remove", "spot").stderr
    assert json.loads(terminal.shows("pools", "show", "-o", "json")) == POOLS


def test_a_name_that_was_new_is_told(terminal: Terminal, server: FakeServer) -> None:
    server.answers |= {"GET /v1/tiers": TIERS, "GET /v1/pools": POOLS}
    server.answers |= {"PATCH /v1/tiers/god": TIERS, "PATCH /v1/tiers/gold": TIERS}
    server.answers |= {"PATCH /v1/pools/sopt": POOLS, "PATCH /v1/pools/spot": POOLS}
    assert "added the tier god, which did not exist" in terminal.type("tiers", "set", "god", "max_duration=1h").stderr
    assert "added the pool sopt, which did not exist" in terminal.type("pools", "set", "sopt", "price=2").stderr
    assert terminal.type("tiers", "set", "gold", "max_duration=1h").stderr == ""
    assert terminal.type("pools", "set", "spot", "price=2").stderr == ""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "muster.toml"
    path.write_text('[cluster]\nnodes = [{name = "n1", gpus = 8}]\n[policy]\nmin_runtime = "2m"\n', "utf-8")
    return str(path)


def a_diff(*changes: dict[str, Any], nodes: tuple[str, ...] = (), warnings: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"changes": list(changes), "nodes": list(nodes), "warnings": list(warnings)}


def a_change(setting: str, by: str, configured: object, now: object, file: object, becomes: object) -> dict[str, Any]:
    values = {"configured": configured, "now": now, "file": file, "becomes": becomes}
    return {"setting": setting, "changed_by": by, **values}


def test_a_file_is_compared_with_what_is_in_force(terminal: Terminal, server: FakeServer, file: str) -> None:
    server.answers["POST /v1/config/diff"] = a_diff(
        a_change("policy.min_runtime", "both", "1m", "5m", "2m", "5m"),
        a_change("tiers", "run time", TIERS, TIERS[:1], TIERS, TIERS[:1]),
        a_change("teams.nlp", "file", None, None, {"weight": 1}, {"weight": 1}),
        nodes=("new: n1",),
        warnings=("teams are guaranteed 12 GPUs together",),
    )
    done = terminal.type("config", "diff", file)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["setting", "changed", "by", "configured", "in", "force", "file", "would", "be"],
        ["policy.min_runtime", "both:", "conflict", "1m", "5m", "2m", "5m"],
        ["tiers", "run", "time", "gold,", "idle", "gold", "gold,", "idle", "gold"],
        ["teams.nlp", "file", "-", "-", "{…}", "{…}"],
    ]
    assert "the nodes of the file are others (new: n1)" in done.stderr
    assert "warning: teams are guaranteed 12 GPUs together" in done.stderr
    (sent,) = server.bodies("POST", "/v1/config/diff")
    assert sent == {"policy": {"min_runtime": "2m"}, "cluster": {"nodes": [{"name": "n1", "gpus": 8}]}}
    assert json.loads(terminal.shows("config", "diff", file, "-o", "json"))["nodes"] == ["new: n1"]


@pytest.mark.parametrize(
    ("options", "changes"), [([], None), (["--keep-changes"], "keep"), (["--drop-changes"], "drop")]
)
def test_a_file_is_applied_as_told(
    terminal: Terminal, server: FakeServer, file: str, options: list[str], changes: str | None
) -> None:
    server.answers["PUT /v1/config"] = a_diff()
    done = terminal.type("config", "apply", file, *options, "--reason", "as agreed")
    assert (done.exit_code, done.stderr) == (0, "muster: nothing changed\n")
    (sent,) = server.bodies("PUT", "/v1/config")
    assert (sent["changes"], sent["reason"]) == (changes, "as agreed")


def test_what_is_wrong_in_a_file_is_said_before_anything_is_sent(
    terminal: Terminal, server: FakeServer, tmp_path: Path
) -> None:
    path = tmp_path / "muster.toml"
    path.write_text("[local]\nnodes = '4x8'\n[policy]\nmin_run = '1m'\n", "utf-8")
    done = terminal.type("config", "apply", str(path))
    assert done.exit_code == 2
    assert "policy.min_run: unknown key" in done.stderr
    assert server.requests == []
    path.write_text("[local]\nnodes = '4x8'\n", "utf-8")
    server.answers["POST /v1/config/diff"] = a_diff()
    terminal.type("config", "diff", str(path))
    assert server.bodies("POST", "/v1/config/diff") == [{"cluster": "4x8"}]
