"""A program that trains as docs/TRAINING.md says, with a board and without any framework.

    python trainer.py STEPS STEP_MS [EXIT_CODE_AFTER_LEAVING] [HUNG_RANK]

Prints what it does at which step. Each worker is one rank, unless RANKS_HERE says how many processes it has.
"""

import faulthandler
import json
import os
import signal
import sys
import time

from muster.train.board import CLOSED, COMMITTED, LEAVE, LEFT, OPEN, Announcement, Board

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
NOTICE = os.environ["MUSTER_CHECKPOINT_NOTICE"]
BOARDS = os.environ.get("MUSTER_BOARDS") or os.path.join(os.path.dirname(NOTICE), "boards")
PATIENCE_S = 5.0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def notice(line: str) -> None:
    with open(NOTICE, "w", encoding="utf-8") as pipe:
        pipe.write(line + "\n")


def decided(board: Board, found: Announcement) -> bool:
    """Wait for the decision on an announcement, for a short time only."""
    give_up_s = time.monotonic() + PATIENCE_S
    state = found.state
    while state == OPEN and time.monotonic() < give_up_s:
        time.sleep(0.001)
        newest = board.announcement
        assert newest is not None
        state = newest.state if newest.number == found.number else 0
    return state == COMMITTED


def save(step: int) -> None:
    notice("shard " + json.dumps({"step": step, "rank": RANK, "world": WORLD, "bytes": 1, "cost_ms": 1}))


def train(steps: int, step_ms: float, exit_code: int, hung: int) -> int:
    board = Board.make(BOARDS, RANK, WORLD)
    notice(f"board {RANK}")
    stacks = open(os.path.join(BOARDS, f"rank-{RANK}.stack"), "w", encoding="utf-8")  # noqa: SIM115 (until the end)
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=False)
    notice(f"stacks {RANK} {os.getpid()} SIGUSR2")
    acted, before_s = 0, time.monotonic()
    for step in range(1, steps + 1):
        time.sleep(step_ms / 1000)
        while hung == RANK and step > 3:
            time.sleep(1)
        now_s = time.monotonic()
        board.record(step, time.monotonic_ns(), int((now_s - before_s) * 1e6))
        before_s = now_s
        found = board.announcement
        if found is None or found.number == acted or step < found.step:
            continue
        acted = found.number
        if not decided(board, found):
            say(f"cancelled at {step}")
            continue
        save(step)
        say(f"{'left' if found.kind == LEAVE else 'saved'} at {step} of {found.step} every {found.every}")
        if found.kind == LEAVE:
            board.flag(LEFT)
            return exit_code
    board.flag(CLOSED)
    say("finished")
    return 0


def signalled(_number: int, _frame: object) -> None:
    say("signalled")
    sys.exit(143)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signalled)
    given = {place: float(word) for place, word in enumerate(sys.argv) if place}
    sys.exit(train(int(given[1]), given[2], int(given.get(3, 0)), int(given.get(4, -1))))
