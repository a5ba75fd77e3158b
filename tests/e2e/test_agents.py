"""Machines elsewhere as nodes: a real server, and agents that have nothing but Python."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shell, eventually

CONFIGURATION = """
[server]
port = 0

[[engines]]
name = "lab"
kind = "agents"

[cluster]
nodes = [{name = "here", gpus = 2}, {name = "gpu[1-2]", gpus = 4, engine = "lab"}]
"""

GANG = """
name: gang
workers: 2
resources: {gpus: 4}
secrets: [KEY]
checkpoint: {path: PATH}
run: |
  echo $MUSTER_NODE $RANK of $WORLD_SIZE, ${#MUSTER_TOKEN} letters, KEY=$KEY
  until [ -e END ]; do sleep 0.1; done
"""


@dataclass(kw_only=True)
class Machines:
    """A server, and two other machines."""

    shell: Shell
    folder: Path
    agents: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def run_agent(self, node: str, *options: str) -> subprocess.Popen[bytes]:
        """Run the agent of a machine, by a Python that finds nothing else."""
        file, home = str(self.folder / "agent.pyz"), str(self.folder / f"machine-{node}")
        return subprocess.Popen([sys.executable, "-S", "-E", file, "--node", node, "--home", home, *options])

    def connect(self, node: str) -> None:
        """Have a machine connect itself."""
        url = json.loads((self.shell.home / "server.json").read_text("utf-8"))["url"]
        token = self.folder / f"token-{node}"
        self.agents[node] = self.run_agent(node, "--url", url, "--token-file", str(token))

    def switch_off(self, node: str) -> None:
        """A machine dies with everything on it."""
        self.agents[node].kill()
        self.agents[node].wait()
        assert self.run_agent(node, "--end").wait(timeout=60) == 0

    def job(self, job: str) -> dict[str, Any]:
        """What the server says of a job."""
        return dict(json.loads(self.shell.says("show", job, "-o", "json")))

    def state(self, node: str) -> str:
        """What the server says of a node."""
        found = {each["name"]: each["state"] for each in json.loads(self.shell.says("nodes", "-o", "json"))}
        return str(found[node])


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    (tmp_path / "muster.toml").write_text(CONFIGURATION, "utf-8")
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    secret = shell.home / "secrets" / "KEY"
    secret.parent.mkdir(parents=True, mode=0o700)
    shell.home.chmod(0o700)
    secret.touch(0o600)
    secret.write_text("sesame\n")
    assert shell.run("up", "-d", "--config", str(tmp_path / "muster.toml")).returncode == 0
    shell.says("agent", "write", str(tmp_path / "agent.pyz"))
    found = Machines(shell=shell, folder=tmp_path)
    for node in ("gpu1", "gpu2"):
        (tmp_path / f"token-{node}").write_text(shell.says("agent", "token", node, "-q"))
    yield found
    for node, agent in found.agents.items():
        agent.terminate()
        agent.wait()
        found.run_agent(node, "--end").wait()
    shell.run("down", "--jobs")


def test_a_gang_runs_on_machines_elsewhere_and_survives_the_server_and_a_machine(machines: Machines) -> None:
    shell, end = machines.shell, machines.folder / "end"
    for node in ("gpu1", "gpu2"):
        machines.connect(node)
    text = GANG.replace("END", str(end)).replace("PATH", str(machines.folder / "saves"))
    job = shell.says("submit", "-", "-q", input=text).strip()
    eventually(lambda: "letters" in shell.type("logs", job, "--rank", "1").stdout, what="its output is here")
    assert shell.says("logs", job, "--rank", "1") == "gpu2 1 of 2, 67 letters, KEY=***\n"
    ran = shell.run("exec", job, "--rank", "1", "--", "sh", "-c", "echo beside $MUSTER_NODE; exit 7")
    assert (ran.returncode, ran.stdout) == (7, "beside gpu2\n")

    pid = json.loads((shell.home / "server.json").read_text("utf-8"))["pid"]
    url = json.loads((shell.home / "server.json").read_text("utf-8"))["url"]
    subprocess.run(["kill", "-9", str(pid)], check=True)
    configured, port = str(machines.folder / "muster.toml"), url.rpartition(":")[2]
    assert shell.run("up", "-d", "--config", configured, "--port", port).returncode == 0
    eventually(lambda: machines.state("gpu2") == "ready" and shell.is_in(job, "running"), what="it goes on")

    machines.switch_off("gpu2")
    eventually(lambda: machines.state("gpu2") == "down", what="the machine is missed")
    assert "can be reached" in shell.type("fence", "gpu1").output
    assert machines.job(job)["attempt"] == 1  # nobody knows that it is off: it might be the network
    assert not shell.is_in(job, "queued")
    shell.says("fence", "gpu2", "--reason", "smoke")
    eventually(lambda: shell.is_in(job, "queued"), what="it is known to be lost")
    machines.connect("gpu2")
    eventually(lambda: shell.is_in(job, "running") and machines.job(job)["attempt"] == 2, what="it runs again")
    end.touch()
    assert shell.type("wait", job).exit_code == 0
    assert "root says that it is off: smoke" in shell.says("story", job)


def test_files_of_a_workdir_are_there_as_they_were_submitted(machines: Machines) -> None:
    for node in ("gpu1", "gpu2"):
        machines.connect(node)
    code = machines.folder / "code"
    (code / "data").mkdir(parents=True)
    (code / "train.sh").write_text("echo as submitted; wc -c < data/large")
    (code / "data" / "large").write_bytes(os.urandom(20_000_000))  # more than one answer has
    file = machines.folder / "job.yaml"
    file.write_text("{name: code, workdir: code, workers: 2, resources: {gpus: 4}, run: pwd; sh train.sh; touch mine}")
    job = machines.shell.says("submit", str(file), "-q").strip()
    (code / "train.sh").write_text("echo edited later")
    assert machines.shell.type("wait", job).exit_code == 0

    def printed() -> list[list[str]]:
        return [machines.shell.type("logs", job, "--rank", rank).stdout.split("\n") for rank in "01"]

    eventually(lambda: all(said[1:3] == ["as submitted", "20000000"] for said in printed()), what="both have all files")
    eventually(lambda: not any(Path(where).exists() for where, *_ in printed()), what="copies go with the attempt")
    assert not (code / "mine").exists()


def test_a_gang_that_needs_two_engines_hears_that_none_spans_two(machines: Machines) -> None:
    for node in ("gpu1", "gpu2"):
        machines.connect(node)
    eventually(lambda: machines.state("gpu1") == "ready", what="it is connected")
    job = machines.shell.type("submit", "-", "-q", input="{name: wide, workers: 5, resources: {gpus: 2}, run: 'true'}")
    assert job.exit_code == 3, job.output
    small = machines.shell.says("submit", "-", "-q", input="{name: ok, workers: 4, resources: {gpus: 2}, run: 'true'}")
    assert machines.shell.type("wait", small.strip()).exit_code == 0


def test_a_token_connects_one_node_and_does_nothing_else(machines: Machines) -> None:
    shell, folder = machines.shell, machines.folder
    secret = (folder / "token-gpu1").read_text().strip()
    elsewhere = Shell(home=shell.home, folder=folder, variables={"MUSTER_TOKEN": secret})
    assert elsewhere.type("ps").exit_code == 3
    url = json.loads((shell.home / "server.json").read_text("utf-8"))["url"]
    agent = [sys.executable, "-S", "-E", str(folder / "agent.pyz"), "--node", "gpu2", "--home", str(folder / "wrong")]
    shown = ["--url", url, "--token-file", str(folder / "token-gpu1")]
    with subprocess.Popen([*agent, *shown], stderr=subprocess.PIPE, text=True) as wrong:
        assert wrong.stderr is not None
        assert "it refuses this agent (403)" in wrong.stderr.readline()
        wrong.terminate()
    assert subprocess.run([*agent, "--end"], check=False).returncode == 0


def test_a_mistake_in_the_configuration_is_named(tmp_path: Path) -> None:
    text = CONFIGURATION.replace('engine = "lab"', 'engine = "lap"')
    (tmp_path / "muster.toml").write_text(text, "utf-8")
    failed = Shell(home=tmp_path / "home", folder=tmp_path).run("up", "-d", "--config", str(tmp_path / "muster.toml"))
    assert failed.returncode == 2
    assert "'lap' is the engine of nodes, and there is none" in failed.stderr
    assert "did you mean 'lab'" in failed.stderr.replace("`", "'")
