"""A database file in which bytes have changed is read as it was written, or not at all."""

from pathlib import Path
from random import Random

import pytest

from muster.model.errors import Corrupted, TooNew
from muster.store.sql import open_store
from tests.crash.contents import fill, read_all, read_states

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
        assert None not in read_states(store)
        assert store.audit.verify().is_whole
    return path.read_bytes(), contents


def outcome(path: Path, contents: list[object]) -> str:
    """How a damaged store is found out; `whole` when nothing of what it says has changed.

    What it says must be right before a walk through all of it is asked for. A damaged state is no lie, because it
    is passed over; the walk must tell of it.
    """
    try:
        with open_store(f"sqlite:///{path}", write=True) as store:
            if read_all(store) != contents:
                return "SILENTLY DIFFERENT"
            lacks_a_state = None in read_states(store)
            return "walk" if not store.audit.verify().is_whole else "LACKS A STATE" if lacks_a_state else "whole"
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


@pytest.mark.parametrize("seed", range(4))
def test_damage_in_a_file_too_large_to_be_checked_at_once_is_found_by_the_walk(
    tmp_path: Path, written: tuple[bytes, list[object]], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.store.sql.sqlite.STORE_CHECKED_BYTES", 0)
    content, contents = written
    chance = Random(1_000 + seed)
    for number in range(FLIPS):
        path = tmp_path / f"{number}" / "muster.db"
        path.parent.mkdir()
        damaged, where = flipped(content, chance)
        path.write_bytes(damaged)
        found = outcome(path, contents)
        if found == "SILENTLY DIFFERENT":
            with open_store(f"sqlite:///{path}", write=True) as store:
                assert not store.audit.verify().is_whole, where
        else:
            assert found in ("whole", "found", "walk"), where


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_bytes_never_change_what_is_read(
    tmp_path: Path, written: tuple[bytes, list[object]], seed: int
) -> None:
    content, contents = written
    chance = Random(seed)
    for number in range(FLIPS):
        path = tmp_path / f"{number}" / "muster.db"
        path.parent.mkdir()
        damaged, where = flipped(content, chance)
        path.write_bytes(damaged)
        assert outcome(path, contents) in ("whole", "found", "walk"), where
