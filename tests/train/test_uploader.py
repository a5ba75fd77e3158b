"""The uploader: copies at the neighbour, whole checkpoints in durable storage, and nothing lost on the way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer, catalog
from muster.train.notice_pipe import NoticePipe
from muster.train.store import inventory
from muster.train.store.places import places_of
from muster.train.store.stores import FolderStore
from muster.train.surroundings import surroundings
from muster.train.uploader import COPIES_S, UNSENT, Uploader
from tests.train.jobs import AJob, environment, flipped, job, until

__all__ = ["job"]


def save(job: AJob, step: int, rank: int = 0, world: int = 1, **around: Any) -> None:
    with environment(job.environment(rank, world, **around)), Checkpointer() as checkpoints:
        checkpoints.save(step, {"weights": np.full(3, step), "rank": rank}).wait()


def restored(job: AJob, rank: int = 0, world: int = 1, **around: Any) -> int:
    state: dict[str, Any] = {"weights": np.zeros(3, dtype=int), "rank": -1}
    with environment(job.environment(rank, world, **around)), Checkpointer() as checkpoints:
        step = checkpoints.restore(state)
    assert (state["weights"] == step).all()
    return step


def an_uploader(job: AJob, node: str = "n1", **more: Any) -> Uploader:
    around = surroundings(job.environment(node=node, **more))
    places = places_of(around, None)
    assert places is not None
    return Uploader(around, places, NoticePipe(str(job.notice)))


def steps_in(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))


def test_a_checkpoint_of_two_nodes_is_complete_when_both_have_sent_their_parts(job: AJob) -> None:
    save(job, 5, 0, 2, node="n1")
    save(job, 5, 1, 2, node="n2")
    job.notices()
    first = an_uploader(job, "n1")
    assert first.look(0)
    assert [first.is_complete] == [False]
    assert job.told("uploaded") == []
    assert an_uploader(job, "n2").look(0)
    assert job.told("uploaded") == [{"step": 5, "problem": ""}]
    assert first.look(1)
    assert first.is_complete
    assert job.told("uploaded") == [{"step": 5, "problem": ""}]
    manifest = json.loads((job.durable / "step-000000000005" / "manifest.json").read_text("utf-8"))
    assert [part["rank"] for part in manifest["parts"]] == [0, 1]


def test_the_loss_of_a_node_needs_no_durable_read(job: AJob) -> None:
    save(job, 5, 0, 2, node="n1")
    save(job, 5, 1, 2, node="n2")
    an_uploader(job, "n1", MUSTER_NEIGHBOUR="n2").look(0)
    an_uploader(job, "n2", MUSTER_NEIGHBOUR="n1").look(0)
    # Copies are not copied on.
    third = an_uploader(job, "n2", MUSTER_NEIGHBOUR="n3")
    third.look(0)
    assert not (job.hot_folder("n3") / "step-000000000005" / "rank-00000-of-00002.json").exists()
    for folder in (job.hot_folder("n1"), job.durable):
        subprocess.run(["rm", "-rf", str(folder)], check=True)
    assert [restored(job, rank, 2, node="n2", step=5) for rank in (0, 1)] == [5, 5]


def test_a_neighbour_sends_what_a_lost_node_did_not(job: AJob) -> None:
    save(job, 5, 0, 2, node="n1")
    save(job, 5, 1, 2, node="n2")
    an_uploader(job, "n1", MUSTER_NEIGHBOUR="n2", MUSTER_CHECKPOINT_PATH="").look(0)
    uploader = an_uploader(job, "n2")
    assert not uploader.look(0)
    assert uploader.look(COPIES_S)
    assert uploader.is_complete
    assert (job.durable / "step-000000000005" / "manifest.json").exists()


def test_hot_and_durable_keep_the_newest_complete_ones(job: AJob) -> None:
    uploader = an_uploader(job)
    for step in (1, 2, 3, 4):
        save(job, step)
        assert uploader.look(step)
    assert steps_in(job.durable) == [3, 4]
    assert steps_in(job.hot_folder()) == [3, 4]


def test_leftovers_of_broken_saves_go_when_as_many_newer_ones_as_are_kept_are_complete(job: AJob) -> None:
    uploader = an_uploader(job)
    save(job, 1, 0, 2)
    save(job, 2)
    assert not (job.hot_folder() / "step-000000000001" / "manifest.json").exists()
    uploader.look(0)
    assert steps_in(job.hot_folder()) == [1, 2]
    save(job, 3)
    uploader.look(1)
    save(job, 4, 0, 2)
    uploader.look(2)
    # What is newer than the newest complete one may still be written.
    assert steps_in(job.hot_folder()) == [2, 3, 4]


def test_saves_that_are_quicker_than_uploads_leave_older_ones_for_the_case_that_the_newest_is_damaged(
    job: AJob,
) -> None:
    for step in range(1, 6):
        save(job, step, 0, 2, node="n1")
        save(job, step, 1, 2, node="n2")
    uploaders = [an_uploader(job, node, MUSTER_CHECKPOINT_KEEP="3") for node in ("n1", "n2")]
    for now_s in range(3):
        for each in uploaders:
            each.look(now_s)
    assert steps_in(job.durable) == [5]
    assert [steps_in(job.hot_folder(node)) for node in ("n1", "n2")] == [[3, 4, 5], [3, 4, 5]]
    for root in (job.durable, job.hot_folder("n1"), job.hot_folder("n2")):
        for path in (root / "step-000000000005").glob("values-*"):
            flipped(path, 3)
    with environment(job.environment(step=4)), Checkpointer() as checkpoints:
        assert checkpoints.restore({"weights": np.zeros(3, dtype=int), "rank": -1}) == 4


def test_without_any_upload_the_newest_stay(job: AJob) -> None:
    (job.root / "durable").touch()
    uploader = an_uploader(job)
    for step in range(1, 16):
        save(job, step, 0, 2)
        uploader.look(1000.0 * step)
    assert steps_in(job.hot_folder()) == list(range(6, 16))


def test_a_failed_upload_is_reported_and_repeated_with_pauses(job: AJob) -> None:
    job.durable.touch()
    save(job, 5)
    job.notices()
    uploader = an_uploader(job)
    assert not uploader.look(0)
    (problem,) = job.told("uploaded")
    assert problem["step"] == 5
    assert "NotADirectoryError" in problem["problem"] or "FileExistsError" in problem["problem"]
    assert not uploader.look(0.5)
    assert job.told("uploaded") == []
    job.durable.unlink()
    assert not uploader.look(0.9)
    assert uploader.look(1.1)
    assert job.told("uploaded") == [{"step": 5, "problem": ""}]


def test_what_is_damaged_on_the_way_is_not_uploaded(job: AJob) -> None:
    save(job, 5)
    file = job.hot_folder() / "step-000000000005" / "values-00000.bin"
    file.write_bytes(b"x" * file.stat().st_size)
    job.notices()
    assert not an_uploader(job).look(0)
    assert "is damaged" in job.told("uploaded")[0]["problem"]
    assert not (job.durable / "step-000000000005" / "manifest.json").exists()


def test_a_later_attempt_replaces_the_same_step(job: AJob) -> None:
    save(job, 5)
    an_uploader(job).look(0)
    save(job, 5, restart=1)
    uploader = an_uploader(job)
    assert uploader.look(0)
    assert uploader.is_complete
    manifest = json.loads((job.durable / "step-000000000005" / "manifest.json").read_text("utf-8"))
    assert manifest["attempt"] == 1


def test_checkpoints_of_another_run_are_not_overwritten(job: AJob) -> None:
    save(job, 5)
    an_uploader(job).look(0)
    other = AJob(job.root, run="run-2")
    save(other, 5, restart=1)
    job.notices()
    assert not an_uploader(other).look(0)
    assert "MUSTER_RESUME_RUN=run-1" in job.told("uploaded")[0]["problem"]
    other.close()


def test_the_process_leaves_when_it_is_idle(job: AJob) -> None:
    save(job, 5)
    command = [sys.executable, "-m", "muster.train.uploader", "--run", job.run, "--until-idle"]
    variables = {**os.environ, **job.environment()}
    assert subprocess.run(command, env={**variables, "MUSTER_BOARDS": ""}, check=False, timeout=60).returncode == 0
    assert (job.durable / "step-000000000005" / "manifest.json").exists()


def test_the_process_finishes_when_it_is_told_to_leave(job: AJob) -> None:
    command = [sys.executable, "-m", "muster.train.uploader", "--grace-s", "30"]
    with subprocess.Popen(command, env={**os.environ, **job.environment()}) as process:
        save(job, 5)
        until((job.durable / "step-000000000005" / "manifest.json").exists)
        save(job, 6)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert (job.durable / "step-000000000006" / "manifest.json").exists()


def test_an_uploader_without_a_place_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    from muster.train.uploader import main  # noqa: PLC0415

    with environment({}):
        assert main([]) == 2
    assert "MUSTER_HOT, MUSTER_NODE and MUSTER_RUN_ID" in capsys.readouterr().err


def test_what_could_not_be_sent_in_the_end_is_noted_and_told(job: AJob) -> None:
    save(job, 4)
    job.durable.parent.mkdir(exist_ok=True)
    if job.durable.exists():
        job.durable.rmdir()
    job.durable.write_text("no folder")
    command = [sys.executable, "-m", "muster.train.uploader", "--until-idle", "--grace-s", "1"]
    around = {**os.environ, **job.environment(), "MUSTER_BOARDS": ""}
    with subprocess.Popen(command, env=around) as process:
        until(lambda: any("it stays on the disk of n1" in line for line in job.notices()))
        process.terminate()
        assert process.wait(30) == 1
    assert (job.hot_folder() / UNSENT).exists()
    job.durable.unlink()
    assert subprocess.run(command, env=around, check=False, timeout=60).returncode == 0
    assert not (job.hot_folder() / UNSENT).exists()
    assert (job.durable / "step-000000000004" / "manifest.json").exists()


def test_what_is_on_nodes_is_listed_while_durable_storage_cannot_be_reached(
    job: AJob, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save(job, 4)

    def refused(_: object) -> list[int]:
        raise ConnectionError("no route to the store")

    class Away(FolderStore):
        steps = refused

    monkeypatch.setattr(inventory, "store_at", lambda path: Away(path, "durable"))
    for action in ("list", "verify"):
        assert catalog.main([action, "--run", job.run, "--path", str(job.durable), "--hot", str(job.hot)]) == 0
        (found,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
        assert (found["step"], found["where"], found["complete"]) == (4, ["hot"], True)
        assert found["unread"] == "ConnectionError: no route to the store"
    assert catalog.main(["list", "--run", "another", "--path", str(job.durable), "--hot", str(job.hot)]) == 1
    assert "no route" in capsys.readouterr().err
