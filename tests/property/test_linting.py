"""A plan that was spoiled in any one place is found out by the linter."""

from collections.abc import Callable, Iterator

from hypothesis import given

from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, NodeName
from muster.model.plan import Plan, Start
from muster.model.records import changed
from muster.model.scenario import Scenario
from tests.property.effort import examples
from tests.property.situations import situations

Spoiling = Callable[[Plan, Scenario], Iterator[Plan]]


@examples(200)
@given(situations())
def test_the_linter_finds_every_spoiled_plan(scenario: Scenario) -> None:
    for spoiling in (spoiled_jobs, spoiled_gangs, spoiled_holds):
        check_spoiled_plans_are_found(scenario, spoiling)


def check_spoiled_plans_are_found(scenario: Scenario, spoiling: Spoiling) -> None:
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    for spoiled in spoiling(made, scenario):
        assert lint(spoiled, snapshot), f"nothing is found wrong with {spoiled}"


def spoiled_jobs(made: Plan, scenario: Scenario) -> Iterator[Plan]:
    """The wrong jobs: nobody, somebody twice, somebody who is leaving."""
    for start in made.starts[:1]:
        yield changed(made, starts=(*made.starts, changed(start, job=JobId("nobody"))))
    for eviction in made.evictions[:1]:
        yield changed(made, evictions=(*made.evictions, eviction))
        yield changed(made, evictions=(*made.evictions, changed(eviction, job=JobId("nobody"))))
    for hold in made.holds[:1]:
        yield changed(made, starts=(*made.starts, Start(job=hold.job, workers=hold.workers)))


def spoiled_gangs(made: Plan, scenario: Scenario) -> Iterator[Plan]:
    """The wrong placements: a worker short, a gap in the ranks, no such node, GPUs that somebody uses."""
    gpu_job = next((start for start in made.starts if start.workers[0].gpus), None)
    if gpu_job is None:
        return
    others = tuple(start for start in made.starts if start is not gpu_job)
    first, *rest = gpu_job.workers
    for workers in (
        tuple(rest),
        (changed(first, rank=len(gpu_job.workers)), *rest),
        (changed(first, node=NodeName("nowhere")), *rest),
        (changed(first, gpus=(*first.gpus, 99)), *rest),
        (changed(first, gpus=first.gpus[:-1]), *rest),
        *((changed(first, node=node, gpus=gpus), *rest) for node, gpus in _whole_gpus_in_use(scenario)),
    ):
        yield changed(made, starts=(*others, changed(gpu_job, workers=workers)))


def _whole_gpus_in_use(scenario: Scenario) -> list[tuple[NodeName, tuple[int, ...]]]:
    """Where some worker has GPUs for itself."""
    workers = (worker for job in scenario.running for worker in job.workers)
    return [(worker.node, worker.gpus) for worker in workers if worker.gpus and worker.share_milli is None][:1]


def spoiled_holds(made: Plan, scenario: Scenario) -> Iterator[Plan]:
    """The wrong promises: to nobody, in the past, nowhere."""
    for hold in made.holds[:1]:
        nowhere = tuple(changed(worker, node=NodeName("nowhere")) for worker in hold.workers)
        for spoiled in (
            changed(hold, job=JobId("nobody")),
            changed(hold, start_ms=scenario.now_ms - 1),
            changed(hold, workers=nowhere),
        ):
            yield changed(made, holds=(spoiled,))
