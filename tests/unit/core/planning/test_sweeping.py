"""Looking for an opening before a time: what happens shortly before it counts, and what comes at it does not."""

import pytest

from muster.core.planning.desk import Desk
from muster.core.planning.keeping import keep_promises, promises_by_tier
from muster.core.planning.promises import earliest
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.policy import HOUR_MS
from tests.builders import NOW_MS, a_hold, a_job, a_scenario, flat, runs, waits


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
        holds=[a_hold("big", [("n1", range(8))], in_hours=3)],
    )
    desk = Desk(Snapshot.of(scenario), NOW_MS)
    for tier, jobs in promises_by_tier(desk).items():
        keep_promises(desk, tier, jobs)
    assert list(desk.promises) == ["big"]
    job = desk.snapshot.queue.jobs[JobId("w")]
    group = desk.snapshot.queue.class_of[job.id]
    found = earliest(desk, job, group.gang, group.limit_ms, NOW_MS + before_ms)
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
