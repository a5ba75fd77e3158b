"""Hot checkpoints of runs that are over are removed, and nothing else ever is."""

import os
import time
from pathlib import Path

import pytest

from muster.model.node_limits import HOT_KEPT_S
from muster.train import uploader
from muster.worker.training.hot_tier import UNSENT, HotTier


@pytest.fixture
def tier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HotTier:
    (tmp_path / "hot" / "n1").mkdir(parents=True)
    monkeypatch.setattr(HotTier, "_clear", HotTier._remove_gone)
    return HotTier(tmp_path / "hot", "n1")


def a_run(tmp_path: Path, name: str, *, age_s: float = 0) -> Path:
    folder = tmp_path / "hot" / "n1" / name
    (folder / "step-000000000001").mkdir(parents=True)
    (folder / "step-000000000001" / "rank-00000-of-00001.json").write_text("{}")
    then_s = time.time() - age_s
    os.utime(folder / "step-000000000001", (then_s, then_s))
    os.utime(folder, (then_s, then_s))
    return folder


def left(tmp_path: Path) -> list[str]:
    return sorted(os.listdir(tmp_path / "hot" / "n1"))


def test_a_run_that_is_over_is_removed(tier: HotTier, tmp_path: Path) -> None:
    a_run(tmp_path, "one")
    a_run(tmp_path, "two")
    tier.remove(["one", "unknown"])
    assert left(tmp_path) == ["two"]


@pytest.mark.parametrize("name", ["", ".", "..", "../n2", "/etc", ".hidden", "a/b", "a\0b", "x" * 300])
def test_a_name_that_leads_elsewhere_removes_nothing(tier: HotTier, tmp_path: Path, name: str) -> None:
    a_run(tmp_path, "one")
    (tmp_path / "hot" / "n2").mkdir()
    tier.remove([name])
    assert left(tmp_path) == ["one"]
    assert (tmp_path / "hot" / "n2").is_dir()


def test_links_are_removed_and_not_followed(tier: HotTier, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    os.symlink(kept, tmp_path / "hot" / "n1" / "linked")
    os.symlink(kept, a_run(tmp_path, "one") / "step-000000000002")
    tier.remove(["linked", "one"])
    assert left(tmp_path) == []
    assert (kept / "file").exists()


def test_a_folder_of_the_node_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other" / "one").mkdir(parents=True)
    (tmp_path / "hot").mkdir()
    os.symlink(tmp_path / "other", tmp_path / "hot" / "n1")
    tier = HotTier(tmp_path / "hot", "n1")
    tier.remove(["one"])
    tier.sweep([])
    HotTier(tmp_path / "nowhere", "n1").sweep([])
    assert (tmp_path / "other" / "one").is_dir()


def test_a_sweep_removes_what_nobody_asks_about_any_more(tier: HotTier, tmp_path: Path) -> None:
    old_s = HOT_KEPT_S + 60
    a_run(tmp_path, "young", age_s=old_s - 120)
    a_run(tmp_path, "old", age_s=old_s)
    a_run(tmp_path, "living", age_s=old_s)
    written = a_run(tmp_path, "written", age_s=old_s)
    os.utime(written / "step-000000000001")
    (tmp_path / "hot" / "n1" / ".gone-abc-before").mkdir()
    tier.sweep({"living"})
    assert left(tmp_path) == ["living", "written", "young"]


def test_a_removal_does_not_keep_its_caller_waiting(tmp_path: Path) -> None:
    (tmp_path / "hot" / "n1").mkdir(parents=True)
    a_run(tmp_path, "one")
    HotTier(tmp_path / "hot", "n1").remove(["one"])
    assert "one" not in left(tmp_path)


def test_what_is_nowhere_else_stays_until_nobody_has_asked_about_it_for_days(tier: HotTier, tmp_path: Path) -> None:
    (a_run(tmp_path, "unsent") / UNSENT).touch()
    a_run(tmp_path, "sent")
    tier.remove(["unsent", "sent"])
    assert left(tmp_path) == ["unsent"]
    old = a_run(tmp_path, "old")
    (old / UNSENT).touch()
    for path in (old / UNSENT, old):
        os.utime(path, (1, 1))
    os.utime(old / "step-000000000001", (1, 1))
    tier.sweep(())
    assert left(tmp_path) == ["unsent"]


def test_the_note_of_an_uploader_is_the_one_that_the_supervisor_looks_for() -> None:
    assert UNSENT == uploader.UNSENT
