"""A plan that was spoiled in any one place is found out by the linter."""

from collections.abc import Callable, Iterator

from hypothesis import given

from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, NodeName
from muster.model.plan import Plan, Start
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.property.effort import examples
from tests.property.situations import situations

Spoiling = Callable[[Plan, Scenario], Iterator[Plan]]


@examples(200)
@given(situations())
def test_the_linter_finds_every_spoiled_plan(scenario: Scenario) -> None:
    for spoiling in (spoiled_jobs, spoiled_gangs, spoiled_promises):
        check_spoiled_plans_are_found(scenario, spoiling)


def check_spoiled_plans_are_found(scenario: Scenario, spoiling: Spoiling) -> None:
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    for spoiled in spoiling(made, scenario):
        assert lint(spoiled, snapshot), f"nothing is found wrong with {spoiled}"


def spoiled_jobs(made: Plan, scenario: Scenario) -> Iterator[Plan]:
    """The wrong jobs: one that does not exist, one twice, one that is promised a later start."""
    for start in made.starts[:1]:
        yield evolve(made, starts=(*made.starts, evolve(start, job=JobId("unknown"))))
    for eviction in made.evictions[:1]:
        yield evolve(made, evictions=(*made.evictions, eviction))
        yield evolve(made, evictions=(*made.evictions, evolve(eviction, job=JobId("unknown"))))
    for promise in made.promises[:1]:
        yield evolve(made, starts=(*made.starts, Start(job=promise.job, workers=promise.workers)))


def spoiled_gangs(made: Plan, scenario: Scenario) -> Iterator[Plan]:
    """The wrong placements: a worker short, a gap in the ranks, no such node, GPUs that another job uses."""
    gpu_job = next((start for start in made.starts if start.workers[0].gpus), None)
    if gpu_job is None:
        return
    others = tuple(start for start in made.starts if start is not gpu_job)
    first, *rest = gpu_job.workers
    for workers in (
        tuple(rest),
        (evolve(first, rank=len(gpu_job.workers)), *rest),
        (evolve(first, node=NodeName("nowhere")), *rest),
        (evolve(first, gpus=(*first.gpus, 99)), *rest),
        (evolve(first, gpus=first.gpus[:-1]), *rest),
        *((evolve(first, node=node, gpus=gpus), *rest) for node, gpus in _whole_gpus_in_use(scenario)),
    ):
        yield evolve(made, starts=(*others, evolve(gpu_job, workers=workers)))


def _whole_gpus_in_use(scenario: Scenario) -> list[tuple[NodeName, tuple[int, ...]]]:
    """Where some worker has GPUs for itself."""
    workers = (worker for job in scenario.running for worker in job.workers)
    return [(worker.node, worker.gpus) for worker in workers if worker.gpus and worker.share_milli is None][:1]


def spoiled_promises(made: Plan, scenario: Scenario) -> Iterator[Plan]:
    """The wrong promises: to an unknown job, in the past, nowhere."""
    for promise in made.promises[:1]:
        nowhere = tuple(evolve(worker, node=NodeName("nowhere")) for worker in promise.workers)
        for spoiled in (
            evolve(promise, job=JobId("unknown")),
            evolve(promise, start_ms=scenario.now_ms - 1),
            evolve(promise, workers=nowhere),
        ):
            yield evolve(made, promises=(spoiled,))
