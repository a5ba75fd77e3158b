"""What the demo runs: three teams, a gang that is preempted and resumes, a sweep, a job that fails, an urgent job."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from muster.client.answers import Job

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

ENOUGH = timedelta(seconds=4)

_TRAINING = """
saved=$MUSTER_CHECKPOINT_PATH/step-$MUSTER_RANK
step=$(cat "$saved" 2>/dev/null || echo 0)
echo "rank $MUSTER_RANK on $MUSTER_NODE begins at step $step"
save() { echo "$step" > "$saved"; echo saved > "$MUSTER_CHECKPOINT_NOTICE"; echo "saved at step $step"; exit 0; }
trap save TERM
while [ "$step" -lt 10 ]; do
  sleep 1 & wait $!
  step=$((step + 1))
  echo "step $step of 10"
done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A submission, when it is made, and what a spectator is told."""

    told: str
    job: dict[str, Any]
    is_time: Callable[[Sequence[Job], datetime], bool] = lambda _jobs, _present: True


def story(folder: Path) -> tuple[Scene, ...]:
    """The submissions in their order. Checkpoints go to the folder."""
    return (
        Scene(
            told="language trains a model: a gang of 3 workers with 8 GPUs each, all or nothing",
            job={
                "name": "pretrain",
                "team": "language",
                "workers": 3,
                "resources": {"gpus": 8},
                "checkpoint": {"path": str(folder), "grace": "5s"},
                "run": _TRAINING,
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
            is_time=_pretraining_for_a_while,
        ),
    )


def _pretraining_for_a_while(jobs: Sequence[Job], present: datetime) -> bool:
    """True once the gang has run so long that losing its work would hurt."""
    return any(
        job.name == "pretrain" and job.state == "running" and job.started is not None and present - job.started > ENOUGH
        for job in jobs
    )
