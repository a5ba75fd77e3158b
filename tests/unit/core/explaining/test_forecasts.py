"""Where a waiting job stands in the queue, and when it is told to start."""

from typing import Any

from muster.core.explaining.explain import place_at
from muster.model.ids import JobId
from muster.model.job import RunningJob
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.spec import Begin
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, flat, runs, waits
from tests.unit.core.outcomes import explained, planned

NO_PROMISES = Policy(hold_depth=0)


def busy(node: str = "n1", gpus: int = 8, *, job_id: str = "r", hours: float = 5, **fields: Any) -> RunningJob:
    """A job that stays."""
    spec = a_job(gpus=gpus, hours=hours, preemptible=False, **fields)
    return runs(job_id, spec, [(node, range(gpus))])


def test_positions_count_over_all_tiers_and_those_not_considered_come_last() -> None:
    waiting = [
        waits("idle", a_job(tier="production"), held=True),
        waits("low", a_job(gpus=8, tier="exploratory")),
        waits("second", a_job(gpus=8, priority=10)),
        waits("first", a_job(gpus=8, priority=90)),
        waits("top", a_job(gpus=8, tier="production")),
    ]
    found = explained(a_scenario(flat(1), running=[busy()], waiting=waiting))
    assert [(each.job, each.position) for each in found.values()] == [
        ("top", 1),
        ("first", 2),
        ("second", 3),
        ("low", 4),
        ("idle", 5),
    ]


def test_positions_take_turns_between_teams_that_share_fairly() -> None:
    waiting = [waits(f"{team}{at}", a_job(gpus=8, team=team)) for team in ("a", "b") for at in (1, 2)]
    found = explained(a_scenario(flat(1), policy=NO_PROMISES, running=[busy()], waiting=waiting))
    assert list(found) == ["a1", "b1", "a2", "b2"]


def test_a_job_with_an_earlier_promise_has_the_earlier_place_whatever_the_order() -> None:
    """`big` is first in order and waits for both nodes; the node of `small` comes free before that."""
    waiting = [
        waits("big", a_job(gpus=8, workers=2, priority=90)),
        waits("small", a_job(gpus=4, hours=1, priority=10, gpu_type="a100")),
    ]
    cluster = a_cluster(a_node("n1"), a_node("n2"), a_node("n3", gpus=4, gpu_type="a100"))
    running = [
        busy("n1", hours=9),
        busy("n2", job_id="r2", hours=9),
        busy("n3", 4, job_id="r3", hours=2, gpu_type="a100"),
    ]
    scenario = a_scenario(cluster, running=running, waiting=waiting)
    assert [(each.job, each.position) for each in explained(scenario).values()] == [("small", 1), ("big", 2)]
    promises = {promise.job: promise.start_ms for promise in planned(scenario).promises}
    assert promises[JobId("small")] < promises[JobId("big")]


def test_a_job_that_is_likely_to_start_later_than_its_estimate_says_is_passed_by_jobs_that_start_before() -> None:
    waiting = [waits(f"w{at}", a_job(gpus=8)) for at in range(3)]
    found = list(explained(a_scenario(flat(1), running=[busy()], waiting=waiting)).values())
    late_ms = [each.p90_ms or 0 for each in found]
    assert [place_at(found[0], found, likely_ms) for likely_ms in (None, NOW_MS, late_ms[1] + 1, late_ms[2] + 1)] == [
        1,
        1,
        2,
        3,
    ]


def test_a_job_without_an_estimate_stays_behind_the_job_in_front_of_it() -> None:
    waiting = [
        waits("first", a_job(gpus=8, priority=90)),
        waits("cpus", a_job(gpus=0, cpus=8, priority=50)),
        waits("last", a_job(gpus=8, priority=10)),
    ]
    running = [busy(gpus=8, cpus=8)]
    scenario = a_scenario(flat(1, cpus=8), policy=NO_PROMISES, running=running, waiting=waiting)
    assert list(explained(scenario)) == ["first", "cpus", "last"]


