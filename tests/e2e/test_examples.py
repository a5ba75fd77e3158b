"""What the README, the examples and the hints of commands name runs as it is on the server that they name."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import MUSTER, Shell

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
FUNCTION = f'muster() {{ {" ".join(map(repr, MUSTER))} "$@"; }}\n'
"""`muster` of this tree, for a shell."""


def started(tmp_path: Path, *options: str) -> tuple[Shell, str]:
    """A server on this machine, and what `muster up` printed."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "nvidia-smi").write_text("#!/bin/sh\necho GPU $MUSTER_GPUS\n", "utf-8")
    (programs / "nvidia-smi").chmod(0o755)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    shell.variables["PATH"] = f"{programs}:{os.environ['PATH']}"
    up = shell.run("up", "-d", *options)
    assert up.returncode == 0, up.stderr
    return shell, up.stdout + up.stderr


@pytest.fixture
def virtual(tmp_path: Path) -> Iterator[tuple[Shell, str]]:
    shell, said = started(tmp_path, "--nodes", "4x8", "--port", "0")
    yield shell, said
    shell.run("down", "--jobs")


@pytest.fixture
def described(tmp_path: Path) -> Iterator[tuple[Shell, str]]:
    shell, said = started(tmp_path, "--config", "examples/cluster/muster.toml", "--port", "0")
    yield shell, said
    shell.run("down", "--jobs")


def typed(shell: Shell, line: str) -> str:
    """What a line prints in a shell, without `muster top`, which would stay."""
    line = line.replace("muster top", "muster top --once")
    done = shell.call("bash", "-ec", FUNCTION + line)
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout


def nodes_of(shell: Shell, file: str, *options: str) -> set[str]:
    """Where a job file ran, to its end."""
    job = shell.says("submit", str(ROOT / file), "-q", *options).strip()
    assert shell.type("wait", job).exit_code == 0, shell.says("why", job)
    return set(re.findall(r"^.*rank \d.* on (\w+)", shell.says("logs", job), re.MULTILINE))


def test_the_example_the_hints_and_the_readme_run_on_virtual_nodes(virtual: tuple[Shell, str]) -> None:
    shell, said = virtual
    assert nodes_of(shell, "examples/job.yaml") <= {"n1", "n2", "n3", "n4"}
    hints = said.partition("try ")[2].splitlines()[:3]
    assert hints[-1].strip() == "muster top"
    for line in hints:
        typed(shell, line.strip())
    assert "not counted, because nobody said how much there is: CPUs (4 nodes), memory (4 nodes)" in shell.says("nodes")
    block = re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)[1]
    (file,) = re.findall(r"^```yaml\n(name: pretrain.*?)^```", README, re.DOTALL | re.MULTILINE)
    (shell.folder / "train.yaml").write_text(file.replace("sleep 30", "sleep 3"), "utf-8")
    lines = [line.partition("  #")[0].strip() for line in block.splitlines()]
    assert [line for line in lines if not line.startswith("muster ")] == ["source .venv/bin/activate"]
    numbers = {f"job-{old}": f"job-{new}" for old, new in ((1, 3), (2, 4))}  # two jobs were there before
    shown = [
        typed(shell, re.sub(r"job-\d", lambda found: numbers[found[0]], line))
        for line in lines
        if line.startswith("muster ") and " up " not in line
    ]
    assert "GPU" in shown[-2]


def test_a_described_cluster_is_used_live_with_its_types_racks_pools_and_bounds(described: tuple[Shell, str]) -> None:
    shell, said = described
    assert "the described nodes have 672 CPUs together" in said
    assert nodes_of(shell, "examples/cluster/job.yaml") <= {"h1", "h2"}
    assert nodes_of(shell, "examples/cluster/job.yaml", "--tier", "production") <= {"h1", "h2", "h3", "h4"}
    nodes = {node["name"]: node for node in json.loads(shell.says("nodes", "-o", "json"))}
    assert (nodes["h3"]["pool"], nodes["h3"]["domains"]) == ("urgent", {"block": "b1", "rack": "r2"})
    assert (nodes["s1"]["gpu_type"], nodes["s1"]["cpus"], nodes["s1"]["memory_bytes"]) == ("a100", 32, 256 << 30)
    too_much = "{name: big, team: vision, resources: {gpus: 1, gpu_type: h100, cpus: 129}, run: 'true'}"
    assert "does not fit" in shell.type("submit", "-", input=too_much).stderr
    other = too_much.replace("h100", "b200").replace("129", "1")
    assert "no node has a GPU of type b200; there are: a100, h100" in shell.type("submit", "-", input=other).stderr
    assert "are in state drained" not in shell.says("drain", "h2")
    assert shell.run("down").returncode == 0
    again = shell.run("up", "-d", "--port", "0")
    assert again.returncode == 0, again.stderr
    states = {node["name"]: node["state"] for node in json.loads(shell.says("nodes", "-o", "json"))}
    assert states == {**dict.fromkeys(nodes, "ready"), "h2": "drained"}
