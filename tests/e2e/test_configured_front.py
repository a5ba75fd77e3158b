"""What `muster.toml` says about names and figures holds on a real server, and no message of it names a path."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.conftest import Shell

CONFIGURATION = """
[server]
port = 0
allowed_hosts = ["muster.example.org"]
metrics = "token"

[local]
nodes = "1x2"
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    (tmp_path / "muster.toml").write_text(CONFIGURATION, "utf-8")
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    started = shell.run("up", "-d", "--config", str(tmp_path / "muster.toml"))
    assert started.returncode == 0, started.stderr
    assert ("running as root" in started.stderr) == (os.geteuid() == 0)
    yield shell
    shell.run("down", "--jobs")


def test_names_figures_and_messages(shell: Shell) -> None:
    url = json.loads((shell.home / "server.json").read_text("utf-8"))["url"]
    with httpx.Client(base_url=url) as client:
        statuses = {
            host: client.get("/healthz", headers={"Host": host}).status_code
            for host in ("localhost:1", "muster.example.org", "evil.example")
        }
        assert statuses == {"localhost:1": 200, "muster.example.org": 200, "evil.example": 421}
        assert client.get("/metrics").status_code == 401
    job = shell.says("submit", "-", "-q", input="name: a\nrun: env\nsecrets: [ABSENT]\n").strip()
    assert shell.type("wait", job).exit_code == 1
    told = shell.says("logs", job)
    assert "there is no secret ABSENT" in told
    assert "$MUSTER_HOME" in told
    assert str(shell.home) not in told