def test_positions_do_not_count_those_that_start() -> None:
    waiting = [waits("big", a_job(gpus=8)), waits("small", a_job(gpus=1, hours=1, priority=90))]
    scenario = a_scenario(flat(1), running=[busy(gpus=4)], waiting=waiting)
    assert [(each.job, each.position) for each in explained(scenario).values()] == [("big", 1)]


def test_a_promised_job_starts_by_its_promise_at_the_latest() -> None:
    scenario = a_scenario(flat(1), running=[busy()], waiting=[waits("w", a_job(gpus=8))])
    (promise,) = planned(scenario).promises
    found = explained(scenario)["w"]
    assert found.p90_ms == promise.start_ms == NOW_MS + 4 * HOUR_MS
    assert found.p50_ms is not None
    assert NOW_MS < found.p50_ms <= found.p90_ms


def test_estimates_grow_along_the_queue_and_p50_is_never_after_p90() -> None:
    waiting = [waits(f"w{at}", a_job(gpus=8)) for at in range(6)]
    running = [busy("n1", hours=3), busy("n2", job_id="r2", hours=6, expected_duration_ms=2 * HOUR_MS)]
    found = list(explained(a_scenario(flat(2), policy=NO_PROMISES, running=running, waiting=waiting)).values())
    for each in found:
        assert each.p50_ms is not None
        assert each.p90_ms is not None
        assert NOW_MS < each.p50_ms <= each.p90_ms
    assert [each.p90_ms for each in found] == sorted(each.p90_ms or 0 for each in found)


def test_an_expected_duration_makes_the_estimate_earlier_but_not_the_promise() -> None:
    running = [busy(hours=9, expected_duration_ms=2 * HOUR_MS)]
    found = explained(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=8))]))["w"]
    assert (found.p50_ms, found.p90_ms) == (NOW_MS + HOUR_MS, NOW_MS + 8 * HOUR_MS)


def test_a_job_that_leaves_frees_its_gpus_by_then() -> None:
    leaving = runs("r", a_job(gpus=8), [("n1", range(8))], leaving_by_ms=NOW_MS + 30_000)
    found = explained(a_scenario(flat(1), policy=NO_PROMISES, running=[leaving], waiting=[waits("w", a_job(gpus=8))]))[
        "w"
    ]
    assert found.p90_ms == NOW_MS + 30_000


def test_what_can_never_be_served_or_is_not_considered_has_no_estimate() -> None:
    waiting = [waits("w", a_job(gpu_type="b200")), waits("idle", held=True)]
    for each in explained(a_scenario(flat(1), waiting=waiting)).values():
        assert (each.p50_ms, each.p90_ms) == (None, None)


def test_a_job_that_begins_later_starts_then_or_when_what_is_in_line_before_it_lets_it() -> None:
    def begins(hours: float, *running: RunningJob, **fields: Any) -> tuple[float | None, float | None]:
        begin = Begin(after_ms=round((hours + 1) * HOUR_MS))
        early = waits("early", evolve(a_job(gpus=8), begin=begin), early=True, **fields)
        found = explained(a_scenario(flat(1), running=running, waiting=[early, waits("no", a_job(gpus=8), held=True)]))
        p50_ms, p90_ms = found["early"].p50_ms, found["early"].p90_ms
        if p50_ms is None or p90_ms is None:
            return None, None
        return (p50_ms - NOW_MS) / HOUR_MS, (p90_ms - NOW_MS) / HOUR_MS

    assert begins(3) == (3, 3)
    assert begins(-0.5) == (0, 0), "its time has come, and nobody has woken it yet"
    assert begins(3, busy(hours=5)) == (3, 4)
    assert begins(1, busy(hours=5)) == (2, 4)
    assert begins(3, held=True) == begins(3, unmet=(JobId("x"),)) == (None, None)


def test_a_job_without_gpus_that_did_not_start_is_not_said_to_start_now() -> None:
    running = [runs("r", a_job(gpus=0, cpus=8, hours=3, preemptible=False), [("n1", ())])]
    waiting = [waits("w", a_job(gpus=0, cpus=8))]
    found = explained(a_scenario(flat(1, cpus=8), policy=NO_PROMISES, running=running, waiting=waiting))["w"]
    assert found.p90_ms is None or found.p90_ms > NOW_MS
