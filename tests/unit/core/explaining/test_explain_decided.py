"""Why jobs wait after a cycle was carried out: as the cycle itself would have said."""

from muster.core.explaining.place_in_tier import ServiceHistory
from muster.core.offline import decide, explain_decided
from muster.core.snapshot import Snapshot
from muster.model.ids import TeamPath
from muster.model.job import RunningJob
from muster.model.policy import MINUTE_MS, Policy
from muster.model.records import evolve
from tests.builders import NOW_MS, a_job, a_scenario, flat, runs, waits


def test_what_is_left_of_a_plan_explains_as_the_whole_plan_did() -> None:
    scenario = a_scenario(
        flat(2, gpus=4),
        waiting=(
            waits("first", a_job(gpus=4, hours=2)),
            waits("second", a_job(gpus=4, workers=2, hours=1)),
            waits("third", a_job(gpus=4, hours=9)),
            waits("held", a_job(gpus=1), held=True),
            waits("never", a_job(gpus=4, gpu_type="none")),
        ),
    )
    decision = decide(scenario)
    started = {start.job: start for start in decision.plan.starts}
    assert started
    running = tuple(
        RunningJob(id=job.id, spec=job.spec, started_ms=NOW_MS, workers=started[job.id].workers)
        for job in scenario.waiting
        if job.id in started
    )
    after = evolve(
        scenario,
        running=running,
        waiting=tuple(job for job in scenario.waiting if job.id not in started),
        promises=decision.plan.promises,
    )
    told = explain_decided(after, Snapshot.of(after).entitlements, decision.plan)
    said = [[(each.job, each.position, each.reasons) for each in one.explanations] for one in (told, decision)]
    assert said[0] == said[1]
    assert [each[0] for each in said[0]] == ["second", "third", "held"]
    assert told.rejected == decision.rejected


def test_the_end_of_a_rate_limit_follows_from_when_jobs_were_told_to_leave() -> None:
    scenario = a_scenario(
        flat(1),
        policy=Policy(preemptions_per_team_hour=2),
        running=[runs("r", a_job(gpus=8, team="a"), [("n1", range(8))])],
        waiting=[waits("w", a_job(gpus=8, tier="production"))],
        recent_preemptions=(("a", 2),),
    )
    times = (NOW_MS - 50 * MINUTE_MS, NOW_MS - 20 * MINUTE_MS)
    known = ServiceHistory(preempted=((TeamPath("a"), times),))
    for history, minutes in ((ServiceHistory(), 60), (known, 10)):
        told = decide(scenario, history=history).explanations[0].reasons
        assert [each.until_ms for each in told if each.code == "protected"] == [NOW_MS + minutes * MINUTE_MS]
