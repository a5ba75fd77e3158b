"""What the server makes of its command line, its environment and its configuration."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from muster import locks, main
from muster.cli.main import app
from muster.formats.rules.database_url import has_password
from muster.locks import alone_in
from muster.model.errors import Refused
from muster.processes import root_warning

SECRET = "postgresql://ada:hunter2@db/muster"


def database_of(home: Path, *arguments: str) -> str:
    return main._options(main._parser().parse_args(["serve", "--home", str(home), *arguments])).database


@pytest.mark.parametrize("url", [SECRET, "postgresql:///muster?host=db&password=hunter2"])
def test_a_password_on_the_command_line_is_refused(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["serve", "--home", str(tmp_path), "--database", url]) == 2
    said = capsys.readouterr().err
    assert "MUSTER_DATABASE" in said
    assert "hunter2" not in said


def test_the_command_line_refuses_it_before_anything_is_started(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["up", "-d", "--home", str(tmp_path / "home"), "--database", SECRET])
    assert done.exit_code == 2
    assert not (tmp_path / "home").exists()


def test_a_server_whose_jobs_could_not_save_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MUSTER_SCRATCH", str(tmp_path / "disk"))
    assert main.main(["serve", "--home", str(tmp_path / "home"), "--nodes", "1x1", "--port", "0"]) == 2
    assert "MUSTER_SCRATCH names" in capsys.readouterr().err


@pytest.mark.parametrize(("user", "is_warned"), [(0, True), (1000, False)])
def test_a_user_who_starts_it_as_root_is_warned(user: int, is_warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("as root" in root_warning()) == is_warned


@pytest.mark.parametrize("url", ["postgresql://ada@db/muster", "sqlite:////m/muster.db", "postgresql://[", ""])
def test_an_address_without_a_password_may_be_anywhere(url: str) -> None:
    assert not has_password(url)


def test_a_database_is_named_by_the_environment_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "muster.toml").write_text("[server]\ndatabase = 'postgresql://file/muster'\n")
    config = ("--config", str(tmp_path / "muster.toml"))
    assert database_of(tmp_path, *config) == "postgresql://file/muster"
    monkeypatch.setenv("MUSTER_DATABASE", SECRET)
    assert database_of(tmp_path, *config) == SECRET
    assert "MUSTER_DATABASE" not in os.environ
    monkeypatch.setenv("MUSTER_DATABASE", SECRET)
    assert database_of(tmp_path, "--database", "postgresql://said/muster") == "postgresql://said/muster"
    assert database_of(tmp_path) == f"sqlite:///{tmp_path}/muster.db"


def test_nothing_is_ended_under_a_control_plane_that_would_start_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(locks, "MOMENT_S", 0.0)
    with alone_in(tmp_path, "busy"):
        assert main.main(["down", "--home", str(tmp_path)]) == Refused.exit_code
    assert "would start jobs again" in capsys.readouterr().err
    assert main.main(["down", "--home", str(tmp_path)]) == 0
