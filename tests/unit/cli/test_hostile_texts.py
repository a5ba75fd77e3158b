"""Nothing that others wrote reaches a terminal as it is, whatever the command and wherever the text stands."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.cli.following.log_printers import Escaper
from muster.cli.terminal import screen
from muster.cli.terminal.text import Text
from muster.model.printable import as_json, one_line, printable
from tests.unit.cli.cluster import fill
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_problem

CLI = Path(screen.__file__).parents[1]
HOSTILE = "\x1b[2J\x07\r\x00\x7f\x9b31m\u202e\u2066\u2028\x1b]8;;http://x\x1b\\[bold]B[/bold][link=http://x]:boom:"
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)
ANSWERS_MAX = 50
TIMES = re.compile(r"\d{4}-\d{2}-\d{2}T.*")

COMMANDS = [
    ("ps",),
    ("ps", "-a", "-q"),
    ("show", "job-12", "--events"),
    ("show", "job-8"),
    ("why", "job-15"),
    ("why", "job-12"),
    ("story", "job-12"),
    ("logs", "job-12"),
    ("logs", "job-12", "-r", "all", "-n", "2"),
    ("nodes",),
    ("drain", "n1", "--reason", HOSTILE.replace("\x00", "")),
    ("undrain", "n8"),
    ("teams",),
    ("quota", "set", "nlp", "--guaranteed", "h100=80"),
    ("top", "--once"),
    ("events",),
    ("events", "-f", "--after", "0"),
    ("audit",),
    ("audit", "--verify"),
    ("token", "list"),
    ("token", "list", "-q"),
    ("token", "create", "ci"),
    ("whoami",),
    ("cancel", "job-12", "job-15"),
    ("hold", "job-15"),
    ("update", "job-15", "--priority", "1"),
    ("retry", "job-8"),
    ("wait", "job-9", "job-8"),
    ("export",),
    ("submit", "job.yaml"),
    ("submit", "job.yaml", "--dry-run"),
    ("submit", "job.yaml", "--print"),
    ("run", "--", "true"),
]

LINES = ("run", "events", "logs", "export", "quota")
"""Commands that print several documents, or none."""


class HostileServer(FakeServer):
    """Answers as it should, with something that terminals obey behind every text."""

    trusted = frozenset({"next"})
    """Keys whose texts are left alone."""
    answered = 0

    def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = super()._answer(request)
        answer.read()
        self.answered += 1
        if self.answered > ANSWERS_MAX:  # A command that waits for a state that does not exist waits for ever.
            raise KeyboardInterrupt
        if "json" in answer.headers.get("Content-Type", ""):
            body = json.dumps(self._poisoned(answer.json())).encode()
            return httpx.Response(answer.status_code, headers={"Content-Type": "application/json"}, content=body)
        if "event-stream" in answer.headers.get("Content-Type", ""):
            lines = answer.text.splitlines()
            said = [self._poisoned_line(line) for line in lines]
            return httpx.Response(200, headers=answer.headers, content="\n".join([*said, "", ""]).encode())
        return answer

    def _poisoned_line(self, line: str) -> str:
        return f"data: {json.dumps(self._poisoned(json.loads(line[6:])))}" if line.startswith("data: ") else line

    def _poisoned(self, value: Any, key: str = "") -> Any:
        match value:
            case dict():
                return {name: self._poisoned(each, name) for name, each in value.items()}
            case list():
                return [self._poisoned(each, key) for each in value]
            case str() if key not in self.trusted and not TIMES.fullmatch(value):
                return f"{value}\n{HOSTILE}\ud800"
            case _:
                return value


@pytest.fixture
def server() -> FakeServer:
    made = HostileServer()
    fill(made)
    made.logs["job-12", 0, 2] = f"step 1\r\nstep 2 \xff{HOSTILE}\n".encode("latin-1", "replace") + b"\x1b[2J\xff\xc3"
    made.answers["GET /v1/export"] = httpx.Response(200, content=f'name\n"{HOSTILE}"\n'.replace("\0", "").encode())
    return made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(f"name: train\nrun: {json.dumps(HOSTILE.replace(chr(0), ''))}\n", "utf-8")
    monkeypatch.setattr("muster.cli.commands.logs.is_terminal", lambda: True)
    monkeypatch.setattr("muster.cli.commands.export.is_terminal", lambda: True)


@pytest.mark.parametrize("output", ["table", "json"])
@pytest.mark.parametrize("trusted", [("next", "state", "kind", "role"), ("next",)], ids=["states", "all"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_prints_what_a_terminal_obeys(
    terminal: Terminal, server: HostileServer, words: tuple[str, ...], trusted: tuple[str, ...], output: str
) -> None:
    # An id that is no text at all can be shown, but not asked about.
    server.trusted = frozenset((*trusted, "id") if words[0] == "run" else trusted)
    behind = words.index("--") if "--" in words else len(words)
    chosen = () if "-q" in words else ("-o", output)
    result = terminal.type(*words[:behind], *chosen, *words[behind:])
    assert not FORBIDDEN.findall(result.stdout + result.stderr), (result.stdout, result.stderr)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if output == "json" and result.exit_code == 0 and "-q" not in words and words[0] not in LINES:
        json.loads(result.stdout)


@pytest.mark.parametrize("words", [("show", "job-12"), ("audit",), ("ps", "-a"), ("events",), ("nodes",), ("teams",)])
def test_what_was_written_is_still_seen_and_is_no_markup(terminal: Terminal, words: tuple[str, ...]) -> None:
    shown = terminal.type(*words, piped=True).stdout
    assert "\\x1b[2J" in shown
    assert "[bold]B[/bold]" in shown


def test_no_text_begins_a_row_of_its_own(terminal: Terminal, day: FakeServer) -> None:
    for command in (("audit",), ("ps", "-a"), ("nodes",), ("events",), ("token", "list")):
        lines = terminal.type(*command, piped=True).stdout.splitlines()
        assert not [line for line in lines if line.startswith("\\x1b")]


def test_errors_of_others_are_shown_and_not_obeyed(terminal: Terminal, server: FakeServer) -> None:
    server.answers["GET /v1/nodes"] = a_problem(403, "refused", f"because {HOSTILE}")
    result = terminal.type("nodes")
    assert result.exit_code == 3
    assert "because \\x1b[2J" in result.stderr
    assert not FORBIDDEN.search(result.stderr)


def test_raw_output_and_what_is_piped_is_as_it_was_printed(
    terminal: Terminal, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert terminal.type("logs", "job-12", "--raw").stdout_bytes == server.logs["job-12", 0, 2]
    monkeypatch.setattr("muster.cli.commands.logs.is_terminal", lambda: False)
    assert terminal.type("logs", "job-12").stdout_bytes == server.logs["job-12", 0, 2]


def test_a_log_is_escaped_the_same_in_whatever_pieces_it_comes() -> None:
    data = "é\r\nß\rx\x1b[0m\u202e€\n".encode() + b"\xff\xc3"
    whole = Escaper()(data, is_last=True)
    escaper = Escaper()
    pieces = [escaper(data[at : at + 1]) for at in range(len(data))] + [escaper(b"", is_last=True)]
    assert b"".join(pieces) == whole == "é\nß\nx\\x1b[0m\\u202e€\n\\xff\\xc3".encode()


@given(st.text(alphabet=st.characters(codec=None)))
def test_whatever_is_written_is_safe_and_safe_text_is_left_alone(text: str) -> None:
    safe = printable(text)
    assert not FORBIDDEN.search(safe)
    assert printable(safe) == safe
    assert not re.search("[\n\t]", one_line(text))
    assert not FORBIDDEN.search(Text(text).append(text).plain)
    document = as_json(json.dumps(text, ensure_ascii=False))
    assert not FORBIDDEN.search(document)
    assert json.loads(document) == text


def test_a_renderable_of_another_library_is_safe_too() -> None:
    from rich.text import Text as Foreign  # noqa: PLC0415

    console = screen.screen()
    with console.capture() as captured:
        console.print(Foreign(HOSTILE))
        console.print(HOSTILE)
    assert not FORBIDDEN.search(captured.get())
    assert "[bold]" in captured.get()


def test_there_is_one_way_to_print() -> None:
    """Commands print through `screen`, and draw with our own `Text`; bytes are written where they are asked for."""
    found = []
    for path in sorted(CLI.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("typer.echo", "typer.secho", "click.echo"):
                found.append(f"{path.name}: {ast.unparse(node)}")
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.stdout.buffer":
                found.append(f"{path.name}: bytes")
            if isinstance(node, ast.ImportFrom) and node.module in ("rich.text", "rich.console"):
                found += [f"{path.name}: {each.name}" for each in node.names if each.name == "Text"]
    echoes = {"screen.py: typer.echo", "console.py: Text"}
    raw = {"log_printers.py: bytes", "export.py: bytes", "raw_terminal.py: bytes", "submit.py: bytes"}
    assert set(found) <= echoes | raw
