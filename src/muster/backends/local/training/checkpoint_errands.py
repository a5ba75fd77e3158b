"""What is in the storage of a run, read or removed by a short process with the environment of its job.

The control plane neither opens what jobs wrote nor has the credentials of jobs. The process answers in JSON lines.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from muster.backends.base import FoundCheckpoint
from muster.model.errors import Unavailable
from muster.model.node_limits import CHECKPOINT_ERRAND_CHARS, CHECKPOINT_ERRAND_S
from muster.model.printable import one_line
from muster.model.spec import JobSpec
from muster.worker.launch.checkpoint_path import checkpoint_path
from muster.worker.launch.environment import inherited
from muster.worker.launch.runtime_folder import hot_folder
from muster.worker.launch.secret_files import SecretMissing, secrets_of

MODULE = "muster.train.catalog"


def stored_checkpoints(
    home: Path, spec: JobSpec, run: str, *, step: int | None = None, verify: bool = False
) -> tuple[FoundCheckpoint, ...]:
    """What is in storage, oldest first. With `verify`, all files are read."""
    which = [] if step is None else ["--step", str(step)]
    lines = _run(home, spec, run, ["verify" if verify else "list", *which])
    return tuple(_stored(line) for line in lines)


def remove_checkpoint(home: Path, spec: JobSpec, run: str, step: int) -> None:
    """Remove the files of a checkpoint in all places."""
    _run(home, spec, run, ["remove", "--step", str(step)])


def _run(home: Path, spec: JobSpec, run: str, words: list[str]) -> list[dict[str, Any]]:
    """Run the process, and return what it says. Raises `Unavailable` with its last words when it fails."""
    path = [] if spec.checkpoint is None else ["--path", checkpoint_path(spec, run.rpartition("-")[0])]
    command = [sys.executable, "-m", MODULE, *words, "--run", run, "--hot", str(hot_folder(home, os.environ)), *path]
    try:
        secrets = secrets_of(home, spec.team, spec.secrets)
        done = subprocess.run(
            command,
            env={**inherited(os.environ), **dict(spec.env), **secrets},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CHECKPOINT_ERRAND_S,
            check=False,
        )
    except (OSError, SecretMissing) as error:
        raise _failed(str(error)) from error
    except subprocess.TimeoutExpired:
        raise _failed(f"it has not finished within {CHECKPOINT_ERRAND_S} s") from None
    if done.returncode:
        raise _failed(done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or f"code {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line]


def _failed(because: str) -> Unavailable:
    told = one_line(because[-CHECKPOINT_ERRAND_CHARS:])
    return Unavailable(f"the checkpoints cannot be read: {told}", brief="the checkpoints cannot be read")


def _stored(line: dict[str, Any]) -> FoundCheckpoint:
    return FoundCheckpoint(
        step=int(line["step"]),
        ranks=int(line["ranks"]),
        bytes=int(line["bytes"]),
        saved_ms=line["at_ms"],
        is_complete=bool(line["complete"]),
        is_verified=line["verified"],
        places=tuple(line["where"]),
        problems=tuple(line["problems"]),
        unread=one_line(str(line["unread"])[-CHECKPOINT_ERRAND_CHARS:]),
    )
