from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.core.order.entitlements import Entitlements
from muster.core.order.run_times import RunTimes
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.estimates.sampling import Arrival
from muster.estimates.starts import StartEstimate, estimate_starts
from muster.estimates.training import Habits
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from tests.builders import NOW_MS, a_job, a_scenario, a_team, flat, runs, waits

IN_ORDER = Policy(preemption=False, consolidation=False, elastic=False, turns=False)


def known(*lessons: tuple[JobSpec, float]) -> RunTimes:
    """Jobs like these have always run for so many hours."""
    made = RunTimes()
    for spec, hours in lessons:
        for _ in range(10):
            made.learn(spec, round(hours * HOUR_MS))
    return made


def estimated(scenario: Scenario, run_times: RunTimes, *jobs: str, **options: Any) -> dict[str, StartEstimate]:
    asked = [JobId(job) for job in jobs]
    options = {"runs": 5, "seed": 1, "horizon_ms": 100 * HOUR_MS} | options
    return {str(job): made for job, made in estimate_starts(scenario, run_times, jobs=asked, **options).items()}


def in_hours(made: StartEstimate) -> tuple[float | None, float | None]:
    times = (made.p50_ms, made.p90_ms)
    return tuple(None if at_ms is None else (at_ms - NOW_MS) / HOUR_MS for at_ms in times)  # type: ignore[return-value]


def whole_node(job_id: str, spec: JobSpec, *, node: str = "n1", hours_ago: float = 1, **fields: Any) -> RunningJob:
    return runs(job_id, spec, [(node, range(8))], hours_ago=hours_ago, **fields)


def test_a_job_starts_when_the_one_before_it_has_run_as_long_as_its_like_always_do() -> None:
    spec = a_job(gpus=8, hours=50)
    scenario = a_scenario(
        flat(1), running=[whole_node("a", spec, hours_ago=1)], waiting=[waits("b", spec)], policy=IN_ORDER
    )
    assert in_hours(estimated(scenario, known((spec, 4)), "b")["b"]) == (3, 3)


def test_a_queue_is_served_one_by_one() -> None:
    spec = a_job(gpus=8, hours=50)
    queue = [waits("b", spec, hours_ago=3), waits("c", spec, hours_ago=2), waits("d", spec, hours_ago=1)]
    scenario = a_scenario(flat(1), running=[whole_node("a", spec)], waiting=queue, policy=IN_ORDER)
    made = estimated(scenario, known((spec, 4)), "b", "c", "d")
    assert [in_hours(made[job]) for job in "bcd"] == [(3, 3), (7, 7), (11, 11)]


def test_time_that_a_job_received_in_earlier_attempts_counts() -> None:
    spec = a_job(gpus=8, hours=50)
    running = whole_node("a", spec, hours_ago=1, attained_gpu_ms=2 * 8 * HOUR_MS)
    scenario = a_scenario(flat(1), running=[running], waiting=[waits("b", spec)], policy=IN_ORDER)
    assert in_hours(estimated(scenario, known((spec, 4)), "b")["b"]) == (1, 1)


def test_a_job_that_fits_now_starts_now() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("a", a_job(gpus=8))])
    assert in_hours(estimated(scenario, RunTimes(), "a")["a"]) == (0, 0)


def test_a_limit_ends_a_job_whatever_its_like_did() -> None:
    short, long = a_job(gpus=8, hours=2), a_job(gpus=8, hours=50)
    scenario = a_scenario(flat(1), running=[whole_node("a", short)], waiting=[waits("b", long)], policy=IN_ORDER)
    assert in_hours(estimated(scenario, known((long, 40)), "b")["b"]) == (1, 1)


def test_a_hint_counts_while_nothing_was_learnt() -> None:
    spec = a_job(gpus=8, hours=50, expected_duration_ms=6 * HOUR_MS)
    scenario = a_scenario(flat(1), running=[whole_node("a", spec)], waiting=[waits("b", spec)], policy=IN_ORDER)
    assert in_hours(estimated(scenario, RunTimes(), "b")["b"]) == (5, 5)


def test_without_any_knowledge_the_late_estimate_is_much_later_than_the_likely_one() -> None:
    spec = a_job(gpus=8, hours=1000)
    scenario = a_scenario(
        flat(1), running=[whole_node("a", spec, hours_ago=10)], waiting=[waits("b", spec)], policy=IN_ORDER
    )
    made = estimated(scenario, RunTimes(), "b", runs=200, horizon_ms=2000 * HOUR_MS)["b"]
    assert made.p50_ms is not None
    assert made.p90_ms is not None
    assert 10 * HOUR_MS < made.p50_ms - NOW_MS < 25 * HOUR_MS
    assert 90 * HOUR_MS < made.p90_ms - NOW_MS < 300 * HOUR_MS


def test_a_job_that_starts_after_the_horizon_has_no_estimate() -> None:
    spec = a_job(gpus=8, hours=50)
    scenario = a_scenario(flat(1), running=[whole_node("a", spec)], waiting=[waits("b", spec)], policy=IN_ORDER)
    made = estimated(scenario, known((spec, 4)), "b", horizon_ms=2 * HOUR_MS)["b"]
    assert made == StartEstimate(p50_ms=None, p90_ms=None)


def test_a_held_job_has_no_estimate() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("b", a_job(gpus=8), held=True)])
    assert in_hours(estimated(scenario, RunTimes(), "b")["b"]) == (None, None)


