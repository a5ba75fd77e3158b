"""The busy time of a rank on the timeline of a GPU, without its waits, however the ranks wait for each other."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from muster.train.busy.gpu_time import PENDING_MOST, GpuTime, timeline_of
from muster.train.busy.waits import Waits
from tests.train.pretended_gpu import PretendedGpu

STEPS = 12
OWN_MS, OTHER_MS = 10.0, 13.0
"""What this rank and the other one compute in a step. Each step begins when both are done."""

Together = Callable[[PretendedGpu, float], None]


@contextmanager
def watched(gpu: PretendedGpu) -> Iterator[GpuTime]:
    own = GpuTime(gpu.torch, timeline_of(gpu.torch, "cuda"))
    waits = Waits(gpu.torch, own)
    yield own
    waits.close()
    own.close()


def in_the_stream(gpu: PretendedGpu, other_ms: float) -> None:
    gpu.group.allreduce(other_ms)


def in_another_stream(gpu: PretendedGpu, other_ms: float) -> None:
    gpu.group.allreduce(other_ms, is_async=True).wait()


def behind_an_event(gpu: PretendedGpu, other_ms: float) -> None:
    """As FSDP2 does: collectives in a stream of the library, followed by work in a second one."""
    gather, after = gpu.communication, gpu.after
    gather.wait_stream(gpu.stream)
    with gpu.using(gather):
        gpu.group.allreduce(other_ms)
    after.wait_event(gather.record_event())
    gpu.stream.wait_event(after.record_event())


def on_the_processor(gpu: PretendedGpu, other_ms: float) -> None:
    gpu.read()
    gpu.group.allreduce(other_ms, on_gpu=False).wait()


def read_at_once(gpu: PretendedGpu, other_ms: float) -> None:
    gpu.group.allreduce(other_ms)
    gpu.read()


WAYS = (in_the_stream, in_another_stream, behind_an_event, on_the_processor, read_at_once)


def busy_ms(gpu: PretendedGpu, own: GpuTime, together: Together, work: Callable[[], None]) -> list[float]:
    """What is told of all steps of a training that runs ahead of its GPU by a step."""
    told, ended_ms = [], 0.0
    for _ in range(STEPS):
        before_ms = gpu.stream.at_ms
        work()
        together(gpu, max(before_ms, gpu.now_ms if together is on_the_processor else 0) + OTHER_MS)
        gpu.compute(1)
        told.append(own.take_us(0) / 1000)
        gpu.now_ms = max(gpu.now_ms, ended_ms)
        ended_ms = gpu.stream.at_ms
    return told


@pytest.mark.parametrize("together", WAYS)
def test_what_a_rank_waits_for_the_other_is_no_work_of_its_own(together: Together) -> None:
    gpu = PretendedGpu()
    with watched(gpu) as own:
        told = [each for each in busy_ms(gpu, own, together, lambda: gpu.compute(OWN_MS)) if each]
    assert len(told) >= STEPS - 3
    assert told == pytest.approx([OWN_MS + 1] * len(told), abs=0.01)


@pytest.mark.parametrize("together", WAYS)
def test_a_rank_whose_data_comes_late_is_slow_of_its_own_although_its_gpu_is_idle(together: Together) -> None:
    gpu = PretendedGpu()

    def late() -> None:
        gpu.read()
        gpu.now_ms += 5
        gpu.compute(OWN_MS)

    with watched(gpu) as own:
        told = [each for each in busy_ms(gpu, own, together, late) if each]
    assert len(told) >= STEPS - 3
    assert told[1:] == pytest.approx([OWN_MS + 6] * (len(told) - 1), abs=0.01)


def test_waiting_for_a_copy_of_its_own_data_counts_as_work() -> None:
    gpu = PretendedGpu()
    copies: Any = gpu.Stream()

    def copied() -> None:
        copies.wait_stream(gpu.stream)
        with gpu.using(copies):
            gpu.compute(4)
        gpu.stream.wait_event(copies.record_event())
        gpu.compute(OWN_MS)

    with watched(gpu) as own:
        told = [each for each in busy_ms(gpu, own, behind_an_event, copied) if each]
    assert told[1:] == pytest.approx([OWN_MS + 5] * (len(told) - 1), abs=0.01)


def test_what_a_thread_in_the_background_waits_for_is_none_of_training() -> None:
    gpu = PretendedGpu()

    def work() -> None:
        gpu.compute(OWN_MS)
        saving = threading.Thread(target=lambda: gpu.group.allreduce(0, on_gpu=False).wait())
        saving.start()
        saving.join()

    with watched(gpu) as own:
        told = [each for each in busy_ms(gpu, own, in_the_stream, work) if each]
    assert told == pytest.approx([OWN_MS + 1] * len(told), abs=0.01)


def test_a_gpu_that_falls_behind_is_never_waited_for_and_a_graph_that_is_captured_gets_no_events() -> None:
    gpu = PretendedGpu()
    with watched(gpu) as own:
        gpu.is_capturing = True
        in_the_stream(gpu, 1)
        assert own.take_us(0) == 0
        gpu.is_capturing = False
        own.restart()
        for _ in range(3 * PENDING_MOST):
            gpu.compute(OWN_MS)
            assert own.take_us(0) == 0
        gpu.read()
        told = [own.take_us(0) for _ in range(PENDING_MOST)]
        assert told[:-1] == pytest.approx([OWN_MS * 1000] * (PENDING_MOST - 1))


def test_nothing_of_torch_stays_changed() -> None:
    gpu = PretendedGpu()
    owners = (gpu.Stream, gpu.Event, type(gpu.group), gpu.torch._C._distributed_c10d.Work)
    before = [dict(vars(owner)) for owner in owners]
    with watched(gpu):
        assert [dict(vars(owner)) for owner in owners] != before
    assert [dict(vars(owner)) for owner in owners] == before


def test_a_device_without_events_that_have_times_is_not_measured() -> None:
    gpu = PretendedGpu()
    gpu.torch.mps = object()
    assert timeline_of(gpu.torch, "cuda") is gpu
    assert timeline_of(gpu.torch, "mps") is None
    assert timeline_of(gpu.torch, "npu") is None
