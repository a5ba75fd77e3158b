"""The guide to two control planes does what it says: its commands are run in the order in which they stand there."""

import re
import socket
import subprocess
from contextlib import closing
from pathlib import Path

from tests.e2e.conftest import MUSTER, Shell
from tests.postgres import running_server

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "high-availability.md").read_text("utf-8")
DEADLINE_S = 240.0


def free_ports() -> tuple[str, str]:
    """Two ports that nobody uses."""
    with closing(socket.create_server(("127.0.0.1", 0))) as one, closing(socket.create_server(("127.0.0.1", 0))) as two:
        return str(one.getsockname()[1]), str(two.getsockname()[1])


def with_ports(text: str, ports: tuple[str, str]) -> str:
    """The text with ports that are free here."""
    return text.replace("8470", ports[0]).replace("8471", ports[1])


def commands() -> str:
    """All commands of the guide, as one script. `muster` is that of this tree."""
    blocks = re.findall(r"^```sh\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    muster = f'muster() {{ {" ".join(map(repr, MUSTER))} "$@"; }}'
    return "\n".join(["set -e -o pipefail", muster, *blocks])


def test_every_command_of_the_guide_works_as_written(tmp_path: Path) -> None:
    ports = free_ports()
    (configuration,) = re.findall(r"^```toml\n(# muster.toml.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    (tmp_path / "muster.toml").write_text(with_ports(configuration, ports), "utf-8")
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    with running_server() as postgres:
        shell.variables |= {"PGHOST": str(postgres.folder), "PGUSER": "postgres"}
        try:
            done = subprocess.run(
                ["bash", "-c", with_ports(commands(), ports)],
                env=shell.environment,
                cwd=tmp_path,
                text=True,
                capture_output=True,
                timeout=DEADLINE_S,
                check=False,
            )
        finally:
            shell.run("down", "--jobs")
    assert done.returncode == 0, done.stdout + done.stderr
    roles = re.findall(r'"role":"(\w+)"', done.stdout)
    assert roles == ["leader", "standby", "standby"]
    assert "another leads" in done.stdout
