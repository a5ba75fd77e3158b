from pathlib import Path

import pytest

from muster.worker.gang.allocation import (
    AllocatedWorker,
    Allocation,
    EndSignal,
    ScriptRun,
    StepUsage,
    allocation_text,
    read_allocation,
)
from muster.worker.gang.step_layout import CannotPlace, StepPart, StepRequest, place_step, tasks_by_node


def an_allocation(
    *nodes: str, tasks: int = 2, gpus: int = 0, total: int = 0, cpus_per_task: int = 1, gpus_per_task: int = 0
) -> Allocation:
    """One worker on each node, with so many places for tasks."""
    workers = tuple(
        AllocatedWorker(rank=rank, node=node, gpus=tuple(range(gpus)), tasks=tasks) for rank, node in enumerate(nodes)
    )
    return Allocation(
        box="/box",
        gang="job-1 1",
        workers=workers,
        tasks=total or tasks * len(nodes),
        cpus_per_task=cpus_per_task,
        gpus_per_task=gpus_per_task,
    )


def places(parts: list[StepPart] | None) -> list[str]:
    """`0@n1` for task 0 on n1."""
    assert parts is not None
    return [f"{task.number}@{part.node}" for part in parts for task in part.tasks]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (StepRequest(), ["0@n1", "1@n1", "2@n2", "3@n2"]),
        (StepRequest(tasks=1), ["0@n1"]),
        (StepRequest(tasks=2), ["0@n1", "1@n2"]),
        (StepRequest(tasks=3), ["0@n1", "1@n1", "2@n2"]),
        (StepRequest(tasks=2, nodes=1), ["0@n1", "1@n1"]),
        (StepRequest(nodes=1), ["0@n1", "1@n1"]),
        (StepRequest(tasks_per_node=1), ["0@n1", "1@n2"]),
        (StepRequest(tasks=2, tasks_per_node=2), ["0@n1", "1@n1"]),
        (StepRequest(node_list=("n2",)), ["0@n2", "1@n2"]),
        (StepRequest(tasks=1, node_list=("n2",)), ["0@n2"]),
        (StepRequest(node_list=("n2",), nodes=2, tasks=2), ["0@n1", "1@n2"]),
        (StepRequest(exclude=("n1",)), ["0@n2", "1@n2"]),
        (StepRequest(tasks=6), ["0@n1", "1@n1", "2@n1", "3@n2", "4@n2", "5@n2"]),
    ],
)
def test_a_step_is_as_large_as_it_says_or_as_its_job(request_: StepRequest, expected: list[str]) -> None:
    allocation = an_allocation("n1", "n2")
    assert places(place_step(allocation, StepUsage(allocation), request_)) == expected


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (StepRequest(nodes=3), "Only allocated 2 nodes asked for 3"),
        (StepRequest(node_list=("n7",)), "Requested node n7 is not in the allocation n1,n2"),
        (StepRequest(exclude=("n1", "n2")), "Requested node configuration is not available"),
        (StepRequest(gpus_per_task=2), "4 GPUs are asked for on n1, and the job has 2 there"),
        (StepRequest(gpus_per_node=3), "3 GPUs are asked for on n1, and the job has 2 there"),
    ],
)
def test_a_step_that_never_fits_is_refused(request_: StepRequest, problem: str) -> None:
    allocation = an_allocation("n1", "n2", gpus=2)
    with pytest.raises(CannotPlace, match=problem):
        place_step(allocation, StepUsage(allocation), request_)


def test_steps_wait_for_cpus_that_others_have_unless_they_overlap() -> None:
    allocation = an_allocation("n1")
    usage = StepUsage(allocation)
    for _ in range(2):
        (part,) = place_step(allocation, usage, StepRequest(tasks=1)) or []
        usage.take(part.rank, part.cpus, part.taken_gpus)
    assert place_step(allocation, usage, StepRequest(tasks=1)) is None
    assert places(place_step(allocation, usage, StepRequest(tasks=1, overlap=True))) == ["0@n1"]
    usage.give_back(0, 1, ())
    assert places(place_step(allocation, usage, StepRequest(tasks=1))) == ["0@n1"]


def test_a_step_goes_to_a_node_with_room() -> None:
    allocation = an_allocation("n1", "n2", tasks=1)
    usage = StepUsage(allocation)
    usage.take(0, 1, ())
    assert places(place_step(allocation, usage, StepRequest(tasks=1))) == ["0@n2"]


