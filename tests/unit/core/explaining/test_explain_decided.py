"""Why jobs wait after a cycle was carried out: as the cycle itself would have said."""

from muster.core.offline import decide, explain_decided
from muster.core.snapshot import Snapshot
from muster.model.job import RunningJob
from muster.model.records import evolve
from tests.builders import NOW_MS, a_job, a_scenario, flat, waits


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
