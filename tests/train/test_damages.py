"""Whatever happens to a file of a checkpoint is found. Lists of files are read as if a stranger had written them."""

import json
import random
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train import Checkpointer
from muster.train.errors import DamagedCheckpoint
from muster.train.store.inventory import Inventory
from muster.train.store.parts import (
    FileEntry,
    RankPart,
    decode_manifest,
    decode_part,
    encode_part,
    is_file_name,
    part_of,
)
from muster.train.store.steps import step_of
from tests.train.jobs import environment

WORLD = 4
DAMAGES = 300


def as_rank(rank: int) -> AbstractContextManager[None]:
    return environment({"RANK": str(rank), "WORLD_SIZE": str(WORLD)})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of four ranks."""
    root = tmp_path_factory.mktemp("whole")
    for rank in range(WORLD):
        with as_rank(rank), Checkpointer(str(root), every=10) as checkpoints:
            checkpoints.save(7, {"weights": np.random.default_rng(rank).normal(size=40), "rank": rank}).wait()
    return root


def damage(folder: Path, chance: random.Random) -> str:
    """Do something to one file of a checkpoint; what it was."""
    files = sorted(folder.iterdir())
    file = chance.choice(files)
    kind = chance.choice(["flip", "truncate", "remove", "swap"])
    data = file.read_bytes()
    if kind == "flip":
        at = chance.randrange(len(data))
        file.write_bytes(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
    elif kind == "truncate":
        file.write_bytes(data[: chance.randrange(len(data))])
    elif kind == "remove":
        file.unlink()
    else:
        other = chance.choice([each for each in files if each.suffix == file.suffix and each != file] or [file])
        if other == file:
            file.unlink()
        else:
            file.write_bytes(other.read_bytes())
            other.write_bytes(data)
    return f"{kind} {file.name}"


def is_found(root: Path) -> bool:
    """True when `verify` or a restore of all ranks finds it."""
    found = Inventory(str(root)).verify(7)
    return found is None or not found.complete or not found.verified


def test_a_whole_checkpoint_is_verified(whole: Path) -> None:
    found = Inventory(str(whole)).verify(7)
    assert found is not None
    assert (found.complete, found.verified, found.ranks, found.where, found.problems) == (
        True,
        True,
        4,
        ("durable",),
        (),
    )
    assert found.path == str(whole / "step-000000000007")
    assert found.bytes == sum(path.stat().st_size for path in whole.rglob("*.bin"))


def test_random_damages_are_always_found(whole: Path, tmp_path: Path) -> None:
    chance = random.Random(15)
    unnoticed = []
    for number in range(DAMAGES):
        root = tmp_path / str(number)
        shutil.copytree(whole, root)
        # A list of one rank is not read where the manifest is, which has the same in it.
        manifest = root / "step-000000000007" / "manifest.json"
        if number % 2:
            manifest.unlink()
        what = damage(root / "step-000000000007", chance)
        is_harmless = not number % 2 and ".json" in what and "manifest" not in what
        is_rebuilt = not number % 2 and "remove manifest" in what
        if not is_found(root) and not is_harmless and not is_rebuilt:
            unnoticed.append(what)
        is_restored = restored_equal(root)
        if is_restored is False:
            unnoticed.append(f"restored wrongly: {what}")
        shutil.rmtree(root)
    assert unnoticed == []


def restored_equal(root: Path) -> bool | None:
    """True when all ranks restore what was saved, False when one restores something else, None when one refuses."""
    for rank in range(WORLD):
        state: dict[str, Any] = {"weights": np.zeros(40), "rank": -1}
        with as_rank(rank), Checkpointer(str(root), every=10) as checkpoints:
            try:
                if checkpoints.restore(state) == 0:
                    return None
            except DamagedCheckpoint:
                return None
        if state["rank"] != rank or (state["weights"] != np.random.default_rng(rank).normal(size=40)).any():
            return False
    return True


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", ".", "..", "manifest.json", "rank-00000-of-00001.json", "a\0b", "-x", "x" * 200, 5]
)
def test_names_that_lead_elsewhere_are_refused(name: Any) -> None:
    assert not is_file_name(name)
    part = a_part(files=(FileEntry(name, 1, "0" * 64),))
    with pytest.raises(DamagedCheckpoint):
        decode_part(encode_part(part), 7, "rank-00000-of-00001.json")


def a_part(**changes: Any) -> RankPart:
    plain: dict[str, Any] = {"run": "r", "step": 7, "rank": 0, "world": 1, "attempt": 0, "node": "n", "at_ms": 1}
    return RankPart(**{**plain, "files": (), **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"step": -1},
        {"step": 8},
        {"rank": 1},
        {"world": 1 << 30},
        {"attempt": "x"},
        {"run": 5},
        {"files": (FileEntry("a", -1, "0" * 64),)},
        {"files": (FileEntry("a", 1, "Z" * 64),)},
        {"files": tuple(FileEntry(f"f{number}", 1, "0" * 64) for number in range(10_001))},
    ],
)
def test_a_list_that_is_out_of_bounds_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DamagedCheckpoint):
        decode_part(encode_part(a_part(**changes)), 7, "rank-00000-of-00001.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b'{"checksum": 1}', b"[" * 100_000, b"\xff"])
def test_what_is_no_list_at_all_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedCheckpoint):
        decode_part(data, 7, "rank-00000-of-00001.json")
    with pytest.raises(DamagedCheckpoint):
        decode_manifest(data, 7)


def test_names_are_read_strictly() -> None:
    assert step_of("step-000000000007") == 7
    assert step_of("step-7") is None
    assert part_of("rank-00003-of-00004.json") == (3, 4)
    assert part_of("rank-3-of-4.json") is None


def test_links_are_not_followed(whole: Path, tmp_path: Path) -> None:
    root = tmp_path / "linked"
    shutil.copytree(whole, root)
    target = tmp_path / "elsewhere"
    file = root / "step-000000000007" / "values-00000.bin"
    file.rename(target)
    file.symlink_to(target)
    found = Inventory(str(root)).verify(7)
    assert found is not None
    assert not found.verified


def test_a_manifest_is_plain_json(whole: Path) -> None:
    manifest = json.loads((whole / "step-000000000007" / "manifest.json").read_text("utf-8"))
    assert manifest["format"] == "muster-checkpoint-1"
    assert (manifest["step"], manifest["world"], manifest["run"]) == (7, 4, "outside")


def test_removing_a_step_takes_it_from_all_places(whole: Path, tmp_path: Path) -> None:
    for name in ("durable", "hot"):
        shutil.copytree(whole, tmp_path / name)
    inventory = Inventory(str(tmp_path / "durable"), [str(tmp_path / "hot")])
    (found,) = inventory.checkpoints()
    assert (found.where, found.verified) == (("hot", "durable"), None)
    inventory.remove(7)
    assert inventory.checkpoints() == []
