"""A server on this machine with real processes, started and stopped as people do it: with `muster up` and `down`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typer.testing import CliRunner

from muster.cli.main import app

DEADLINE_S = 60.0
"""How long anything may take on a machine that is busy with something else."""
MUSTER = (sys.executable, "-c", "from muster.cli.main import main; main()")

T = TypeVar("T")


def eventually(look: Callable[[], T | None], *, what: str) -> T:
    """The first true thing that `look` sees."""
    until = time.monotonic() + DEADLINE_S
    while not (seen := look()):
        assert time.monotonic() < until, f"never happened: {what}"
        time.sleep(0.05)
    return seen


@dataclass(kw_only=True)
class Shell:
    """A user with a home, who types commands."""

    home: Path
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
        return {**kept, "MUSTER_HOME": str(self.home), "COLUMNS": "100", **self.variables}

    def type(self, *words: str, input: str | None = None) -> Any:  # noqa: A002
        """Run a command in this process, which is quick, against the real server."""
        given = {"MUSTER_HOME": str(self.home), "MUSTER_URL": None, "MUSTER_TOKEN": None, "COLUMNS": "100"}
        return CliRunner().invoke(app, list(words), input=input, env={**given, **self.variables})

    def says(self, *words: str, code: int = 0, **details: Any) -> str:
        """What a command prints when it ends with the expected exit code."""
        result = self.type(*words, **details)
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        return str(result.stdout)

    def begin(self, *words: str, **details: Any) -> subprocess.Popen[str]:
        """Run a command in a process of its own."""
        command = [*MUSTER, *words]
        return subprocess.Popen(command, env=self.environment, cwd=self.folder, text=True, **details)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The same, until it ends."""
        return self.call(*MUSTER, *words, timeout_s=DEADLINE_S * 2)

    def call(self, *command: str, timeout_s: float = DEADLINE_S) -> subprocess.CompletedProcess[str]:
        """Run any program where the user is, until it ends."""
        return subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )

    def is_in(self, job: str, *states: str) -> bool:
        """True while a job is in one of these states."""
        return any(f" {state}" in self.says("show", job).splitlines()[0] for state in states)


@pytest.fixture(scope="session", autouse=True)
def foreground() -> None:
    """Commands that users type hear Ctrl-C, also where a shell started the tests with `&` and has them ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell beside a server with two nodes of four GPUs."""
    made = Shell(home=tmp_path_factory.mktemp("home"), folder=tmp_path_factory.mktemp("folder"))
    up = made.run("up", "-d", "--nodes", "2x4", "--port", "0")
    try:
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        made.run("down", "--jobs")
