"""Checkpoints in a real S3 server that is slow, refuses and drops connections."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer
from muster.train.errors import CheckpointError
from muster.train.notice_pipe import NoticePipe
from muster.train.store.inventory import Inventory
from muster.train.store.places import places_of
from muster.train.surroundings import surroundings
from muster.train.uploader import Uploader
from tests.train.jobs import AJob, environment, job
from tests.train.s3_server import Way, s3_server, variables

__all__ = ["job"]


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with s3_server(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(autouse=True)
def _again(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    way.how = "fine"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("muster.train.store.uploads.PAUSES_S", (0.01, 0.01))


def a_state(step: int = 0) -> dict[str, Any]:
    return {"weights": np.full(20_000, step, dtype=float), "step": step}


def url(name: str) -> str:
    return f"s3://bucket/{name}"


def on_s3(job: AJob, way: Way, name: str, **more: Any) -> dict[str, str]:
    return {**job.environment(**more), **variables(way), "MUSTER_CHECKPOINT_PATH": url(name)}


def test_training_outside_muster_saves_to_a_bucket_and_resumes_on_another_machine(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with environment(variables(way)):
        with Checkpointer(url("outside"), keep=2) as checkpoints:
            for step in (1, 2, 3):
                checkpoints.save(step, a_state(step)).wait()
        assert [each.step for each in Inventory(url("outside")).checkpoints()] == [3, 2]
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "other"))
        state = a_state()
        with Checkpointer(url("outside")) as checkpoints:
            assert checkpoints.restore(state) == 3
        assert (state["weights"] == 3).all()


@pytest.mark.parametrize("how", ["slow", "refuse", "drop"])
def test_an_upload_arrives_when_the_way_is_good_again(way: Way, job: AJob, how: str) -> None:
    around = on_s3(job, way, how)
    with environment(around):
        with Checkpointer() as checkpoints:
            checkpoints.save(5, a_state(5)).wait()
        job.notices()
        places = places_of(surroundings(), None)
        assert places is not None
        uploader = Uploader(surroundings(), places, NoticePipe(str(job.notice)))
        way.how = how
        if how == "slow":
            assert uploader.look(0)
        else:
            assert not uploader.look(0)
            (problem,) = job.told("uploaded")
            assert problem["step"] == 5
            assert problem["problem"].startswith(url(how))
            assert way.broken
            way.how = "fine"
            assert uploader.look(100)
        assert job.told("uploaded") == [{"step": 5, "problem": ""}]
        found = Inventory(url(how)).verify(5)
        assert found is not None
        assert (found.verified, found.path) == (True, f"{url(how)}/step-000000000005")


def test_a_node_without_hot_files_reads_them_from_the_bucket(way: Way, job: AJob) -> None:
    with environment(on_s3(job, way, "lost")):
        with Checkpointer() as checkpoints:
            checkpoints.save(5, a_state(5)).wait()
        places = places_of(surroundings(), None)
        assert places is not None
        assert Uploader(surroundings(), places, NoticePipe(None)).look(0)
        places.own.remove_step(5)
    state = a_state()
    with environment(on_s3(job, way, "lost", step=5, restart=1)), Checkpointer() as checkpoints:
        assert checkpoints.restore(state) == 5
    assert (state["weights"] == 5).all()
    assert (job.hot_folder() / "step-000000000005" / "values-00000.bin").exists()


def test_wrong_credentials_are_said_and_training_goes_on(
    way: Way, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with environment(variables(way, secret="wrong")), Checkpointer(url("wrong"), every=1) as checkpoints:
        assert checkpoints.step(1, a_state())
        with pytest.raises(CheckpointError, match=r"PermissionError|SignatureDoesNotMatch|Forbidden"):
            checkpoints.save(2, a_state()).wait()
        with pytest.raises(CheckpointError, match="cannot be read"):
            checkpoints.restore(a_state())
    assert "is not saved" in capsys.readouterr().err


def test_a_job_whose_storage_cannot_be_reached_begins_and_saves_to_its_node(
    way: Way, job: AJob, capsys: pytest.CaptureFixture[str]
) -> None:
    way.how = "refuse"
    with environment(on_s3(job, way, "away")), Checkpointer() as checkpoints:
        assert checkpoints.restore(a_state()) == 0
        checkpoints.save(1, a_state(1)).wait()
    assert "Training begins without a checkpoint" in capsys.readouterr().err
    assert (job.hot_folder() / "step-000000000001" / "manifest.json").exists()
