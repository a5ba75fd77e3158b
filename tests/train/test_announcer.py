"""How the ranks of a training outside Muster agree on a step through torch's store, however late anything is."""

import mmap
import threading

import pytest

from muster.train.agreement import Agreement
from muster.train.announcer import Announcer
from muster.train.board import COMMITTED, SAVE, SIZE, Board

PATIENCE_S = 60


class PretendedStore:
    """Words that all ranks see. One who wants to decide that a step is saved is held back until he may go on."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self.is_deciding, self.may_decide = threading.Event(), threading.Event()

    def set(self, name: str, word: str) -> None:
        self._hold(name, word)
        self.words[name] = word

    def compare_set(self, name: str, expected: str, word: str) -> bytes:
        self._hold(name, word)
        if self.words.get(name, "") == expected:
            self.words[name] = word
        return self.words[name].encode()

    def check(self, names: list[str]) -> bool:
        return all(name in self.words for name in names)

    def get(self, name: str) -> bytes:
        return self.words[name].encode()

    def _hold(self, name: str, word: str) -> None:
        if "/state-" in name and word == str(COMMITTED):
            self.is_deciding.set()
            assert self.may_decide.wait(PATIENCE_S)


@pytest.mark.parametrize(("is_late", "done"), [(True, 0), (False, SAVE)])
def test_a_step_that_one_rank_gives_up_because_the_decision_is_late_is_given_up_by_all(
    is_late: bool, done: int
) -> None:
    store, boards = PretendedStore(), [Board(mmap.mmap(-1, SIZE)) for _ in range(2)]
    announcers = [Announcer(board, store, rank, 2, every_s=0) for rank, board in enumerate(boards)]
    patient, hasty = (
        Agreement(board, patience_s=limit_s) for board, limit_s in zip(boards, (PATIENCE_S, 0), strict=True)
    )
    patient.settle, hasty.settle = (each.settle for each in announcers)
    assert store.is_deciding.wait(PATIENCE_S)
    found = boards[1].announcement
    assert found is not None
    if not is_late:
        store.may_decide.set()
        while boards[1].announcement == found:
            pass
    assert hasty.due(found.step) == done
    store.may_decide.set()
    assert patient.due(found.step) == done
    for each in announcers:
        each.close()
