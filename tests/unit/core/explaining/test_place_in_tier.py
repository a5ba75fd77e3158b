"""What a waiting job is told about its place: which jobs go first, for how long, and when it counts as starved."""

from typing import Any

from muster.core.explaining.explain import with_place
from muster.core.explaining.place_in_tier import RecentJob, ServiceHistory
from muster.core.offline import decide
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Reason
from muster.model.policy import DAY_MS, HOUR_MS, Order, Policy
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_job, a_scenario, a_team, flat, runs, waits

NOBODY = ServiceHistory()
IN_ORDER = Policy(order=Order.FIFO, hold_depth=0)


def full(waiting: list[WaitingJob], *, hours: float = 99, **fields: Any) -> Scenario:
    """Eight GPUs with newcomers that have just begun, so that no other job can start."""
    spec = a_job(gpus=1, checkpoint=True, hours=hours)
    began: dict[str, Any] = {"hours_ago": 0.1, "submitted_ms": NOW_MS - 9 * HOUR_MS}
    running: list[RunningJob] = [runs(f"r{gpu}", spec, [("n1", [gpu])], **began) for gpu in range(8)]
    given: dict[str, Any] = {"turn_ms": 2 * HOUR_MS, "policy": IN_ORDER, **fields}
    return a_scenario(flat(1), running=running, waiting=waiting, **given)


def told(scenario: Scenario, job: str = "w", history: ServiceHistory = NOBODY) -> list[Reason]:
    """The reasons of a job that its place adds."""
    decision = decide(scenario, history=history)
    explained = next(each for each in decision.explanations if each.job == job)
    return list(with_place(explained, decision.places).reasons[len(explained.reasons) :])


def a_waiting(name: str, had_hours: float, **fields: Any) -> WaitingJob:
    return waits(name, a_job(gpus=1, checkpoint=True), attained_gpu_ms=round(had_hours * HOUR_MS), **fields)


def test_a_newcomer_is_told_of_the_older_ones() -> None:
    (reason,) = told(full([a_waiting("w", 0)]))
    assert reason.code == "held_by_others"
    assert reason.message == "older jobs that have had less than 1 GPU hour go first: 8 of them want 8 of 8 GPUs"
    assert reason.would_help == "nothing needed: it starts within 68 min if no other job comes"


def test_a_job_of_a_later_band_is_told_where_it_begins_and_ends() -> None:
    (reason,) = told(full([a_waiting("w", 20)]))
    assert reason.message == (
        "jobs that have had less than 10 GPU hours, and older ones with less than 100 GPU hours, go first: "
        "8 of them want 8 of 8 GPUs"
    )


def test_a_gang_is_told_that_gaps_may_be_filled() -> None:
    gang = waits("w", a_job(gpus=2, checkpoint=True))
    assert told(full([gang]))[0].would_help.endswith("if no other job comes and none fills a gap")


def test_where_teams_are_weighed_their_jobs_go_first_too() -> None:
    (reason,) = told(full([a_waiting("w", 0)], policy=Policy(hold_depth=0)))
    assert reason.message.startswith("older jobs and those of other teams that have had less than 1 GPU hour go first")


def test_a_job_that_nobody_is_in_front_of_waits_for_turns() -> None:
    scenario = full([a_waiting("w", 0, hours_ago=20)])
    (reason,) = told(scenario)
    assert reason.message.startswith("no job goes before it, but jobs behind it keep their GPUs")


def test_jobs_that_go_on_coming_make_it_longer() -> None:
    spec = a_job(gpus=1, checkpoint=True)

    def recent(gpu_hours: int) -> ServiceHistory:
        """Ten jobs in the last ten hours."""
        jobs = [RecentJob(NOW_MS - hour * HOUR_MS, spec, gpu_hours * HOUR_MS) for hour in range(10, 0, -1)]
        return ServiceHistory(recent=tuple(jobs))

    scenario = full([a_waiting("w", 20)])
    alone = told(scenario)[0].would_help
    # Ten times four GPU hours in ten hours are half of eight GPUs. What they have beyond ten hours does not count.
    (half,) = told(scenario, history=recent(4))
    assert (
        half.would_help
        == f"{alone}; with jobs coming as in the last 10 h, within 9 days, and an hour of its run takes 2 h"
    )
    (most,) = told(full([a_waiting("w", 200)]), history=recent(9))
    assert most.would_help.endswith("jobs that come as in the last 10 h keep it waiting for as long as they do")
    assert told(full([a_waiting("w", 0)]), history=recent(9))[0].would_help.endswith("an hour of its run takes 1 h")


def test_only_beyond_the_band_of_starved_jobs_it_helps_to_be_one() -> None:
    gives = "gets the place of a job with less than 100 GPU hours once the part for starved jobs has room"
    for had_hours, at_ms, words in (
        (20, NOW_MS, ""),
        (200, NOW_MS + 14 * HOUR_MS, f"if it still waits in 14 h it counts as starved, and {gives}"),
        (200, NOW_MS - 1, f"it has waited long enough to count as starved, and {gives}"),
    ):
        history = ServiceHistory(starves_ms={JobId("w"): at_ms})
        helps = told(full([a_waiting("w", had_hours)]), history=history)[0].would_help
        assert helps.endswith(words)
        assert ("starved" in helps) is bool(words)
    starved = told(full([a_waiting("w", 200, starved=True)]))[0].would_help
    assert starved.endswith("it has starved, so it has the place of a job with less than 100 GPU hours")


def test_nothing_is_added_where_a_place_does_not_matter() -> None:
    teams = [a_team("default", limit={"*": 8})]
    assert told(full([a_waiting("w", 0)], teams=teams)) == []
    assert told(full([a_waiting("w", 0, held=True)])) == []
    assert told(full([a_waiting("w", 0)], turn_ms=None)) == []
    assert told(full([a_waiting("w", 0)], policy=Policy(turns=False))) == []
    assert told(full([a_waiting("w", 0)], hours=1, policy=Policy(hold_depth=4))) == []


def test_times_that_mean_nothing_are_not_said() -> None:
    stays = runs("stays", a_job(gpus=8, hours=90 * DAY_MS // HOUR_MS), [("n1", range(8))], hours_ago=1)
    scenario = a_scenario(flat(1), running=[stays], waiting=[a_waiting("w", 2)], turn_ms=2 * HOUR_MS, policy=IN_ORDER)
    (reason,) = told(scenario)
    assert reason.would_help == "these jobs ending or having had more"
