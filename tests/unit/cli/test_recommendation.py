import json
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from muster.cli.main import app
from muster.cli.simulation.recommendation_text import worse_text
from muster.sim.recommend.comparison import Worse

runner = CliRunner()
JOBS = 260
HEADER = "job_id,submit_s,duration_s,gpus,team\n"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small busy cluster: many short jobs behind a few that run for days."""
    chance = Random(3)
    rows = []
    for place in range(JOBS):
        is_long = chance.random() < 0.08
        run_s = chance.randrange(40_000, 160_000) if is_long else chance.randrange(60, 2_000)
        rows.append(f"{place},{place * 900},{run_s},{4 if is_long else 1},{chance.choice('xy')}")
    path = tmp_path_factory.mktemp("history") / "busy.csv"
    path.write_text(HEADER + "\n".join(rows), "utf-8")
    return str(path)


def asked(trace: str, *arguments: str) -> tuple[int, str, str]:
    command = ["simulate", "--trace", trace, "--cluster", "1x8", "--recommend", *arguments]
    result = runner.invoke(app, command, env={"COLUMNS": "160"})
    return result.exit_code, result.stdout, result.stderr


def refused(trace: str, *arguments: str) -> str:
    code, out, err = asked(trace, *arguments)
    assert (code, out) == (2, "")
    return err


def test_turns_are_recommended_where_long_jobs_hold_up_short_ones(trace: str, tmp_path: Path) -> None:
    today = tmp_path / "today.toml"
    today.write_text("[policy]\nturns = false\n", "utf-8")
    code, out, err = asked(trace, "--policy", str(today), "-o", "json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["advice"], found["change"], found["policy"]) == ("change", True, str(today))
    assert found["settings"]["turns"] is True
    assert found["chosen_on"]["jobs"] + found["judged_on"]["jobs"] == JOBS
    then, now = found["judged_on"]["then"], found["judged_on"]["present"]
    assert then["figures"]["completion_mean_s"] < now["completion_mean_s"] * (1 - found["noise"])
    assert found["replays"] == 3 + len(found["tried"])
    assert "a restart costs a job 5m; at most 18 replays" in err
    assert today.read_text("utf-8") == "[policy]\nturns = false\n"


def test_people_read_what_to_write_what_it_brings_and_what_it_costs(trace: str) -> None:
    code, out, err = asked(trace, "--policy", "fair")
    assert code == 0, err
    assert out.startswith("Change turns to true")
    assert "    [policy]\n    turns = true\n" in out
    assert "    policy:\n      turns: true\n" in out
    for words in ("mean time from submission to end", "GPUs in use", "tried on the first half", "now (fair)"):
        assert words in out
    assert "Nothing was changed." in out


def test_what_cannot_be_better_is_kept(tmp_path: Path) -> None:
    """Every job finds free GPUs, so no setting matters."""
    idle = tmp_path / "idle.csv"
    idle.write_text(HEADER + "\n".join(f"{place},{place * 900},60,1,x" for place in range(JOBS)), "utf-8")
    code, out, _ = asked(str(idle))
    assert code == 0
    assert out.startswith("Keep what you have.")
    assert "decides nothing differently" in out
    assert "[policy]" not in out


def test_only_the_last_four_weeks_count_unless_another_period_is_given(tmp_path: Path) -> None:
    old = tmp_path / "old.csv"
    day_s = 86_400
    rows = [f"o{place},{place},60,1,x" for place in range(40)]
    rows += [f"n{place},{40 * day_s + place * 900},60,1,x" for place in range(JOBS)]
    old.write_text(HEADER + "\n".join(rows), "utf-8")
    _, out, err = asked(str(old), "-o", "json")
    found = json.loads(out)
    assert found["chosen_on"]["jobs"] + found["judged_on"]["jobs"] == JOBS
    assert found["chosen_on"]["from_s"] == 0
    assert f"only the last 28d count: {JOBS} jobs of {JOBS + 40}; --since sets another period" in err
    _, _, err = asked(str(old), "--since", "60d", "-o", "json")
    assert f"all {JOBS + 40} jobs count" in err
    assert "are too few to tell settings apart" in refused(str(old), "--since", "1d")


def test_a_policy_beside_the_cluster_is_the_present_one(trace: str, tmp_path: Path) -> None:
    scenario = tmp_path / "today.yaml"
    scenario.write_text("{now: 2026-01-01T00:00:00Z, cluster: 1x8, policy: {turns: false}}", "utf-8")
    code, out, err = asked(trace, "--cluster", str(scenario), "-o", "json")
    assert code == 0, err
    assert json.loads(out)["policy"] == str(scenario)
    assert "not used" not in err


def test_what_does_not_go_together_is_refused(trace: str, tmp_path: Path) -> None:
    assert "leave out --vary" in refused(trace, "--vary", "nodes=1..2")
    assert "leave out --html" in refused(trace, "--html", str(tmp_path / "report.html"))
    assert "better settings of one policy; --policy names 2" in refused(trace, "--policy", "fair,muster")
    assert "las is not made of settings" in refused(trace, "--policy", "las")
    assert "muster: --since" in refused(trace, "--since", "soon")


def test_without_a_recommendation_a_policy_is_needed(trace: str) -> None:
    result = runner.invoke(app, ["simulate", "--trace", trace, "--cluster", "1x8"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "say which policies to compare" in result.stderr


def test_a_comparison_of_policies_may_leave_out_old_jobs_too(trace: str) -> None:
    words = ["simulate", "--trace", trace, "--cluster", "1x8", "--policy", "fifo", "--since", "2h", "-o", "json"]
    figures = json.loads(runner.invoke(app, words).stdout)
    assert figures["jobs"] == 9


def test_who_pays_is_named() -> None:
    team = Worse(figure="wait_mean_s", present=60, then=120, too_much=False, team="nlp")
    assert worse_text(team) == "jobs of team nlp wait 2m0s instead of 1m0s on average"
