import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from muster import __version__
from muster.cli import main as main_module
from muster.cli.commands import plan as plan_module
from muster.cli.main import app
from muster.core.planning import cycle
from muster.model.errors import Conflict, MusterError, NotFound, Refused
from muster.model.scenario import Scenario
from tests.unit.cli.decisions import SCENARIO, Decision, decide

EXAMPLES = Path(__file__).parents[3] / "examples"

runner = CliRunner()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A scenario file, and a planner that decides the same about every scenario."""
    monkeypatch.setattr(plan_module, "planner", lambda **_: decide)
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO, "utf-8")
    return str(path)


def test_json_output_is_nothing_but_the_answer(file: str) -> None:
    result = runner.invoke(app, ["plan", file, "-o", "json"])
    assert (result.exit_code, result.stderr) == (0, "")
    answer = json.loads(result.stdout)
    assert answer["starts"][0]["workers"] == [{"rank": 0, "role": "worker", "node": "n3", "gpus": [1, 2]}]
    assert answer["evictions"] == [{"job": "old", "for": "urgent", "why": "tier", "lost_gpu_s": 57600}]


def test_json_comes_also_when_quiet(file: str) -> None:
    assert json.loads(runner.invoke(app, ["plan", file, "-o", "json", "-q"]).stdout)["starts"]


def test_quiet_output_is_the_ids_that_start(file: str) -> None:
    assert runner.invoke(app, ["plan", "-q", file]).stdout == "new\n"


def test_the_table_is_for_people(file: str) -> None:
    result = runner.invoke(app, ["plan", file, "--explain"])
    assert result.exit_code == 0
    for words in ("Cluster", "Starts now (1)", "Must leave (1)", "Promised (2)", "Waiting (2)", "Rejected (1)"):
        assert words in result.stdout


def test_a_scenario_may_come_from_standard_input(file: str) -> None:
    assert runner.invoke(app, ["plan", "-", "-q"], input=SCENARIO).stdout == "new\n"
    broken = runner.invoke(app, ["plan", "-"], input="now: x")
    assert broken.exit_code == 2
    assert "standard input:1: now: must be a time" in broken.stderr


def test_every_mistake_in_a_file_is_on_stderr_and_the_exit_code_is_2(file: str) -> None:
    Path(file).write_text("now: yesterday\ncluster: 4x8\nwating: []\n", "utf-8")
    result = runner.invoke(app, ["plan", file, "-o", "json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{file}:1: now: must be a time" in result.stderr
    assert f"{file}:3: wating: unknown key (did you mean 'waiting'?)" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["plan"], ["plan", "a", "b"], ["nonsense"], ["plan", "a", "-o", "xml"], ["--no"]]
)
def test_wrong_use_exits_with_2_and_says_so_on_stderr(arguments: list[str]) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert "Usage" in result.stderr


def test_a_file_that_is_not_there_exits_with_2() -> None:
    result = runner.invoke(app, ["plan", "does-not-exist.yaml"])
    assert result.exit_code == 2
    assert "does-not-exist.yaml: there is no such file" in result.stderr


@pytest.mark.parametrize(("error", "code"), [(Refused("no"), 3), (NotFound("no"), 4), (Conflict("no"), 3)])
def test_an_error_becomes_its_exit_code(
    file: str, monkeypatch: pytest.MonkeyPatch, error: MusterError, code: int
) -> None:
    def refuse(_: Scenario) -> Decision:
        raise error

    monkeypatch.setattr(plan_module, "planner", lambda **_: refuse)
    result = runner.invoke(app, ["plan", file])
    assert (result.exit_code, result.stderr) == (code, "muster: no\n")


def test_an_interrupted_command_exits_with_6(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Scenario) -> Decision:
        raise KeyboardInterrupt

    monkeypatch.setattr(plan_module, "planner", lambda **_: interrupt)
    assert runner.invoke(app, ["plan", file]).exit_code == 6


def test_the_version_is_printed_with_what_runs() -> None:
    result = runner.invoke(app, ["--version"])
    kind = "plain Python" if str(cycle.__file__).endswith(".py") else "compiled"
    assert (result.exit_code, result.stdout) == (0, f"muster {__version__} ({kind})\n")


def test_the_entry_point_exits_with_the_code_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["muster", "plan", "does-not-exist.yaml"])
    with pytest.raises(SystemExit) as caught:
        main_module.main()
    assert caught.value.code == 2
    assert "no such file" in capsys.readouterr().err


def test_the_example_shows_one_of_everything() -> None:
    result = runner.invoke(app, ["plan", str(EXAMPLES / "demo.yaml"), "-o", "json"])
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert all(answer[part] for part in ("starts", "evictions", "resizes", "holds", "waiting", "rejected"))
    assert {eviction["why"] for eviction in answer["evictions"]} == {"tier", "reclaim"}
