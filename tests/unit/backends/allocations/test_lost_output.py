"""What readers of an output are told when its end has not come."""

from pathlib import Path

import pytest

from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.engine import AllocationId
from muster.backends.allocations.lost_output import say_lost
from muster.backends.local.logs import read_log
from muster.model.ids import EngineName, NodeName
from muster.model.job import Worker
from muster.worker.output.segments import COMPLETE, log_folder, segment_name
from tests.unit.core.lifecycle.builders import JOB

N0 = NodeName("n0")


def test_it_is_said_at_the_end_of_what_came_and_not_of_what_is_whole(tmp_path: Path) -> None:
    workers = tuple(Worker(rank=rank, role="worker", node=N0, gpus=(rank,)) for rank in range(3))
    allocation = EngineAllocation(
        id=AllocationId("ab12"), engine=EngineName("hpc"), job=JOB, attempt=1, workers=workers
    )
    for rank in (0, 1):
        folder = log_folder(tmp_path, JOB, 1, rank)
        folder.mkdir(parents=True)
        (folder / segment_name(0)).write_text("first\n")
        (folder / segment_name(6)).write_text("last")
    (log_folder(tmp_path, JOB, 1, 0) / COMPLETE).touch()
    say_lost(tmp_path, allocation, N0, 14)
    missing = "up to 14 bytes of it did not come from n0 before the allocation was over there"
    said = f"\n[muster] this output is not whole: {missing}\n"
    whole, part, nothing = (read_log(tmp_path, JOB, 1, rank) for rank in range(3))
    assert whole.data == b"first\nlast"
    assert part.data.decode() == f"first\nlast{said}"
    assert nothing.data.decode() == said
    assert whole.is_complete
    assert part.is_complete  # nobody waits for more


def test_nothing_is_missing_where_every_output_is_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    workers = (Worker(rank=0, role="worker", node=N0, gpus=(0,)),)
    allocation = EngineAllocation(
        id=AllocationId("ab12"), engine=EngineName("hpc"), job=JOB, attempt=1, workers=workers
    )
    folder = log_folder(tmp_path, JOB, 1, 0)
    folder.mkdir(parents=True)
    (folder / COMPLETE).touch()
    say_lost(tmp_path, allocation, N0, None)
    assert caplog.messages == []
    (folder / COMPLETE).unlink()
    say_lost(tmp_path, allocation, N0, None)
    assert caplog.messages == ["output is missing"]
