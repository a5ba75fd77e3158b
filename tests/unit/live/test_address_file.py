"""Where the server is: said in a file, also on a disk without room for another."""

import errno
from pathlib import Path

import pytest

from muster.live import address_file
from muster.live.address_file import announced


def full(_path: Path, _text: str) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_it_is_said_while_the_server_is_there_and_not_after(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    with announced(path, "here"):
        assert path.read_text() == "here"
    assert not path.exists()


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_a_full_disk_has_the_room_of_the_server_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    path = tmp_path / "server.json"
    with announced(path, "the address of the one before"):
        pass
    if is_killed:
        path.write_text("the address of one that was killed")
        (tmp_path / ".server.json.last").unlink()
    monkeypatch.setattr(address_file, "write_private", full)
    with announced(path, "here"):
        assert path.read_text() == "here"
    assert not path.exists()


def test_a_full_disk_without_any_room_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "server.json"
    tried: list[str] = []

    def full_at_first(there: Path, text: str) -> None:
        tried.append(text)
        if len(tried) < 3:
            full(there, text)
        there.write_text(text)

    monkeypatch.setattr(address_file, "write_private", full_at_first)
    monkeypatch.setattr(address_file, "WRITE_RETRY_MS", 1)
    with announced(path, "here"):
        while not path.exists():
            pass
        assert tried == ["here"] * 3
