"""Looking for an opening before a time: what happens shortly before it counts, and what comes at it does not."""

import pytest

from muster.core.planning.draft import PlanDraft
from muster.core.planning.promising.promise_renewal import promises_by_tier, renew_promises
from muster.core.planning.promising.promises import earliest
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.policy import HOUR_MS
from tests.builders import NOW_MS, a_job, a_promise, a_scenario, flat, runs, waits


def opening_ms(limit_ms: int, before_ms: int) -> int | None:
    """When a job of this limit can start, in milliseconds from now.

    The only node is used for two more hours, and `big` is promised all of it an hour later.
    """
    scenario = a_scenario(
        flat(1),
        running=[runs("r", a_job(gpus=8, hours=3, preemptible=False), [("n1", range(8))])],
        waiting=[
            waits("big", a_job(gpus=8, hours=1)),
            waits("w", a_job(gpus=8, hours=limit_ms / HOUR_MS)),
        ],
        promises=[a_promise("big", [("n1", range(8))], in_hours=3)],
    )
    draft = PlanDraft(Snapshot.of(scenario), NOW_MS)
    for jobs in promises_by_tier(draft).values():
        renew_promises(draft, jobs)
    assert list(draft.promises) == ["big"]
    job = draft.snapshot.queue.jobs[JobId("w")]
    group = draft.snapshot.queue.class_of[job.id]
    found = earliest(draft, job, group.gang, group.limit_ms, NOW_MS + before_ms)
    return None if found is None else found.start_ms - NOW_MS


@pytest.mark.parametrize(
    ("limit_ms", "before_ms", "found_ms"),
    [
        (HOUR_MS, 2 * HOUR_MS + 1, 2 * HOUR_MS),
        (HOUR_MS, 2 * HOUR_MS, None),
        (HOUR_MS + 1, 2 * HOUR_MS + 1, None),
        (HOUR_MS + 30_000, 2 * HOUR_MS + 1, None),
        (HOUR_MS + 30_000, 4 * HOUR_MS + 1, 4 * HOUR_MS),
        (HOUR_MS + 30_000, 4 * HOUR_MS, None),
    ],
    ids=["in time", "at the bound", "a moment too long", "too long", "behind the promise", "behind it at the bound"],
)
def test_an_opening_leaves_promises_alone_and_comes_before_the_bound(
    limit_ms: int, before_ms: int, found_ms: int | None
) -> None:
    assert opening_ms(limit_ms, before_ms) == found_ms
