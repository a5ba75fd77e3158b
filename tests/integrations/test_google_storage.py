"""Checkpoints in a bucket of Google Cloud Storage, which an emulator on this machine stands in for."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer
from muster.train.notice_pipe import NoticePipe
from muster.train.store.inventory import Inventory
from muster.train.store.places import places_of
from muster.train.surroundings import surroundings
from muster.train.uploader import Uploader
from tests.local.machine import eventually
from tests.train.jobs import AJob, environment, job

__all__ = ["job"]

BUCKET = "bucket"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables by which a job reaches an emulator with one bucket."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--default-bucket", BUCKET]
    process = subprocess.Popen(
        [sys.executable, "-m", "gcp_storage_emulator", *words],
        cwd=tmp_path_factory.mktemp("storage"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: _listens(port), what="the emulator listens")
        yield {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def a_state(step: int = 0) -> dict[str, Any]:
    return {"weights": np.full(20_000, step, dtype=float), "step": step}


def test_training_saves_to_a_bucket_keeps_what_it_should_and_resumes(storage: dict[str, str]) -> None:
    url = f"gs://{BUCKET}/outside"
    with environment(storage):
        with Checkpointer(url, keep=2) as checkpoints:
            for step in (1, 2, 3):
                checkpoints.save(step, a_state(step)).wait()
        assert [each.step for each in Inventory(url).checkpoints()] == [3, 2]
        state = a_state()
        with Checkpointer(url) as checkpoints:
            assert checkpoints.restore(state) == 3
        assert (state["weights"] == 3).all()


def test_what_a_node_has_written_is_uploaded_verified_and_read_elsewhere(
    storage: dict[str, str], job: AJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    url = f"gs://{BUCKET}/job"
    with environment({**job.environment(), **storage, "MUSTER_CHECKPOINT_PATH": url}):
        with Checkpointer() as checkpoints:
            checkpoints.save(5, a_state(5)).wait()
        places = places_of(surroundings(), None)
        assert places is not None
        assert Uploader(surroundings(), places, NoticePipe(None)).look(0)
        places.own.remove_step(5)
        found = Inventory(url).verify(5)
        assert found is not None
        assert found.verified
    state, again = a_state(), job.environment(step=5, restart=1)
    with environment({**again, **storage, "MUSTER_CHECKPOINT_PATH": url}), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5
    assert (state["weights"] == 5).all()