def test_newcomers_of_a_tier_above_are_expected_to_come_in_front() -> None:
    mine, theirs = a_job("mine", gpus=8, hours=50), a_job("theirs", gpus=8, hours=50, tier="production")
    scenario = a_scenario(flat(1), running=[whole_node("a", mine)], waiting=[waits("b", mine)], policy=IN_ORDER)
    recent = [Arrival(submitted_ms=NOW_MS - hour * HOUR_MS, spec=theirs) for hour in (4, 3, 2, 1)]
    learnt = known((mine, 4), (theirs, 2))
    assert in_hours(estimated(scenario, learnt, "b", recent=recent)["b"]) == (None, None)
    assert in_hours(estimated(scenario, learnt, "b")["b"]) == (3, 3)


def test_a_job_that_gave_way_goes_on_with_what_was_left() -> None:
    low = a_job("low", gpus=8, hours=50, tier="exploratory", checkpoint=True)
    high = a_job("high", gpus=8, hours=50)
    scenario = a_scenario(
        flat(1),
        running=[whole_node("a", low, hours_ago=1, saved_hours_ago=0.1)],
        waiting=[waits("b", high), waits("c", low)],
        policy=Policy(turns=False, hold_depth=0),
    )
    habits = Habits(leave_ms=MINUTE_MS, restart_cost_ms=2 * MINUTE_MS)
    made = estimated(scenario, known((low, 4), (high, 2)), "b", "c", habits=habits)
    assert made["b"].p90_ms == NOW_MS + MINUTE_MS
    assert made["c"].p90_ms == NOW_MS + MINUTE_MS + 2 * HOUR_MS + 2 * MINUTE_MS + 3 * HOUR_MS


@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 40)), max_size=12),
    st.integers(0, 1000),
)
def test_estimates_depend_on_their_seed_alone_and_are_in_order(
    sizes: list[int], lessons: list[tuple[int, int]], seed: int
) -> None:
    learnt = RunTimes()
    for gpus, hours in lessons:
        learnt.learn(a_job(gpus=gpus, hours=50), hours * HOUR_MS)
    waiting: list[WaitingJob] = [
        waits(f"w{number}", a_job(gpus=gpus, hours=50), hours_ago=number) for number, gpus in enumerate(sizes)
    ]
    scenario = a_scenario(flat(2), running=[whole_node("a", a_job(gpus=8, hours=50))], waiting=waiting)
    names = [job.id for job in waiting]
    made = estimated(scenario, learnt, *names, seed=seed, runs=4)
    assert made == estimated(scenario, learnt, *names, seed=seed, runs=4)
    for each in made.values():
        if each.p90_ms is not None:
            assert each.p50_ms is not None
            assert NOW_MS <= each.p50_ms <= each.p90_ms


class Witness:
    """The planner, and what it saw: jobs that left, waiting jobs that were due something, what was due at the end."""

    def __init__(self) -> None:
        self.left: list[str] = []
        self.waited: dict[str, bool] = {}
        self.due: Entitlements | None = None

    def __call__(self, snapshot: Snapshot, now_ms: int) -> Plan:
        self.waited |= {str(job): snapshot.entitlements.knows(job) for job in snapshot.queue.jobs}
        made = plan(snapshot, now_ms)
        self.left += [str(eviction.job) for eviction in made.evictions]
        self.due = snapshot.entitlements
        return made


def taking_turns() -> tuple[Scenario, Entitlements]:
    """One job of a calm team that has run for days on less than its share, and one of a busy team on more."""
    long = a_job("long", gpus=2, team="calm", hours=500, checkpoint=True)
    wide = a_job("wide", gpus=6, team="busy", hours=500, checkpoint=True)
    scenario = a_scenario(
        flat(1),
        running=[
            runs("old", long, [("n1", range(2))], hours_ago=90, submitted_ms=NOW_MS - 90 * HOUR_MS),
            runs("large", wide, [("n1", range(2, 8))], hours_ago=9, submitted_ms=NOW_MS - 9 * HOUR_MS),
        ],
        waiting=[waits("new", a_job("new", gpus=1, team="busy", hours=1), hours_ago=0)],
        teams=(a_team("calm"), a_team("busy")),
        turn_ms=2 * HOUR_MS,
    )
    due = Entitlements(scenario.teams, 8_000)
    due.join(JobId("old"), long.team, NOW_MS - 90 * HOUR_MS)
    for helper in ("large", "mate", "other mate"):
        due.join(JobId(helper), wide.team, NOW_MS - 9 * HOUR_MS)
    return scenario, due


def test_what_is_due_goes_on_in_each_future_and_not_in_the_present() -> None:
    scenario, due = taking_turns()
    ending = a_job("short", gpus=1, team="calm", hours=1)
    queue = [waits("held", a_job(gpus=1, team="busy"), held=True)]
    recent = [Arrival(submitted_ms=NOW_MS - hour * HOUR_MS, spec=ending) for hour in (3, 2, 1)]
    witness = Witness()
    options: dict[str, Any] = {"runs": 1, "planner": witness, "recent": recent, "horizon_ms": 9 * HOUR_MS}
    estimated(evolve(scenario, waiting=tuple(queue)), known((ending, 1)), "held", entitlements=due, **options)
    assert witness.due is not None
    assert witness.waited["held"]
    assert witness.waited["~000001"]
    assert not witness.due.knows(JobId("~000001"))
    assert not due.knows(JobId("held"))
