"""Real ranks of PyTorch: `Ranks` runs functions of `torch_training` in processes that train together.

One process imports torch, which takes seconds, and forks the ranks of one training after the other. Ranks end without
what Python does at the end, because torch sometimes aborts there on the CPU, with or without checkpoints.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE_S = 100
"""A rank that hangs is ended after this time."""

Call = dict[str, Any]
"""One training: `{"call": name, "world": 4, …}`, with the arguments of the function."""


class Ranks:
    """The process that forks ranks."""

    def __init__(self) -> None:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.train.ranks"],
            cwd=ROOT,
            env={**variables, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *calls: Call) -> list[list[Any]]:
        """What the functions return, for each training a list with the answer of each rank."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answers = []
        for call in calls:
            self._process.stdin.write(json.dumps(call) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
            assert isinstance(answer, list), f"{call}: {answer}"
            answers.append(answer)
        return answers

    def close(self) -> None:
        self._process.communicate(timeout=30)


def main() -> None:
    from tests.train import torch_training  # noqa: PLC0415 (imports torch, for the forked ranks)

    for line in sys.stdin:
        answer = answer_to(torch_training, json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def answer_to(functions: Any, call: Call) -> list[Any] | str:
    """Run one training; the answers of its ranks, or which ranks failed."""
    with tempfile.TemporaryDirectory() as folder:
        function = getattr(functions, call.pop("call"))
        world, environs = call.pop("world"), call.pop("environs", None)
        ranks = [_forked(function, rank, world, call, folder, environs) for rank in range(world)]
        failed = [rank for rank, pid in enumerate(ranks) if os.waitpid(pid, 0)[1]]
        if failed:
            return f"ranks {failed} failed, and have said why on stderr"
        return [json.loads(Path(folder, str(rank)).read_text("utf-8")) for rank in range(world)]


def _forked(function: Any, rank: int, world: int, call: Call, folder: str, environs: Any) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    signal.alarm(PATIENCE_S)
    try:
        import torch  # noqa: PLC0415

        torch.set_num_threads(1)
        os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(world), **(environs[rank] if environs else {})})
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
        Path(folder, str(rank)).write_text(json.dumps(function(rank, world, **call)), "utf-8")
        torch.distributed.barrier()
        code = 0
    except BaseException:  # noqa: BLE001 (a forked process must not go on as its parent)
        traceback.print_exc()
    os._exit(code)


if __name__ == "__main__":
    main()
