"""A folder in a place that every user may write to is used only if it is really ours."""

import os
from pathlib import Path

import pytest

from muster.model.errors import Refused
from muster.worker.launch import runtime_folder as module
from muster.worker.launch.runtime_folder import (
    SCRATCH,
    claim,
    claim_hot,
    exit_record,
    give_back,
    give_back_if_empty,
    hot_folder,
    remove,
    remove_all,
    runtime_folder,
    scratch_problem,
)


def test_the_name_follows_from_the_home_and_outlives_a_move(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    named = runtime_folder(first)
    assert named != runtime_folder(second)
    assert named.parent == module.PARENT
    first.rename(tmp_path / "third")
    assert runtime_folder(tmp_path / "third") == named


def test_a_folder_is_made_for_its_owner_alone_and_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    claim(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    claim(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_link_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(Refused, match=name):
            claim(tmp_path / name)


def test_what_another_user_has_made_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    claim(folder)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(Refused, match="made by user"):
        claim(folder)


def test_everything_in_it_can_be_removed_and_nothing_that_a_link_leads_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    place = tmp_path / "place"
    (place / "worker" / "deep").mkdir(parents=True)
    (place / "worker" / "deep" / "file").touch()
    (place / "worker" / "link").symlink_to(kept)
    (place / "other").symlink_to(kept)
    remove_all(place)
    assert not os.listdir(place)
    assert (kept / "file").exists()
    give_back(place)
    assert not place.exists()
    assert kept.exists()
    remove(place)


def test_hot_checkpoints_are_on_a_disk_unless_the_operator_names_another_place(tmp_path: Path) -> None:
    hot = hot_folder(tmp_path, {})
    assert hot == module.SCRATCH_PARENT / runtime_folder(tmp_path).name / "hot"
    assert module.PARENT not in hot.parents
    assert hot_folder(tmp_path, {SCRATCH: ""}) == hot
    assert hot_folder(tmp_path, {SCRATCH: "/fast"}) == Path("/fast") / runtime_folder(tmp_path).name / "hot"


def test_what_is_beside_the_nodes_goes_with_the_last_of_them(tmp_path: Path) -> None:
    place = tmp_path / "place"
    for name in ("n1", "n2", ".train-n1/muster", ".setup-n1/run"):
        (place / name).mkdir(parents=True)
    give_back(place / "n1")
    assert {each.name for each in place.iterdir()} == {"n2", ".train-n1", ".setup-n1"}
    (place / "n2" / "worker").mkdir()
    give_back(place / "n2")
    assert (place / "n2" / "worker").exists()
    (place / "n2" / "worker").rmdir()
    give_back(place / "n2")
    assert not place.exists()


def test_folders_with_checkpoints_are_not_given_back(tmp_path: Path) -> None:
    (tmp_path / "hot" / "n1" / "run").mkdir(parents=True)
    give_back_if_empty(tmp_path / "hot" / "n1", tmp_path / "hot")
    assert (tmp_path / "hot" / "n1" / "run").exists()
    (tmp_path / "hot" / "n1" / "run").rmdir()
    give_back_if_empty(tmp_path / "hot" / "n1", tmp_path / "hot")
    assert not (tmp_path / "hot").exists()


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["exit-0", "notice"], 0),
        (["exit-143"], 143),
        (["notice"], None),
        (["exit-256"], None),
        (["exit--1"], None),
        (["exit-"], None),
        (["exit-x"], None),
        (["exit-0", "exit-1"], None),
    ],
)
def test_only_one_whole_exit_code_is_a_record(tmp_path: Path, names: list[str], code: int | None) -> None:
    assert exit_record(tmp_path / "nowhere") is None
    for name in names:
        (tmp_path / name).touch()
    assert exit_record(tmp_path) == code


def test_a_place_for_large_files_that_cannot_be_used_is_told_with_the_variable_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "closed").mkdir(mode=0o500)
    assert scratch_problem({}) == scratch_problem({SCRATCH: ""}) == scratch_problem({SCRATCH: str(tmp_path)}) == ""
    assert "no absolute path" in scratch_problem({SCRATCH: "disk"})
    for name in ("missing", "file"):
        said = scratch_problem({SCRATCH: str(tmp_path / name)})
        assert (
            said == f"MUSTER_SCRATCH names {tmp_path}/{name}, and there is no such folder: make it, or mount the disk"
        )
    if os.geteuid() != 0:
        assert "cannot write to" in scratch_problem({SCRATCH: str(tmp_path / "closed")})
    with pytest.raises(Refused, match="MUSTER_SCRATCH names"):
        claim_hot(tmp_path, "n1", {SCRATCH: str(tmp_path / "missing")})
    claim_hot(tmp_path, "n1", {SCRATCH: str(tmp_path)})
    assert hot_folder(tmp_path, {SCRATCH: str(tmp_path)}).joinpath("n1").is_dir()
