"""What happens in the demo: three teams, a gang that is preempted and loses a node and resumes, a sweep, a failure."""

import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from muster.client.answers import Job
from muster.home import Home

CONFIGURATION = """
[teams]
language = {guaranteed = {"*" = 16}, weight = 2, tiers = ["production", "standard"]}
vision = {}
speech = {}

[policy]
min_runtime = "3s"
stop_grace = "5s"
"""
"""A job may be preempted after three seconds, because no spectator wants to wait for the usual ten minutes. One team
may use the highest tier. The other teams are guaranteed nothing, so that team may have the whole cluster."""

ENOUGH = timedelta(seconds=6)
TRAINING = "pretrain"
"""The job that survives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A submission or a strike, when it is made, and what a spectator is told."""

    told: str
    job: dict[str, Any] | None = None
    strike: Callable[[Path, Sequence[Job]], None] | None = None
    """Given the home and all jobs."""
    is_time: Callable[[Sequence[Job], datetime], bool] = lambda _jobs, _present: True


def story(folder: Path, program: Path | None = None) -> tuple[Scene, ...]:
    """What happens, in its order. Checkpoints go to the folder. A program is trained by torchrun, if one is given."""
    return (
        Scene(
            told="language trains a model: a gang of 3 workers, all or nothing",
            job={
                "name": TRAINING,
                "team": "language",
                "workers": 3,
                "checkpoint": {"path": str(folder), "every": "5s", "grace": "20s"},
                **(_plain_training() if program is None else _torch_training(program)),
            },
        ),
        Scene(
            told="vision sweeps: 12 tasks of 2 GPUs, at most 4 at once",
            job={
                "name": "sweep",
                "team": "vision",
                "tier": "exploratory",
                "array": "0-11%4",
                "resources": {"gpus": 2},
                "run": "sleep 1.5; echo accuracy 0.9$MUSTER_ARRAY_INDEX",
            },
        ),
        Scene(
            told="speech has a job that fails, and is tried once more",
            job={
                "name": "broken",
                "team": "speech",
                "resources": {"gpus": 0.5},
                "retry": {"limit": 1},
                "run": "echo out of luck; sleep 1; exit 3",
            },
        ),
        Scene(
            told="production wants the whole cluster now: the others save themselves, leave, and resume afterwards",
            job={
                "name": "retrain",
                "team": "language",
                "tier": "production",
                "workers": 4,
                "resources": {"gpus": 8},
                "run": "echo retraining for the release; sleep 3",
            },
            is_time=lambda jobs, present: _is_training(jobs, present, attempt=1),
        ),
        Scene(
            told="a node of the gang dies: it goes on from its newest checkpoint",
            strike=_kill_a_node,
            is_time=lambda jobs, present: _is_training(jobs, present, attempt=2),
        ),
    )


def _plain_training() -> dict[str, Any]:
    command = [sys.executable, "-m", "muster.cli.server.demo_training"]
    return {"resources": {"gpus": 8}, "run": shlex.join(command)}


def _torch_training(program: Path) -> dict[str, Any]:
    command = [sys.executable, str(program.resolve()), "--steps", "300", "--pause", "0.04"]
    return {"resources": {"gpus": 1}, "launch": "torchrun", "run": shlex.join(command)}


def _is_training(jobs: Sequence[Job], present: datetime, *, attempt: int) -> bool:
    """True once the gang has run so long that losing its work would hurt."""
    gang = next((job for job in jobs if job.name == TRAINING), None)
    if gang is None or gang.state != "running" or gang.attempt != attempt or gang.started is None:
        return False
    return present - gang.started > ENOUGH


def _kill_a_node(home: Path, jobs: Sequence[Job]) -> None:
    """Kill the supervisor of a node of the gang. Whatever it ran is ended with it."""
    gang = next(job for job in jobs if job.name == TRAINING)
    known = json.loads((Home(home).node(gang.workers[-1].node) / "supervisor.json").read_text("utf-8"))
    os.kill(known["pid"], signal.SIGKILL)
