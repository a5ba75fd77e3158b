"""What boards say is read, whatever a job does to their files, and what is announced on them is seen by processes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.train.board import CANCELLED, CLOSED, COMMITTED, LEAVE, LEFT, OPEN, SAVE, SAVING, SIZE, Announcement, Board
from muster.worker.training.worker_boards import FOLDER, WorkerBoards, found_boards


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / FOLDER).mkdir()
    return tmp_path


@pytest.fixture
def boards(folder: Path) -> Iterator[WorkerBoards]:
    boards = WorkerBoards(folder)
    yield boards
    boards.close()


def a_board(folder: Path, rank: int = 0, world: int = 4) -> Board:
    return Board.make(str(folder / FOLDER), rank, world)


def test_steps_since_the_last_look_are_measured(folder: Path, boards: WorkerBoards) -> None:
    board = a_board(folder, 2)
    boards.made(2)
    for step in range(1, 101):
        board.record(step, board.made_at_ns, step_us=step * 10, busy_us=step)
    (found,) = boards.progress()
    assert (found.rank, found.world, found.step, found.steps) == (2, 4, 100, 100)
    assert (found.step_us, found.busy_us, found.p99_us) == (510, 51, 1_000)
    (again,) = boards.progress()
    assert (again.step, again.steps, again.step_us, again.p99_us) == (100, 0, 0, 0)
    board.record(101, board.made_at_ns, step_us=7)
    (last,) = boards.progress()
    assert (last.steps, last.step_us, last.busy_us) == (1, 7, 0)


def test_more_steps_than_the_ring_holds_are_counted_all(folder: Path, boards: WorkerBoards) -> None:
    board = a_board(folder)
    boards.made(0)
    for step in range(1_000):
        board.record(step, board.made_at_ns, step_us=5)
    (found,) = boards.progress()
    assert (found.steps, found.step_us) == (1_000, 5)


def test_flags_say_what_a_process_does(folder: Path, boards: WorkerBoards) -> None:
    board = a_board(folder)
    boards.made(0)
    board.flag(SAVING)
    (found,) = boards.progress()
    assert (found.is_saving, found.is_closed, boards.have_left, boards.have_finished) == (True, False, False, False)
    board.flag(SAVING, False)
    board.flag(CLOSED)
    (found,) = boards.progress()
    assert (found.is_saving, found.is_closed, boards.have_left, boards.have_finished) == (False, True, False, True)
    board.flag(LEFT)
    assert (boards.have_left, boards.have_finished) == (True, False)


def test_a_worker_has_finished_when_all_of_its_processes_have(folder: Path, boards: WorkerBoards) -> None:
    one, other = a_board(folder, 0), a_board(folder, 1)
    boards.made(0)
    boards.made(1)
    found = [boards.have_finished]
    for board in (one, other):
        board.flag(CLOSED)
        found.append(boards.have_finished)
    assert found == [False, False, True]
    assert found_boards(folder).have_finished


def test_a_process_that_takes_the_rank_of_another_is_followed(folder: Path, boards: WorkerBoards) -> None:
    a_board(folder).record(50, 0, 1)
    boards.made(0)
    (before,) = boards.progress()
    board = a_board(folder)
    board.record(40, 0, 1)
    (after,) = boards.progress()
    assert (before.step, after.step, after.steps) == (50, 40, 1)
    assert before.board != after.board


def test_an_announcement_is_seen_and_decided(folder: Path, boards: WorkerBoards) -> None:
    board = a_board(folder)
    boards.made(0)
    boards.announce(700, 12, SAVE, 5)
    assert board.announcement == Announcement(1, 12, SAVE, OPEN, 5)
    boards.decide(700, True)
    assert board.announcement == Announcement(1, 12, SAVE, COMMITTED, 5)
    boards.announce(900, 20, LEAVE, 0)
    boards.decide(700, False)
    assert board.announcement == Announcement(2, 20, LEAVE, OPEN, 0)
    boards.decide(900, False)
    assert board.announcement == Announcement(2, 20, LEAVE, CANCELLED, 0)
    assert boards.are_told


def test_a_board_that_was_made_after_an_announcement_gets_no_decision(folder: Path, boards: WorkerBoards) -> None:
    a_board(folder)
    boards.made(0)
    boards.announce(700, 12, SAVE, 5)
    board = a_board(folder)
    boards.made(0)
    boards.decide(700, True)
    assert board.announcement is None


@pytest.mark.parametrize("size", [0, 8, SIZE - 1, SIZE + 1])
def test_a_file_that_a_job_has_cut_is_no_board_and_does_no_harm(folder: Path, boards: WorkerBoards, size: int) -> None:
    a_board(folder)
    boards.made(0)
    os.truncate(folder / FOLDER / "rank-0.board", size)
    assert len(boards.progress()) == (size > SIZE)
    boards.announce(1, 12, SAVE, 5)
    boards.decide(1, True)


def test_a_board_of_another_rank_or_world_is_not_read(folder: Path, boards: WorkerBoards) -> None:
    a_board(folder, 7, world=4)
    boards.made(7)
    a_board(folder, 1)
    os.rename(folder / FOLDER / "rank-1.board", folder / FOLDER / "rank-2.board")
    boards.made(2)
    assert boards.progress() == []


def test_links_and_pipes_are_not_opened(folder: Path, boards: WorkerBoards, tmp_path: Path) -> None:
    a_board(folder, 1)
    os.symlink(folder / FOLDER / "rank-1.board", folder / FOLDER / "rank-0.board")
    os.mkfifo(folder / FOLDER / "rank-2.board")
    os.mkdir(folder / FOLDER / "rank-3.board")
    for rank in (0, 2, 3, 4):
        boards.made(rank)
    assert len(boards) == 0
    (tmp_path / "other").mkdir()
    os.symlink(folder / FOLDER, tmp_path / "other" / FOLDER)
    linked = WorkerBoards(tmp_path / "other")
    linked.made(1)
    assert len(linked) == 0
    assert len(found_boards(tmp_path / "other")) == 0
    assert len(found_boards(tmp_path / "missing")) == 0


def test_a_worker_that_announces_boards_without_end_uses_no_file_for_most(
    folder: Path, boards: WorkerBoards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.worker.training.worker_boards.BOARDS_MOST", 3)
    for rank in range(5):
        a_board(folder, rank, world=8)
        boards.made(rank)
    assert len(boards) == 3


def of_a_process_that_is_gone(folder: Path, rank: int) -> None:
    """Make a board in another process, which ends."""
    child = os.fork()
    if child == 0:
        a_board(folder, rank)
        os._exit(0)
    os.waitpid(child, 0)


def test_boards_of_processes_that_were_replaced_by_others_with_other_ranks_are_forgotten(
    folder: Path, boards: WorkerBoards
) -> None:
    of_a_process_that_is_gone(folder, 1)
    boards.made(1)
    boards.forget_earlier()
    assert [each.rank for each in boards.progress()] == [1], "how it ended is of interest until another one is there"
    a_board(folder, 0)
    boards.made(0)
    boards.forget_earlier()
    assert [each.rank for each in boards.progress()] == [0]
    found = found_boards(folder)
    assert [each.rank for each in found.progress()] == [0]
    found.close()