def test_a_step_that_asks_for_gpus_has_them_for_itself() -> None:
    allocation = an_allocation("n1", tasks=4, gpus=4)
    usage = StepUsage(allocation)
    seen = []
    for _ in range(4):
        (part,) = place_step(allocation, usage, StepRequest(tasks=1, gpus=1)) or []
        usage.take(part.rank, 0, part.taken_gpus)
        seen.append(part.tasks[0].gpus)
    assert seen == [(0,), (1,), (2,), (3,)]
    assert place_step(allocation, usage, StepRequest(tasks=1, gpus=1)) is None
    (part,) = place_step(allocation, usage, StepRequest(tasks=1)) or []
    assert part.tasks[0].gpus == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (StepRequest(gpus_per_task=2), [(0, 1), (2, 3), (0, 1), (2, 3)]),
        (StepRequest(gpus_per_node=2), [(0, 1), (0, 1), (0, 1), (0, 1)]),
        (StepRequest(gpus=4), [(0, 1), (0, 1), (0, 1), (0, 1)]),
        (StepRequest(gpus=0), [(), (), (), ()]),
        (StepRequest(), [(0, 1, 2, 3)] * 4),
    ],
)
def test_tasks_see_the_gpus_that_their_step_gives_them(request_: StepRequest, expected: list[tuple[int, ...]]) -> None:
    allocation = an_allocation("n1", "n2", gpus=4)
    parts = place_step(allocation, StepUsage(allocation), request_)
    assert [task.gpus for part in parts or [] for task in part.tasks] == expected


def test_the_job_may_say_how_many_gpus_a_task_sees() -> None:
    allocation = an_allocation("n1", gpus=2, gpus_per_task=1)
    (part,) = place_step(allocation, StepUsage(allocation), StepRequest()) or []
    assert [task.gpus for task in part.tasks] == [(0,), (1,)]


def test_workers_of_one_node_are_one_node_of_the_step() -> None:
    workers = tuple(
        AllocatedWorker(rank=rank, node=node, gpus=(rank,)) for rank, node in enumerate(("n1", "n1", "n1", "n2"))
    )
    allocation = Allocation(box="/box", gang="g", workers=workers, tasks=4)
    parts = place_step(allocation, StepUsage(allocation), StepRequest(gpus_per_task=1)) or []
    assert [(part.rank, part.node_number, [(task.number, task.local) for task in part.tasks]) for part in parts] == [
        (0, 0, [(0, 0)]),
        (1, 0, [(1, 1)]),
        (2, 0, [(2, 2)]),
        (3, 1, [(3, 0)]),
    ]
    assert tasks_by_node(allocation) == [3, 1]


def test_steps_find_the_workers_of_a_node_that_are_free() -> None:
    workers = tuple(AllocatedWorker(rank=rank, node="n1", gpus=(rank,)) for rank in range(3))
    allocation = Allocation(box="/box", gang="g", workers=workers, tasks=3)
    usage = StepUsage(allocation)
    seen = []
    for _ in range(3):
        (part,) = place_step(allocation, usage, StepRequest(tasks=1, nodes=1, gpus=1)) or []
        usage.take(part.rank, part.cpus, part.taken_gpus)
        seen.append(part.tasks[0].gpus)
    assert seen == [(0,), (1,), (2,)]
    assert place_step(allocation, usage, StepRequest(tasks=1)) is None
    usage.give_back(1, 1, (1,))
    assert [part.rank for part in place_step(allocation, usage, StepRequest(tasks=1)) or []] == [1]


def test_a_step_with_gpus_goes_where_gpus_are_free() -> None:
    allocation = an_allocation("n1", "n2", gpus=1)
    usage = StepUsage(allocation)
    usage.take(0, 1, (0,))
    assert places(place_step(allocation, usage, StepRequest(tasks=1, gpus=1))) == ["0@n2"]
    assert places(place_step(allocation, usage, StepRequest(tasks=1))) == ["0@n1"]


def test_an_allocation_is_read_as_it_was_written(tmp_path: Path) -> None:
    script = ScriptRun(arguments=("a", "b c"), output="%j", signal=EndSignal(number=10, script_only=True), told="/t")
    written = Allocation(
        box="/box",
        gang="job-1 1",
        workers=(AllocatedWorker(rank=0, node="n1", gpus=(0, 1), tasks=2),),
        tasks=2,
        hosts=("n1",),
        script=script,
        variables={"SLURM_JOB_ID": "1"},
    )
    (tmp_path / "a").write_text(allocation_text(written))
    assert read_allocation(str(tmp_path / "a")) == written
