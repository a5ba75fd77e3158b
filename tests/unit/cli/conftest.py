"""A command line that talks to a server in memory, at a moment that stands still."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Any

import pytest
import typer.main
from click.testing import Result
from typer.testing import CliRunner

from muster.cli.drawing import wording
from muster.cli.main import app
from muster.client import client as client_module
from muster.client.transport import Transport
from tests.unit.cli.cluster import fill
from tests.unit.client.fake_server import FakeServer

NOW = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


class StillClock(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "StillClock":
        return cls(2026, 3, 2, 12, 0, 0, tzinfo=tz)


@dataclass
class Terminal:
    """A user who types commands."""

    server: FakeServer
    columns: int = 80

    def type(self, *words: str, input: str | None = None, piped: bool = False, **variables: str) -> Any:  # noqa: A002
        environment = {"COLUMNS": None if piped else str(self.columns), **variables}
        return CliRunner().invoke(app, list(words), input=input, env=environment)

    def shows(self, *words: str, **details: Any) -> str:
        """What a command prints when it works, without blanks at the ends of lines."""
        result: Result = self.type(*words, **details)
        assert result.exit_code == 0, (result.output, result.exception)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout).splitlines()
        assert all(line == line.rstrip() for line in lines)
        if not details.get("piped") and "json" not in words:
            assert max(map(len, lines), default=0) <= self.columns
        return result.stdout


@cache
def _built_command(commands: Any) -> Any:
    """Building all commands takes longer than any of them does."""
    return typer.main.get_command(commands)


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def terminal(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """80 columns, in UTC, with a server that answers at once."""
    monkeypatch.setattr("typer.testing._get_command", _built_command)

    def no_wait(_: float) -> None:
        pass

    def connected(address: Any, **options: Any) -> Transport:
        return Transport(address, **{**options, "below": server.transport, "sleep": no_wait})

    monkeypatch.setattr(client_module, "Transport", connected)
    monkeypatch.setattr("muster.cli.following.following.time.sleep", no_wait)
    monkeypatch.setattr(wording, "datetime", StillClock)
    monkeypatch.setenv("MUSTER_URL", "http://127.0.0.1:8470")
    monkeypatch.setenv("MUSTER_TOKEN", "secret")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield Terminal(server)
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def day(server: FakeServer) -> FakeServer:
    """The server, in the middle of its day."""
    fill(server)
    return server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-screens", action="store_true", help="Write golden plans and screens anew.")


@pytest.fixture
def update_screens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-screens", default=False))
