"""What checkpoints cost a training: `python -m benchmarks.checkpoints`.

step          one call of `step` when nothing is due
blocked       how long training stands still for a save of 200 MB: copied and written in the background, and
              written at once by torch.distributed.checkpoint
writers       four ranks that write their own shards, and rank 0 that gathers and writes everything: with checksums,
              as all that Muster writes, and bare, as training scripts do
restore       200 MB from the hot tier, and from durable storage (a folder) when the hot tier is lost
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

STEPS = 200_000
STATE_BYTES = 200_000_000
TENSORS = 20
TRIALS = 5
RANKS = 4
WARM_S = 1.0
"""A first step takes at least so long in any training of that size."""


def main() -> None:
    """Measure everything, and print one line for each figure."""
    warnings.filterwarnings("ignore", category=UserWarning)
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        root = Path(folder)
        print(f"step, nothing due         {step_us(root):8.1f} µs")
        _imported()
        _in_ranks(1, lambda _: save_and_restore(root))
        own_s, checked_s, bare_s = (_seconds_of(root, work) for work in (_own, _gathered, _gathered_bare))
        print(f"4 ranks write their own   {own_s:8.2f} s   {STATE_BYTES / own_s / 1e6:6.0f} MB/s, with checksums")
        for what, spent_s in (("with checksums", checked_s), ("bare", bare_s)):
            print(f"rank 0 gathers and writes {spent_s:8.2f} s   {STATE_BYTES / spent_s / 1e6:6.0f} MB/s, {what}")
            print(f"                          {spent_s / own_s:8.1f} times as fast with four writers")


def step_us(root: Path) -> float:
    """The mean of many calls in a job, with a board and metrics."""
    from muster.train import Checkpointer  # noqa: PLC0415

    boards = root / "boards"
    boards.mkdir()
    os.environ.update(
        {"MUSTER_RUN_ID": "bench", "MUSTER_BOARDS": str(boards), "MUSTER_CHECKPOINT_PATH": str(root / "x")}
    )
    state: dict[str, Any] = {"step": 0}
    with Checkpointer() as checkpoints:
        checkpoints.restore(state)
        began_ns = time.perf_counter_ns()
        for step in range(1, STEPS + 1):
            checkpoints.step(step, state, loss=1.0)
        spent_ns = time.perf_counter_ns() - began_ns
    for name in ("MUSTER_RUN_ID", "MUSTER_BOARDS", "MUSTER_CHECKPOINT_PATH"):
        del os.environ[name]
    return spent_ns / STEPS / 1000


def save_and_restore(root: Path) -> None:
    """How long saves block, and restores take, in one process."""
    import torch  # noqa: PLC0415
    from torch.distributed.checkpoint.state_dict_saver import save  # noqa: PLC0415

    from muster.train import Checkpointer  # noqa: PLC0415

    model = _a_model()
    job = {"MUSTER_RUN_ID": "bench", "MUSTER_NODE": "n1", "MUSTER_HOT": str(root / "hot")}
    os.environ.update({**job, "MUSTER_CHECKPOINT_PATH": str(root / "durable"), "MUSTER_CHECKPOINT_KEEP": "1"})
    blocked, written = [], []
    state = {"model": model}
    with Checkpointer() as checkpoints:
        checkpoints.restore(state)
        time.sleep(WARM_S)
        for trial in range(TRIALS + 1):
            began_s = time.perf_counter()
            handle = checkpoints.save(trial + 1, state)
            blocked.append(time.perf_counter() - began_s)
            handle.wait()
            written.append(time.perf_counter() - began_s)
    at_once = [_seconds(lambda: save({"model": model}, checkpoint_id=str(root / "dcp"))) for _ in range(TRIALS)]
    with torch.no_grad():
        first_ms, rest_ms, sync_ms = blocked[0] * 1e3, median(blocked[1:]) * 1e3, median(at_once) * 1e3
    print(f"blocked, in background    {rest_ms:8.1f} ms  {100 * rest_ms / sync_ms:5.1f} %")
    print(f"blocked, by the first     {first_ms:8.1f} ms  {100 * first_ms / sync_ms:5.1f} %")
    print(f"blocked, at once          {sync_ms:8.1f} ms")
    print(f"written in background     {median(written):8.2f} s   with checksums")
    _restores(root, model)


def _restores(root: Path, model: Any) -> None:
    from muster.train import Checkpointer  # noqa: PLC0415
    from muster.train.uploader import main as upload  # noqa: PLC0415

    upload(["--until-idle"])
    os.environ["MUSTER_CHECKPOINT_STEP"] = str(TRIALS + 1)
    hot = [_seconds(lambda: Checkpointer().restore({"model": model})) for _ in range(TRIALS)]
    durable = []
    for _ in range(TRIALS):
        shutil.rmtree(root / "hot")
        durable.append(_seconds(lambda: Checkpointer().restore({"model": model})))
    print(f"restored, hot             {median(hot):8.2f} s")
    print(f"restored, durable folder  {median(durable):8.2f} s")


def _seconds_of(root: Path, work: Callable[[Path, int], float]) -> float:
    """Seconds until 200 MB of four ranks are on disk. Ranks wait for each other, so the first can tell for all."""
    told = root / "seconds"
    _in_ranks(RANKS, lambda rank: _report(told, work(root, rank), rank))
    return float(told.read_text("utf-8"))


def _report(file: Path, seconds: float, rank: int) -> None:
    if rank == 0:
        file.write_text(str(seconds), "utf-8")


def _own(root: Path, rank: int) -> float:
    import torch  # noqa: PLC0415

    from muster.train import Checkpointer  # noqa: PLC0415

    state = {"mine": [torch.randn(STATE_BYTES // RANKS // TENSORS // 4) for _ in range(TENSORS)], "rank": rank}
    times = []
    with Checkpointer(str(root / "shards"), every=1000, keep=1) as checkpoints:
        for trial in range(TRIALS):
            torch.distributed.barrier()
            began_s = time.perf_counter()
            checkpoints.save(trial + 1, state).wait()
            torch.distributed.barrier()
            times.append(time.perf_counter() - began_s)
    return median(times)


def _gathered(root: Path, rank: int) -> float:
    """What training scripts do without sharded saves, as safe as what Muster writes: a checksum of every file."""
    return _through_rank_0(root, rank, is_checked=True)


def _gathered_bare(root: Path, rank: int) -> float:
    """The same without checksums."""
    return _through_rank_0(root, rank, is_checked=False)


def _through_rank_0(root: Path, rank: int, *, is_checked: bool) -> float:
    """Rank 0 gathers everything, and writes it synced."""
    import torch  # noqa: PLC0415

    mine = [torch.randn(STATE_BYTES // RANKS // TENSORS // 4) for _ in range(TENSORS)]
    times = []
    for _ in range(TRIALS):
        torch.distributed.barrier()
        began_s = time.perf_counter()
        for number, tensor in enumerate(mine):
            parts = [torch.empty_like(tensor) for _ in range(RANKS)] if rank == 0 else None
            torch.distributed.gather(tensor, parts, dst=0)
            if parts is not None:
                _write(root / f"gathered-{number}", parts, is_checked=is_checked)
        torch.distributed.barrier()
        times.append(time.perf_counter() - began_s)
    return median(times)


def _write(path: Path, parts: Any, *, is_checked: bool) -> None:
    import torch  # noqa: PLC0415

    with path.open("wb+") as file:
        torch.save(parts, file)
        file.flush()
        os.fsync(file.fileno())
        if is_checked:
            file.seek(0)
            hashlib.file_digest(file, "sha256")


def _a_model() -> Any:
    import torch  # noqa: PLC0415

    side = int((STATE_BYTES / TENSORS / 4) ** 0.5)
    return torch.nn.Sequential(*(torch.nn.Linear(side, side, bias=False) for _ in range(TENSORS)))


def _seconds(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def _imported() -> None:
    """What ranks need is imported before they are forked."""
    import torch._dynamo  # noqa: PLC0415
    import torch.distributed.checkpoint.state_dict  # noqa: PLC0415, F401


def _in_ranks(world: int, work: Callable[[int], object]) -> None:
    """Run a function in forked processes of one group, and wait for them."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        pids = [pid for rank in range(world) if (pid := _forked(rank, world, folder, work))]
        if any(os.waitpid(pid, 0)[1] for pid in pids):
            raise SystemExit("a rank failed")


def _forked(rank: int, world: int, folder: str, work: Callable[[int], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    import torch  # noqa: PLC0415

    code = 1
    try:
        torch.set_num_threads(1)
        if world > 1:
            store = f"file://{folder}/store"
            torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=world)
        work(rank)
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
