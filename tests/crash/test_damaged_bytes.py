"""A database file in which bytes have changed is read as it was written, or not at all."""

from pathlib import Path
from random import Random

import pytest

from muster.model.errors import Corrupted, TooNew
from muster.store.sql import open_store
from tests.crash.contents import fill, read_all

SEEDS = range(8)
FLIPS = 25
"""Per seed: a shard of them takes about a second."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[object]]:
    """The bytes of a database file, and what is in it."""
    path = tmp_path_factory.mktemp("written") / "muster.db"
    fill(f"sqlite:///{path}")
    with open_store(f"sqlite:///{path}", write=True) as store:
        contents = read_all(store)
        assert store.audit.verify().is_whole
    return path.read_bytes(), contents


def outcome(path: Path, contents: list[object]) -> str:
    """How a damaged store is found out; `whole` when nothing of what it says has changed."""
    try:
        with open_store(f"sqlite:///{path}", write=True) as store:
            same = read_all(store) == contents
            if not store.audit.verify().is_whole:
                return "verify"
            return "whole" if same else "SILENTLY DIFFERENT"
    except (Corrupted, TooNew) as error:
        return "found" if "muster.db" in str(error) else f"UNCLEAR: {error}"


def flipped(content: bytes, chance: Random) -> tuple[bytes, str]:
    """One byte changed, or a few in a row, or a sector lost, or the end."""
    at = chance.randrange(1, len(content))
    match chance.choice(("byte", "byte", "byte", "bytes", "sector", "end")):
        case "end":
            return content[:at], f"nothing from {at} on"
        case "sector":
            return content[:at] + bytes(len(content[at : at + 512])) + content[at + 512 :], f"zeros at {at}"
        case length:
            end = at + 1 if length == "byte" else at + 4
            changed = bytes(byte ^ chance.randint(1, 255) for byte in content[at:end])
            return content[:at] + changed + content[end:], f"{length} at {at}"


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_bytes_never_change_what_is_read(
    tmp_path: Path, written: tuple[bytes, list[object]], seed: int
) -> None:
    content, contents = written
    chance = Random(seed)
    path = tmp_path / "muster.db"
    for _ in range(FLIPS):
        damaged, where = flipped(content, chance)
        path.write_bytes(damaged)
        assert outcome(path, contents) in ("whole", "found", "verify"), where
        for left in path.parent.glob("muster.db-*"):
            left.unlink()
