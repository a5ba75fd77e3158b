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


def test_a_token_is_for_a_team_and_expires_unless_something_else_is_said(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.type("token", "create", "ci").exit_code == 2
    for words, expected in (
        ((), {"expires_in_s": 90 * 24 * 3600.0}),
        (("--expires", "never", "--subject", "ada"), {"expires_in_s": None, "subject": "ada"}),
    ):
        terminal.shows("token", "create", "ci", "--team", "nlp", "-q", *words)
        sent = day.bodies("POST", "/v1/tokens")[-1]
        assert sent == {"name": "ci", "bindings": [{"role": "member", "team": "nlp"}], **expected}


def test_what_was_made_with_a_token_is_named_when_it_is_revoked(terminal: Terminal, day: FakeServer) -> None:
    made = [{"id": each, "name": each, "maker": maker} for each, maker in (("a", None), ("b", "a"), ("c", "b"))]
    day.answers["GET /v1/tokens"] = {"items": made, "next": None}
    day.answers["DELETE /v1/tokens/a"] = httpx.Response(204)
    assert terminal.shows("token", "revoke", "a") == "a is revoked, and what was made with it: b, c\n"
    assert json.loads(terminal.shows("token", "revoke", "a", "-o", "json")) == {"revoked": ["a", "b", "c"]}


def test_the_head_of_the_audit_is_noted_and_checked_later(terminal: Terminal, day: FakeServer, tmp_path: Path) -> None:
    head = {"seq": 7, "chain": "ab" * 32}
    day.answers["GET /v1/audit/head"] = head
    for words in ((), ("-o", "json")):
        result = terminal.type("audit", "head", *words)
        assert json.loads(result.stdout) == head
    noted = tmp_path / "head.json"
    noted.write_text(json.dumps(head), "utf-8")
    assert "nothing was changed" in terminal.shows("audit", "verify", "--against", str(noted))
    assert dict(day.requests[-1].url.params) == {"seq": "7", "chain": "ab" * 32}
    assert "nothing was changed" in terminal.shows("audit", "verify")
    day.answers["GET /v1/audit/verify"] = {"whole": False, "entries": 7, "events": 1, "problems": ["made anew"]}
    damaged = terminal.type("audit", "verify", "--against", str(noted))
    assert (damaged.exit_code, "made anew" in damaged.stderr) == (1, True)


@pytest.mark.parametrize("text", ["", "7", '{"seq": 7}', '{"seq": "7", "chain": "ab"}'])
def test_a_file_that_is_no_head_is_refused(terminal: Terminal, tmp_path: Path, text: str) -> None:
    noted = tmp_path / "head.json"
    noted.write_text(text, "utf-8")
    result = terminal.type("audit", "verify", "--against", str(noted))
    assert (result.exit_code, "muster audit head" in result.stderr) == (2, True)
    assert terminal.type("audit", "verify", "--against", str(tmp_path / "none")).exit_code == 2
