"""A search for an opening before a time finds the one that is found without a bound, if that comes in time."""

from hypothesis import given

from muster.core.planning.draft import PlanDraft
from muster.core.planning.promising.promise_renewal import promises_by_tier, renew_promises
from muster.core.planning.promising.promises import earliest
from muster.core.snapshot import Snapshot
from muster.model.job import Placement, WaitingJob
from muster.model.scenario import Scenario
from tests.property.apply import carried_out, later, next_event_ms
from tests.property.checks import planned
from tests.property.effort import examples
from tests.property.situations import situations


@examples(300)
@given(situations(punctual=True))
def test_a_bound_only_leaves_out_what_comes_later(scenario: Scenario) -> None:
    before = carried_out(scenario, planned(scenario))
    for now_ms in (before.now_ms + 1, next_event_ms(before) or before.now_ms + 60_000):
        check_bounds(later(before, now_ms, []))


def check_bounds(scenario: Scenario) -> None:
    draft = PlanDraft(Snapshot.of(scenario), scenario.now_ms)
    for jobs in promises_by_tier(draft).values():
        renew_promises(draft, jobs)
    queue = draft.snapshot.queue
    for job in queue.jobs.values():
        if job.id in queue.class_of and job.id not in draft.promises:
            check_bounds_of(draft, job)


def check_bounds_of(draft: PlanDraft, job: WaitingJob) -> None:
    group = draft.snapshot.queue.class_of[job.id]
    found = _opening(draft, job, None)
    for bound_ms in _bounds(draft, group.limit_ms, None if found is None else found[0]):
        comes_in_time = found is not None and found[0] < bound_ms
        assert _opening(draft, job, bound_ms) == (found if comes_in_time else None)


def _opening(draft: PlanDraft, job: WaitingJob, before_ms: int | None) -> tuple[int, Placement] | None:
    group = draft.snapshot.queue.class_of[job.id]
    opening = earliest(draft, job, group.gang, group.limit_ms, before_ms)
    return None if opening is None else (opening.start_ms, opening.seating.workers)


def _bounds(draft: PlanDraft, limit_ms: int, start_ms: int | None) -> list[int]:
    """Shortly before and after everything that opens or closes GPUs for a job of this length."""
    promises = draft.promises.values()
    moments = {
        *([] if start_ms is None else [start_ms]),
        *(end_ms for end_ms, _ in draft.ends),
        *(promise.terms.start_ms - limit_ms + 1 for promise in promises),
        *(promise.end_ms for promise in promises),
    }
    return [bound_ms for at_ms in sorted(moments) for bound_ms in (at_ms, at_ms + 1) if bound_ms > draft.now_ms]
