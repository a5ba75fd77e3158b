import json
import stat
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_problem


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_a_login_is_checked_and_kept_private(terminal: Terminal, day: FakeServer, home: Path) -> None:
    Path("secret").write_text("muster_abc\n", "utf-8")
    result = terminal.type("login", "https://far.example.org/", "--token-file", "secret")
    assert (result.exit_code, result.stderr) == (0, "muster: logged in to https://far.example.org as ada\n")
    assert day.requests[0].headers["Authorization"] == "Bearer muster_abc"
    stored = home / "login.json"
    assert json.loads(stored.read_text("utf-8"))["token"] == "muster_abc"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    terminal.type("login", "--forget")
    assert not stored.exists()


def test_a_token_may_come_from_standard_input(terminal: Terminal, day: FakeServer, home: Path) -> None:
    assert terminal.type("login", "http://127.0.0.1:1", input="muster_abc\n").exit_code == 0
    assert terminal.type("login", "http://127.0.0.1:1", "--token-file", "-", input="\n").exit_code == 2
    assert terminal.type("login", "http://127.0.0.1:1", "--token-file", "missing").exit_code == 2


def test_a_wrong_token_is_not_kept(terminal: Terminal, server: FakeServer, home: Path) -> None:
    server.answers["GET /v1/whoami"] = a_problem(401, "unauthenticated", "this token is not known here")
    assert terminal.type("login", "http://127.0.0.1:1", input="wrong").exit_code == 3
    assert not home.exists()


def test_a_secret_is_printed_alone(terminal: Terminal, day: FakeServer) -> None:
    result = terminal.type("token", "create", "ci", "--role", "member", "--team", "nlp", "--expires", "90d")
    assert result.stdout == "muster_1a2b3c_s3cret\n"
    assert "not shown again" in result.stderr


def test_a_token_is_revoked(terminal: Terminal, day: FakeServer) -> None:
    day.answers["DELETE /v1/tokens/1a2b3c"] = httpx.Response(204)
    assert terminal.shows("token", "revoke", "1a2b3c") == "1a2b3c is revoked\n"


def test_whoami_names_server_and_user(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.shows("whoami") == "ada at http://127.0.0.1:8470: admin on *\n"
