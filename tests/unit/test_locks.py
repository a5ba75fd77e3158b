"""Locks: which process has one, which waits for it, and which is told."""

import os
from pathlib import Path
from threading import Timer

import pytest

from muster import locks
from muster.locks import alone_in, has_locked, is_taken, together_in
from muster.model.errors import InvalidInput, Refused


def test_a_folder_is_taken_while_a_process_is_alone_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MOMENT_S", 0.0)
    assert not is_taken(tmp_path)
    with alone_in(tmp_path, "busy"):
        assert is_taken(tmp_path)
        with pytest.raises(Refused, match="busy"), alone_in(tmp_path, "busy"):
            pass
    assert not is_taken(tmp_path)


def test_a_process_that_only_looked_keeps_no_other_out(tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    assert has_locked(held)
    Timer(0.05, os.close, (held,)).start()
    with alone_in(tmp_path, "busy"):
        assert is_taken(tmp_path)


def test_a_folder_that_cannot_be_opened_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        is_taken(tmp_path / "nowhere")


def test_a_folder_is_shared_for_one_purpose_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MOMENT_S", 0.0)
    with together_in(tmp_path, "one database", "busy"), together_in(tmp_path, "one database", "busy"):
        with pytest.raises(Refused, match="busy"), together_in(tmp_path, "another", "busy"):
            pass
        with pytest.raises(Refused, match="busy"), alone_in(tmp_path, "busy"):
            pass
        assert is_taken(tmp_path)
    assert not is_taken(tmp_path)
    with together_in(tmp_path, "another", "busy"):
        pass
    with alone_in(tmp_path, "busy"), pytest.raises(Refused), together_in(tmp_path, "another", "busy"):
        pass


def test_a_folder_on_a_full_disk_is_not_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(locks, "MOMENT_S", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with together_in(tmp_path, "one", "busy"), pytest.raises(Refused), together_in(tmp_path, "one", "busy"):
            pass
