"""A stand-in for a training: the boards of some ranks, with a step every ten milliseconds. Used by `supervisor`."""

import os
import sys
import time
from pathlib import Path

from muster.train.board import Board

STEP_S = 0.01


def main(ranks: int) -> None:
    """Make the boards, and step until killed."""
    notice = Path(os.environ["MUSTER_CHECKPOINT_NOTICE"])
    folder = os.environ.get("MUSTER_BOARDS") or str(notice.parent / "boards")
    boards = [Board.make(folder, rank, ranks) for rank in range(ranks)]
    notice.write_text("".join(f"board {rank}\n" for rank in range(ranks)))
    step = 0
    while True:
        time.sleep(STEP_S)
        step += 1
        for board in boards:
            board.record(step, time.monotonic_ns(), int(STEP_S * 1e6), int(STEP_S * 1e6))


if __name__ == "__main__":
    main(int(sys.argv[1]))
