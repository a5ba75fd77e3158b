"""What a user who asks about one job is told beside its reasons."""

from typing import Any

from muster.core.offline import decide, decide_in_full
from muster.model.ids import GpuType, TeamPath
from muster.model.plan import Reason
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.team import Team
from tests.builders import a_cluster, a_job, a_node, a_scenario, flat, runs, waits


def asked(scenario: Scenario) -> tuple[tuple[Reason, ...], tuple[str, ...]]:
    told = next(each for each in decide_in_full(scenario).explanations if each.job == "w")
    return told.reasons, told.starts_if


def busy(job_id: str, node: str, gpus: int, hours: float | None = 5, **fields: Any) -> Any:
    spec = a_job(gpus=gpus, preemptible=False, **fields)
    limit_ms = None if hours is None else round(hours * 3_600_000)
    return runs(job_id, evolve(spec, max_duration_ms=limit_ms), [(node, range(gpus))])


def guaranteed(path: str, gpus: int) -> Team:
    return Team(path=TeamPath(path), guaranteed=((GpuType("h100"), gpus * 1000),))


def test_it_hears_which_jobs_have_the_gpus_and_until_when() -> None:
    running = [busy("r1", "n1", 8, hours=7), busy("r2", "n2", 6, hours=5), busy("r3", "n2", 1, hours=None)]
    running[2] = evolve(running[2], workers=tuple(evolve(each, gpus=(6,)) for each in running[2].workers))
    (reason,), _ = asked(a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=8))]))
    assert reason.detail.startswith("r2 has 6 GPUs for ")
    assert "; r1 has 8 GPUs for " in reason.detail
    assert reason.detail.endswith("at most (the limit of its tier, as it gives no max_duration).")


def test_of_many_jobs_only_the_first_to_end_are_named() -> None:
    running = [busy(f"r{number}", f"n{number}", 8, hours=number) for number in range(1, 6)]
    (reason,), _ = asked(a_scenario(flat(5), running=running, waiting=[waits("w", a_job(gpus=8))]))
    assert "r4" not in reason.detail
    assert reason.detail.endswith("and 2 other jobs have 16.")


def test_a_team_at_its_limit_hears_which_of_its_jobs_count() -> None:
    teams = (Team(path=TeamPath("nlp"), limit=((GpuType("*"), 8000),)),)
    scenario = a_scenario(flat(2), running=[busy("r1", "n1", 8, team="nlp")], waiting=[waits("w", a_job(team="nlp"))])
    reasons, _ = asked(evolve(scenario, teams=teams))
    assert reasons[0].code == "quota_limit"
    assert reasons[0].detail.startswith("r1 has 8 GPUs for ")


def test_a_job_that_has_to_borrow_hears_who_borrows() -> None:
    scenario = a_scenario(
        flat(2),
        running=[busy("r1", "n1", 8, team="vision"), busy("r2", "n2", 8, team="vision/seen")],
        waiting=[waits("w", a_job(gpus=8, team="vision"))],
        teams=[guaranteed("nlp", 8), guaranteed("vision", 8), guaranteed("vision/seen", 4)],
    )
    reasons, _ = asked(scenario)
    assert reasons[0].code == "quota_borrow"
    assert reasons[0].detail == "Of what other teams leave idle, team vision borrows 8 h100."


def test_a_size_with_which_it_would_start_now_does_start() -> None:
    running = [busy("r1", "n1", 5), busy("r2", "n2", 2)]
    spec = a_job(gpus=4, workers=3)
    scenario = a_scenario(flat(2), running=running, waiting=[waits("w", spec)])
    _, changes = asked(scenario)
    assert changes == ("with 1 worker instead of 3", "with 3 GPUs for each worker instead of 4")
    for workers, gpus in ((1, 4), (3, 3)):
        smaller = evolve(scenario, waiting=(waits("w", a_job(gpus=gpus, workers=workers)),))
        assert [start.job for start in decide(smaller).plan.starts] == ["w"]


def test_a_job_on_hold_is_not_told_to_be_smaller() -> None:
    held = evolve(waits("w", a_job(gpus=4, workers=3)), held=True)
    assert asked(a_scenario(flat(2), waiting=[held]))[1] == ()


def test_gpus_without_a_type_have_holders_too() -> None:
    cluster = a_cluster(a_node("n1", gpu_type=""))
    scenario = a_scenario(cluster, running=[busy("r1", "n1", 8)], waiting=[waits("w", a_job(gpus=8))])
    assert asked(scenario)[0][0].detail.startswith("r1 has 8 GPUs for ")
