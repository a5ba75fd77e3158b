"""How long a job can wait: who is in front of it, for how long, and how many slots they must take."""

from typing import Any

import pytest

from muster.core.explaining.wait_bound import InFront, WaitBounds, slots_taken
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.policy import HOUR_MS, MINUTE_MS, Order, Policy
from muster.model.resources import Request
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, flat, racks, runs, waits

GRACE_MS = 2 * MINUTE_MS
SETTLING_MS = 10 * MINUTE_MS
"""The minimum run time, which is longer than a job needs to settle."""
TURN_MS = 2 * HOUR_MS
IN_ORDER = Policy(order=Order.FIFO)


def in_front(scenario: Scenario, job: str = "w") -> InFront:
    snapshot = Snapshot.of(scenario)
    return WaitBounds(snapshot, NOW_MS).in_front(snapshot.queue.jobs[JobId(job)])


def crowded(waiting: list[WaitingJob], *running: RunningJob, gpus: int = 4, **fields: Any) -> Scenario:
    given: dict[str, Any] = {"turn_ms": TURN_MS, "policy": IN_ORDER, **fields}
    return a_scenario(flat(1, gpus=gpus), running=list(running), waiting=waiting, **given)


def a_waiting(name: str, *, gpus: int = 1, had_hours: float = 0, hours_ago: float = 1, **fields: Any) -> WaitingJob:
    """A job that can resume and has had some GPU hours."""
    spec = a_job(gpus=gpus, checkpoint=True, **fields)
    return waits(name, spec, hours_ago=hours_ago, attained_gpu_ms=round(had_hours * HOUR_MS))


def a_running(name: str, gpus: range, *, had_hours: float = 0, ran_hours: float, hours_ago: float = 9) -> RunningJob:
    return runs(
        name,
        a_job(gpus=len(gpus), checkpoint=True),
        [("n1", gpus)],
        hours_ago=ran_hours,
        attained_gpu_ms=round(had_hours * HOUR_MS),
        submitted_ms=NOW_MS - round(hours_ago * HOUR_MS),
    )


def test_alone_a_job_waits_for_nothing() -> None:
    assert in_front(crowded([a_waiting("w")])) == InFront(jobs=0, gpu_milli=0, wait_ms=0, slots=4, behind=0, yielding=0)


