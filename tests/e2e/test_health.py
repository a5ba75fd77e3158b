"""Bad GPUs and bad nodes on a real server: a command probe says what is wrong, and jobs really move."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shell, eventually

CONFIGURATION = """
[server]
port = 0

[local]
nodes = "4x2"

[health]
command = "./check-node"
every = "1s"
max_drained = 0.3
test = "sh burn-in"
"""

JOB = "name: train\nworkers: 1\nresources: {gpus: 1}\nrun: sleep 1000\n"


class Fleet(Shell):
    """A shell beside four nodes that report what their files say."""

    def ails(self, node: str, *signals: Mapping[str, object]) -> None:
        """From now on a node reports these signals."""
        draft = self.folder / f"draft.{node}"
        draft.write_text("".join(f"{json.dumps(dict(each))}\n" for each in signals))
        draft.replace(self.folder / f"signals.{node}")

    def health(self, node: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.says("health", node, "-o", "json"))
        return found

    def is_now(self, node: str, state: str) -> bool:
        return bool(self.health(node)["state"] == state)

    def job(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.says("show", job, "-o", "json"))
        return found


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    (tmp_path / "muster.toml").write_text(CONFIGURATION, "utf-8")
    check = tmp_path / "check-node"
    check.write_text('#!/bin/sh\n[ ! -e "signals.$MUSTER_NODE" ] || cat "signals.$MUSTER_NODE"\n')
    check.chmod(0o755)
    (tmp_path / "burn-in").write_text('echo "$MUSTER_NODE" >> tested\n[ ! -e "worn.$MUSTER_NODE" ]\n')
    made = Fleet(home=tmp_path / "home", folder=tmp_path)
    up = made.run("up", "-d", "--config", str(tmp_path / "muster.toml"))
    try:
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        made.run("down", "--jobs")


def running(fleet: Fleet, count: int) -> list[str]:
    jobs = [fleet.says("submit", "-", "-q", input=JOB).strip() for _ in range(count)]
    eventually(lambda: all(fleet.is_in(job, "running") for job in jobs), what="all jobs running")
    return jobs


def test_a_bad_gpu_of_a_running_job_costs_that_job_one_restart_and_nobody_else_anything(fleet: Fleet) -> None:
    jobs = running(fleet, 5)
    hit = fleet.job(jobs[0])["workers"][0]
    node, gpu = hit["node"], hit["gpus"][0]
    fleet.ails(node, {"signal": "gpu_ecc_uncorrected", "gpu": gpu, "value": 1})
    eventually(lambda: fleet.job(jobs[0])["attempt"] == 2, what="its second attempt")
    eventually(lambda: fleet.is_in(jobs[0], "running"), what="that it runs again")
    assert [fleet.job(job)["attempt"] for job in jobs] == [2, 1, 1, 1, 1]
    again = fleet.job(jobs[0])["workers"][0]
    assert (again["node"], again["gpus"]) != (node, [gpu])
    found = fleet.health(node)
    assert found["state"] == "ready"
    assert found["gpus"][gpu] == {
        "index": gpu,
        "state": "drained",
        "because": "1 uncorrectable memory errors lately",
    }
    assert "uncorrectable" in fleet.says("nodes", "-o", "json")
    assert "is bad" in fleet.says("story", jobs[0])


def test_a_bad_node_is_emptied_tested_and_returns_and_only_as_many_as_may_be(fleet: Fleet) -> None:
    jobs = running(fleet, 1)
    node = fleet.job(jobs[0])["workers"][0]["node"]
    bad = {"signal": "custom.fabric", "verdict": "bad"}
    (fleet.folder / f"worn.{node}").touch()
    fleet.ails(node, bad)
    eventually(lambda: fleet.is_now(node, "drained"), what="that it is drained")
    other = next(each for each in ("n1", "n2", "n3", "n4") if each != node)
    fleet.ails(other, bad)
    eventually(lambda: fleet.is_now(other, "suspect"), what="that another one is suspected")
    assert "no more may be" in fleet.health(other)["because"]
    eventually(lambda: fleet.is_in(jobs[0], "running"), what="that the job runs elsewhere")
    moved = fleet.job(jobs[0])
    assert moved["attempt"] == 2
    assert moved["workers"][0]["node"] != node
    fleet.ails(other)
    fleet.ails(node)
    eventually(lambda: "its test failed" in (fleet.health(node)["because"] or ""), what="a failed test")
    (fleet.folder / f"worn.{node}").unlink()
    eventually(lambda: fleet.is_now(node, "probation"), what="probation")
    eventually(lambda: fleet.is_now(node, "ready"), what="its return")
    assert [each["node"] for each in json.loads(fleet.says("health", "-o", "json"))] == ["n1", "n2", "n3", "n4"]
    assert set((fleet.folder / "tested").read_text().split()) == {node}


def test_an_operator_overrules_health_and_a_wrong_line_is_noted(fleet: Fleet) -> None:
    fleet.ails("n2", {"signal": "custom.fabric", "verdict": "bad"})
    eventually(lambda: fleet.is_now("n2", "drained"), what="that it is drained")
    fleet.says("undrain", "n2")
    fleet.ails("n2", {"signal": "custom.fabric", "verdict": "bad"}, {"signal": "gpu_temp"})
    eventually(lambda: fleet.health("n2")["notes"], what="a note on the wrong line")
    assert fleet.health("n2")["state"] == "ready"
    assert "unknown signal" in fleet.says("health", "n2")
