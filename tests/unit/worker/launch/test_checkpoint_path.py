"""Where a job keeps its checkpoints for good."""

import os

from muster.model.records import evolve
from muster.model.spec import CheckpointSpec
from muster.worker.launch.checkpoint_path import checkpoint_path
from tests.builders import a_job


def path_of(path: str, *, job: str = "job-7", workdir: str = "/data") -> str:
    spec = evolve(a_job(), checkpoint=CheckpointSpec(path=path), workdir=workdir)
    return checkpoint_path(spec, job)


def test_a_path_means_one_place_for_all_processes() -> None:
    assert path_of("/ck") == "/ck"
    assert path_of("s3://bucket/run") == "s3://bucket/run"
    assert path_of("runs/one") == "/data/runs/one"
    assert path_of("runs", workdir="") == os.path.expanduser("~/runs")


def test_each_task_of_an_array_has_a_folder_of_its_own() -> None:
    assert path_of("/ck/", job="job-7.12") == "/ck/12"
    assert path_of("s3://bucket/run", job="job-7.0") == "s3://bucket/run/0"