def test_an_older_newcomer_is_in_front_until_the_first_band_ends() -> None:
    found = in_front(crowded([a_waiting("old", gpus=2, had_hours=0.5, hours_ago=3), a_waiting("w")]))
    # Half a GPU hour on two GPUs, then it settles and leaves, and before it others had to leave for it.
    taken_ms = 2 * (HOUR_MS // 4 + SETTLING_MS + 2 * GRACE_MS)
    assert found == InFront(jobs=1, gpu_milli=2000, wait_ms=taken_ms // 4, slots=4, behind=0, yielding=0)


def test_no_younger_job_is_in_front_of_a_newcomer() -> None:
    assert in_front(crowded([a_waiting("young", hours_ago=0.5), a_waiting("w")])).jobs == 0


def test_a_younger_job_is_in_front_until_the_band_of_the_other_begins() -> None:
    waiting = [a_waiting("young", had_hours=0.25, hours_ago=0.5), a_waiting("w", had_hours=20)]
    found = in_front(crowded(waiting))
    taken_ms = round(9.75 * HOUR_MS) + TURN_MS + 2 * GRACE_MS
    assert found == InFront(jobs=1, gpu_milli=1000, wait_ms=taken_ms // 4, slots=4, behind=0, yielding=0)


def test_an_older_job_is_in_front_until_the_band_ends_and_behind_it_from_then_on() -> None:
    for had_hours, jobs in ((20, 1), (99, 1), (100, 0)):
        waiting = [a_waiting("old", had_hours=had_hours, hours_ago=5), a_waiting("w", had_hours=20)]
        assert in_front(crowded(waiting)).jobs == jobs


def test_where_teams_are_weighed_the_jobs_of_other_teams_count_as_older() -> None:
    waiting = [a_waiting("young", team="other", hours_ago=0.5), a_waiting("w")]
    assert in_front(crowded(waiting)).jobs == 0
    assert in_front(crowded(waiting, policy=Policy())).jobs == 1
    assert in_front(crowded(waiting, policy=Policy()), "young").jobs == 1


def test_a_job_behind_keeps_its_gpus_until_it_has_settled_or_had_its_turn() -> None:
    newcomer, resumed = a_waiting("w"), a_waiting("w", had_hours=5)
    for waiting, ran_hours, kept_ms in (
        (newcomer, 3, 0),
        (newcomer, 1 / 60, MINUTE_MS),
        (resumed, 0.5, TURN_MS - HOUR_MS // 2),
    ):
        later = a_running("later", range(4), had_hours=5, ran_hours=ran_hours, hours_ago=0.75)
        assert in_front(crowded([waiting], later)) == InFront(0, 0, kept_ms + GRACE_MS, 4, 1, 1)


def test_a_job_that_cannot_resume_stays_until_its_limit() -> None:
    stays = runs("stays", a_job(gpus=4, hours=9), [("n1", range(4))], hours_ago=2)
    assert in_front(crowded([a_waiting("w")], stays)).wait_ms == 7 * HOUR_MS + IN_ORDER.stop_grace_ms


def test_more_urgent_tiers_are_in_front_with_all_that_they_may_run() -> None:
    urgent = waits("urgent", a_job(gpus=4, tier="production", hours=3), hours_ago=0.1)
    found = in_front(crowded([urgent, a_waiting("w")]))
    assert (found.jobs, found.wait_ms) == (1, 3 * HOUR_MS + IN_ORDER.stop_grace_ms)
    assert in_front(crowded([urgent, a_waiting("w")]), "urgent").jobs == 0


def test_a_starved_job_is_behind_only_what_has_had_less_than_its_band() -> None:
    others = [a_waiting("old", had_hours=150, hours_ago=9), a_waiting("short", had_hours=5, hours_ago=0.1)]
    mine = a_waiting("w", had_hours=500)
    assert in_front(crowded([*others, mine])).jobs == 2
    starved = waits("w", mine.spec, attained_gpu_ms=mine.attained_gpu_ms, starved=True)
    assert in_front(crowded([*others, starved])).jobs == 1


@pytest.mark.parametrize(
    ("cluster", "spec", "slots"),
    [
        (flat(4), a_job(gpus=1), 32),
        (flat(4), a_job(gpus=1, workers=5), 28),
        (flat(4), a_job(gpus=8), 4),
        (flat(4), a_job(gpus=8, workers=4), 1),
        (flat(4), a_job(gpus=0.5), 64),
        (racks(2, 2), a_job(gpus=8, workers=2, within="rack"), 2),
        (a_cluster(a_node("n1"), a_node("n2", state="draining")), a_job(gpus=8), 1),
        (a_cluster(a_node("n1", cpus=4)), a_job(gpus=1, cpus=2), 2),
        (flat(2), a_job(gpus=1, workers=4, tensor=2), 0),
    ],
)
def test_a_gang_waits_only_while_so_many_slots_are_taken(cluster: Any, spec: Any, slots: int) -> None:
    scenario = a_scenario(cluster, waiting=[waits("w", spec)], turn_ms=TURN_MS, policy=IN_ORDER)
    found = in_front(scenario)
    assert found.slots == slots
    assert (found.wait_ms is None) is (slots == 0)


def test_with_quotas_nothing_is_said_about_the_time() -> None:
    found = in_front(crowded([a_waiting("w", team="a")], teams=[a_team("a", limit={"*": 4})]))
    assert (found.jobs, found.wait_ms) == (0, None)


@pytest.mark.parametrize(
    ("other", "mine", "taken"),
    [
        (a_job(gpus=1, workers=3), a_job(gpus=1), 3),
        (a_job(gpus=3, workers=2), a_job(gpus=2), 4),
        (a_job(gpus=0.25), a_job(gpus=8), 1),
        (a_job(gpus=1, cpus=8), a_job(gpus=1, cpus=2), 4),
        (a_job(gpus=0, cpus=8), a_job(gpus=1), 0),
    ],
)
def test_a_worker_takes_as_many_slots_as_it_can_touch(other: Any, mine: Any, taken: int) -> None:
    assert slots_taken(other, mine.roles[0].request) == taken
    assert slots_taken(other, Request()) == 0
