"""A folder for output that appears a moment after the job has started is waited for."""

import os
from pathlib import Path

import pytest

from muster.worker.gang import file_names
from muster.worker.gang.file_names import FOLDER_S, LOOK_S, opened_in_time


class Moments:
    """A clock that goes on by sleeping, and what happens when the time comes."""

    def __init__(self, folder: Path, after_looks: int) -> None:
        self._folder, self._after = folder, after_looks
        self.looks = 0

    def monotonic(self) -> float:
        return self.looks * LOOK_S

    def sleep(self, _: float) -> None:
        self.looks += 1
        if self.looks == self._after:
            self._folder.mkdir()


def test_the_folder_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = Moments(tmp_path / "7", after_looks=3)
    monkeypatch.setattr(file_names, "time", moments)
    file = opened_in_time(str(tmp_path / "7" / "out"), append=False)
    os.write(file, b"hello")
    os.close(file)
    assert (tmp_path / "7" / "out").read_text() == "hello"
    assert moments.looks == 3


def test_after_two_seconds_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = Moments(tmp_path / "7", after_looks=-1)
    monkeypatch.setattr(file_names, "time", moments)
    with pytest.raises(FileNotFoundError):
        opened_in_time(str(tmp_path / "7" / "out"), append=False)
    assert moments.looks == round(FOLDER_S / LOOK_S)


def test_a_file_that_may_not_be_written_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = Moments(tmp_path / "7", after_looks=-1)
    monkeypatch.setattr(file_names, "time", moments)
    with pytest.raises(IsADirectoryError):
        opened_in_time(str(tmp_path), append=False)
    assert moments.looks == 0
