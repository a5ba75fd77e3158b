"""The server comes and goes; jobs stay unless they are told to go too."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell, eventually


def test_what_is_started_is_what_is_tested(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    said = Shell(home=tmp_path, folder=tmp_path).run("--version").stdout
    assert ("(compiled)" in said) == bool(pytestconfig.getoption("--compiled")), said


def test_jobs_outlive_the_server(shell: Shell) -> None:
    job = shell.says("submit", "-", "-q", input="name: stays\nrun: sleep 600\nresources: {gpus: 1}\n").strip()
    eventually(lambda: shell.is_in(job, "running"), what="the job runs")
    down = shell.run("down")
    assert (down.returncode, down.stdout) == (0, "Muster is down; jobs go on, and `muster up` finds them again\n")
    assert not (shell.home / "server.json").exists()
    assert shell.type("ps").exit_code == 5
    assert "no server is running" in shell.run("down").stderr
    assert shell.run("up", "-d", "--nodes", "2x4", "--port", "0").returncode == 0
    assert shell.is_in(job, "running")
    ended = shell.run("down", "--jobs")
    assert (ended.returncode, ended.stdout) == (
        0,
        "Muster is down, and nothing runs any more; `muster up` starts again what was not done\n",
    )


def test_a_server_in_the_foreground_leaves_with_ctrl_c(tmp_path: Path) -> None:
    alone = Shell(home=tmp_path / "home", folder=tmp_path)
    serving = alone.begin("up", "--nodes", "1x1", "--port", "0", stdout=subprocess.DEVNULL)
    try:
        record = alone.home / "server.json"
        eventually(lambda: record.exists() or serving.poll() is not None, what="the server is up")
        serving.send_signal(signal.SIGINT)
        assert serving.wait(timeout=60) == 0
        assert not record.exists()
    finally:
        alone.run("down", "--jobs")


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    failed = Shell(home=tmp_path / "home", folder=tmp_path).run("up", "-d", "--nodes", "many")
    assert failed.returncode == 2
    assert "'many' is not a cluster" in failed.stderr


def test_a_configuration_for_a_server_that_runs_already_changes_nothing_and_says_so(shell: Shell) -> None:
    if shell.type("ps").exit_code == 5:
        assert shell.run("up", "-d", "--nodes", "2x4", "--port", "0").returncode == 0
    file = shell.folder / "muster.toml"
    missing = shell.run("up", "-d", "--config", str(file))
    assert (missing.returncode, f"there is no file {file}" in missing.stderr) == (2, True)
    file.write_text("[policy]\nmin_runtime = '3m'\n", "utf-8")
    again = shell.run("up", "-d", "--config", str(file))
    assert again.returncode == 0
    assert f"nothing changed: the server is running already, and {file} is read when it starts" in again.stderr
    assert f"`muster config apply {file}` puts its rules in force now" in again.stderr
    assert '"min_runtime": "10m"' in shell.says("policy", "show", "-o", "json")
    shell.says("config", "apply", str(file))
    assert '"min_runtime": "3m"' in shell.says("policy", "show", "-o", "json")
