"""A job as its supervisor makes it for training code: folders, the pipe for notices, the environment, boards."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.train.board import CANCELLED, COMMITTED, LEAVE, OPEN, SAVE, Announcement, Board, board_name

__all__ = ["LEAVE", "AJob", "Desk", "a_state", "environment", "flipped", "job", "steps_of", "until"]

RUN = "run-1"
PLACE_VARIABLES = ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS")


class AJob:
    """The surroundings of one job on virtual nodes of this machine."""

    def __init__(self, root: Path, nodes: tuple[str, ...] = ("n1",), run: str = RUN) -> None:
        self.root = root
        self.run = run
        self.nodes = nodes
        self.hot = root / "hot"
        self.boards = root / "boards"
        self.durable = root / "durable"
        self.notice = root / "notices"
        for folder in (self.hot, self.boards):
            folder.mkdir(exist_ok=True, parents=True)
        if not self.notice.exists():
            os.mkfifo(self.notice)
        self._pipe = os.open(self.notice, os.O_RDWR | os.O_NONBLOCK)

    def close(self) -> None:
        os.close(self._pipe)

    def environment(
        self, rank: int = 0, world: int = 1, *, node: str = "n1", restart: int = 0, step: int | None = None, **more: str
    ) -> dict[str, str]:
        """What a worker of this job finds."""
        variables = {
            "MUSTER_RUN_ID": self.run,
            "MUSTER_RESTART": str(restart),
            "MUSTER_CHECKPOINT_PATH": f"file://{self.durable}",
            "MUSTER_CHECKPOINT_KEEP": "2",
            "MUSTER_CHECKPOINT_NOTICE": str(self.notice),
            "MUSTER_HOT": str(self.hot),
            "MUSTER_NODE": node,
            "MUSTER_BOARDS": str(self.boards),
            "MUSTER_RANK": str(rank),
            "MUSTER_WORLD": str(world),
        }
        if step is not None:
            variables["MUSTER_CHECKPOINT_STEP"] = str(step)
        return {**variables, **more}

    def notices(self) -> list[str]:
        """The lines that were written since the last call."""
        data = b""
        try:
            while piece := os.read(self._pipe, 1 << 16):
                data += piece
        except BlockingIOError:
            pass
        return data.decode().splitlines()

    def told(self, word: str) -> list[dict[str, Any]]:
        """The fields of the notices of one kind since the last call."""
        return [json.loads(line.partition(" ")[2]) for line in self.notices() if line.startswith(f"{word} {{")]

    def board(self, rank: int = 0) -> Board:
        board = Board.open(str(self.boards / board_name(rank)))
        assert board is not None
        return board

    def hot_folder(self, node: str = "n1") -> Path:
        return self.hot / node / self.run


class Desk:
    """Announcements as a supervisor writes them."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.number = board.announced

    def announce(self, step: int, kind: int = SAVE, state: int = COMMITTED, every: int = 0) -> int:
        self.number += 1
        self.board.announce(Announcement(self.number, step, kind, OPEN, every))
        if state in (COMMITTED, CANCELLED):
            self.board.decide(self.number, state)
        return int(self.number)


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Be in these surroundings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (*PLACE_VARIABLES, *(name for name in os.environ if name.startswith("MUSTER_"))):
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def job(tmp_path: Path) -> Iterator[AJob]:
    made = AJob(tmp_path / "job")
    yield made
    made.close()


def a_state(value: float = 0.0) -> dict[str, Any]:
    return {"weights": np.full(4, value), "extra": {"epoch": 0}}


def steps_of(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))


def flipped(path: Path, at: int) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0x40
    path.write_bytes(data)


def until(condition: Callable[[], object], tries: int = 2000) -> None:
    """Wait for something that other threads or processes do, for twenty seconds at most."""
    import time  # noqa: PLC0415

    for _ in range(tries):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")
