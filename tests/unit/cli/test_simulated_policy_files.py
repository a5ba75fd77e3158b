"""`muster simulate --policy muster,tomorrow.toml`: rules are tried before they are rolled out."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from muster.cli.main import app

TRACE = "job_id,submit_s,duration_s,gpus\nlong,0,36000,8\nshort,60,60,8\n"
SCENARIO = "now: 2026-01-01T00:00:00Z\ncluster: {nodes: [{name: n1, gpus: 8}]}\npolicy: {turns: false}\n"
TOML = "[server]\nport = 7000\n\n[policy]\nturns = false\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("trace.csv").write_text(TRACE, "utf-8")
    Path("scenario.yaml").write_text(SCENARIO, "utf-8")
    Path("muster.toml").write_text(TOML, "utf-8")
    return tmp_path


def simulated(*arguments: str, stderr: str = "") -> Any:
    result = CliRunner().invoke(app, ["simulate", "--trace", "trace.csv", "-o", "json", *arguments])
    assert (result.exit_code, result.stderr) == (0, stderr)
    return json.loads(result.stdout)


def refused(policy: str) -> str:
    result = CliRunner().invoke(app, ["simulate", "--trace", "trace.csv", "--cluster", "1x8", "--policy", policy])
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


@pytest.mark.parametrize("file", ["scenario.yaml", "muster.toml"])
def test_a_file_is_compared_with_what_is(file: str) -> None:
    live, tried = simulated("--cluster", "1x8", "--policy", f"muster,{file}")
    assert (live["policy"], tried["policy"]) == ("muster", file)
    assert (live["preemptions"], tried["preemptions"]) == (1, 0)


def test_a_scenario_may_be_both_cluster_and_policy() -> None:
    tried = simulated("--cluster", "./scenario.yaml", "--policy", "scenario.yaml")
    assert tried["preemptions"] == 0


def test_what_the_file_leaves_out_is_as_live() -> None:
    Path("same.yaml").write_text("policy: {turns: true}\n", "utf-8")
    live, tried = simulated("--cluster", "1x8", "--policy", "muster,same.yaml")
    assert live["log_hash"] == tried["log_hash"]


def test_teams_may_come_from_the_configuration_of_a_server() -> None:
    Path("teams.toml").write_text("[teams.default]\nweight = 2\n", "utf-8")
    figures = simulated("--cluster", "1x8", "--policy", "fifo", "--teams", "teams.toml")
    assert "teams" in figures["rho_by_weights"]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("tomorow.yaml", "tomorow.yaml: there is no such file"),
        ("empty.yaml", "empty.yaml:1: there is no policy part"),
        ("list.json", "list.json:1: there is no policy part"),
        ("broken.toml", "broken.toml: not TOML"),
        ("odd.toml", "odd.toml: policy.consolidation_gain: nan is not a number that means anything here"),
        ("wrong.yaml", "wrong.yaml:1: policy.turn: unknown key (did you mean 'turns'?)"),
        ("muster.toml,muster.toml", "--policy names muster.toml 2 times"),
        ("misspelt.yaml", "misspelt.yaml:1: polcy: unknown key (did you mean 'policy'?)"),
        ("muster.conf", "there is no policy 'muster.conf', and a file with a policy ends in one of .yaml, .yml, .json"),
        ("./tomorrow", "there is no policy './tomorrow', and a file with a policy ends in one of .yaml"),
        (f"{'x' * 5_000}", "there is no policy 'xxx"),
        (",", "there is no policy ''"),
        ("a\x1b[31m.toml", "--policy names a file that cannot be shown: 'a\\x1b[31m.toml'; give it another name"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(policy: str, told: str) -> None:
    Path("empty.yaml").write_text("teams: {a: {}}\n", "utf-8")
    Path("list.json").write_text("[]", "utf-8")
    Path("broken.toml").write_text("[policy\n", "utf-8")
    Path("odd.toml").write_text("[policy]\nconsolidation_gain = nan\n", "utf-8")
    Path("misspelt.yaml").write_text("polcy: {}\n", "utf-8")
    Path("wrong.yaml").write_text("policy: {turn: false}\n", "utf-8")
    assert told in refused(policy)


def test_a_folder_with_the_name_of_a_policy_is_not_in_the_way() -> None:
    Path("muster").mkdir()
    assert simulated("--cluster", "1x8", "--policy", "muster")["finished"] == 2


def test_several_options_are_like_one_with_commas() -> None:
    figures = simulated("--cluster", "1x8", "--policy", "fifo", "--policy", "muster.toml")
    assert [each["policy"] for each in figures] == ["fifo", "muster.toml"]


def test_other_rules_in_the_file_are_named_because_they_do_not_count() -> None:
    Path("server.toml").write_text("[teams.default]\n[[tiers]]\nname = 'standard'\n[policy]\nturns = false\n", "utf-8")
    note = "muster: server.toml: teams, tiers are not used: they come from --cluster or --teams\n"
    simulated("--cluster", "1x8", "--policy", "server.toml", stderr=note)
    simulated("--cluster", "1x8", "--policy", "server.toml", "--teams", "./server.toml")


def test_the_report_says_what_the_file_said() -> None:
    Path("tried.toml").write_text("[policy]\nturns = false\nhold_depth = 2\nmin_runtime = '1h'\n", "utf-8")
    simulated(
        "--cluster", "1x8", "--policy", "tried.toml", "--html", "r.html", stderr="muster: the report is in r.html\n"
    )
    assert "as muster, but hold_depth: 2, turns: false, min_runtime: 1h" in Path("r.html").read_text("utf-8")


def test_a_report_on_a_trace_whose_name_is_no_text_is_written_all_the_same() -> None:
    Path("trace\udcff.csv").write_text(TRACE, "utf-8")
    words = ["simulate", "--trace", "trace\udcff.csv", "--cluster", "1x8", "--policy", "fifo", "--html", "r.html"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "trace\\udcff.csv" in Path("r.html").read_text("utf-8")


def test_the_report_never_replaces_a_policy_file() -> None:
    arguments = ["--trace", "trace.csv", "--cluster", "1x8", "--policy", "muster.toml", "--html", "muster.toml"]
    result = CliRunner().invoke(app, ["simulate", *arguments])
    assert result.exit_code == 2
    assert Path("muster.toml").read_text("utf-8") == TOML
