"""A user who types Slurm's commands, with a server in memory at a moment that stands still."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from muster.client import client as client_module
from muster.client.transport import Transport
from muster.slurm import asking
from muster.slurm.__main__ import main
from tests.unit.cli.conftest import StillClock
from tests.unit.client.fake_server import FakeServer, Json, a_job, a_node, a_running_job, an_ended_job

HOME = "/data/ada"


@dataclass
class Typed:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass
class SlurmUser:
    """Someone who knows Slurm."""

    server: FakeServer
    capture: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def types(self, *words: str) -> Typed:
        """Run a command, whatever comes of it."""
        self.monkeypatch.setattr(sys, "argv", ["slurm", *words])
        self.capture.readouterr()
        try:
            code = main()
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = self.capture.readouterr()
        return Typed(code, out, err)

    def reads(self, line: str) -> list[str]:
        """What a command prints when it works."""
        typed = self.types(*line.split())
        assert (typed.code, typed.err) == (0, "")
        return typed.lines


def a_task(array: str, index: int, **changes: Any) -> Json:
    """A task of an array that waits for its turn."""
    made: Json = {"state": "blocked", "array": {"parent": array, "index": index}, "gpus": 1, **changes}
    return a_job(f"{array}.{index}", **made)


def a_step(step: str, **changes: object) -> Json:
    """A step that ran for a minute, as the API shows it."""
    return {
        "step": step,
        "name": "python",
        "tasks": 4,
        "cpus": 8,
        "gpus": 2,
        "nodes": ["n1", "n2"],
        "started": "2026-03-02T11:58:00Z",
        "ended": "2026-03-02T11:59:00Z",
        "exit_code": 0,
        "max_rss_bytes": 3 << 20,
        "max_rss_task": 1,
        "max_rss_node": "n2",
        "cpu_s": 90.5,
        **changes,
    }


def gives_steps(user: SlurmUser, job: str, *steps: Json) -> None:
    user.server.jobs[job]["spec"]["launch"] = "slurm"
    user.server.answers[f"GET /v1/jobs/{job}/steps"] = {"items": list(steps), "next": None}


OPEN: Json = {"ended": None, "exit_code": None, "max_rss_bytes": None, "max_rss_task": None, "cpu_s": None}
"""What a step that has not ended does not say."""


def _jobs() -> list[Json]:
    small = {"resources": {"gpus": 1, "cpus": 4, "memory": "16GiB"}, "run": "python sweep.py", "name": "sweep"}
    started = {"started": "2026-03-02T11:58:00Z", "first_started": "2026-03-02T11:58:00Z", "attempt": 1}
    ended = {"ended": "2026-03-02T11:59:00Z", "first_started": "2026-03-02T11:58:00Z", "started": None}
    running = {"state": "running", "workers": [{"rank": 0, "role": "worker", "node": "n3", "gpus": [0], "share": None}]}
    batch = {
        "name": "llama-pretrain",
        "workers": 2,
        "resources": {"gpus": 8, "cpus": 64, "memory": "512GiB"},
        "run": "#!/bin/bash\nsrun python train.py",
        "workdir": HOME,
        "batch": {"tasks_per_worker": 8, "cpus_per_task": 8, "output": "%x-%j.out"},
    }
    return [
        a_running_job("job-7", nodes=("n1", "n2"), name="llama-pretrain", gpus=16, spec=batch, max_duration_s=172_800),
        a_job("job-8", name="big", user="bob", gpus=64, max_duration_s=3_600, priority=90),
        a_job("job-9", name="later", state="blocked", depends_on=[{"job": "job-7", "when": "succeeded"}]),
        a_job("job-10", name="sweep", state="running", tasks={"running": 1}, spec={**small, "array": "0-4%2"}),
        a_task("job-10", 0, name="sweep", spec=small, state="succeeded", reason="completed", exit_code=0, **ended),
        a_task("job-10", 1, name="sweep", spec=small, **running, **started),
        *(a_task("job-10", index, name="sweep", spec=small) for index in (2, 3, 4)),
        an_ended_job("job-11", name="oom", state="failed", reason="oom", exit_code=137, **ended),
        an_ended_job("job-12", name="bad", state="failed", reason="error", exit_code=3, **ended),
        an_ended_job("job-13", name="slow", state="timed_out", reason="timeout", exit_code=143, **ended),
        an_ended_job("job-14", name="gone", state="cancelled", reason="cancelled", exit_code=None, **ended),
        an_ended_job("job-2", name="old", first_started="2026-03-02T09:10:00Z"),
    ]


def _answers() -> dict[str, Any]:
    reason = {"code": "capacity", "message": "needs 64 GPUs, 8 are free", "would_help": None}
    estimate = {"p50": "2026-03-02T13:00:00Z", "p90": "2026-03-02T15:00:00Z"}
    why = {"job": "job-8", "state": "queued", "position": 1, "reasons": [reason], "estimate": estimate, "hold": None}
    tiers = [{"name": "production"}, {"name": "standard", "max_duration": "7d"}, {"name": "exploratory"}]
    roles = [{"role": "member", "team": "nlp"}]
    me = {
        "name": "ada",
        "subject": "ada",
        "label": "ada",
        "bindings": roles,
        "scopes": [],
        "token": "t",
        "expires": None,
    }
    return {
        "GET /v1/jobs/job-8/why": why,
        "GET /v1/pools": [{"name": "spot", "tiers": ["exploratory"]}],
        "GET /v1/tiers": tiers,
        "GET /v1/whoami": me,
        "GET /healthz": {"status": "ok"},
    }


@pytest.fixture
def user(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmUser]:
    """A cluster of four nodes in the middle of its day, at noon in UTC."""
    used = {"gpus": 8, "cpus": 64, "memory_bytes": 1 << 39}
    some = {"gpus": 1, "cpus": 4, "memory_bytes": 1 << 34}
    server = FakeServer(
        jobs={job["id"]: job for job in _jobs()},
        nodes=[
            a_node("n1", used=used, jobs=["job-7"]),
            a_node("n2", used=used, jobs=["job-7"]),
            a_node("n3", used=some, jobs=["job-10.1"]),
            a_node("n4", state="drained", because="a bad disk", pool="spot"),
        ],
        teams=[{"path": "nlp", "weight": 2, "usage_gpu_s": 1200.0, "guaranteed": {}, "limit": {}, "used": {}}],
        answers=_answers(),
    )

    def connected(address: Any, **options: Any) -> Transport:
        return Transport(address, **{**options, "below": server.transport, "sleep": lambda _: None})

    monkeypatch.setattr(client_module, "Transport", connected)
    monkeypatch.setattr(asking, "datetime", StillClock)
    monkeypatch.setattr(asking, "getuser", lambda: "account")
    monkeypatch.setenv("MUSTER_URL", "http://127.0.0.1:8470")
    monkeypatch.setenv("MUSTER_TOKEN", "secret")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield SlurmUser(server, capsys, monkeypatch)
    monkeypatch.undo()
    time.tzset()
