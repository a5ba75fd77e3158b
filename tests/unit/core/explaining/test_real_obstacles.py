"""A job is told what really keeps it waiting, where something else is close at hand."""

from typing import Any

from muster.core.explaining.explain import explain_all
from muster.core.offline import decide
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, PoolName, TierName
from muster.model.job import RunningJob
from muster.model.limits import TURN_RESERVE_PART
from muster.model.plan import Basis, Plan
from muster.model.policy import HOUR_MS, Policy, Pool
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, flat, racks, runs, waits
from tests.unit.core.outcomes import codes, explained


def busy(node: str = "n1", gpus: int = 8, *, job_id: str = "r", **fields: Any) -> RunningJob:
    """A job that stays."""
    return runs(job_id, a_job(gpus=gpus, hours=5, preemptible=False, **fields), [(node, range(gpus))])


def message(scenario: Scenario) -> str:
    return explained(scenario)["w"].reasons[0].message


def test_a_gang_that_keeps_to_a_rack_is_not_told_of_cpus_where_racks_are_too_small_now() -> None:
    """Across racks it would fit, were it not for a promise; its CPUs have nothing to do with it."""
    prefers = a_job(gpus=8, workers=2, cpus=4, prefer="rack", relax_after_ms=2 * HOUR_MS, priority=1)
    waiting = [waits("first", a_job(gpus=8, workers=3, priority=90)), waits("w", prefers)]
    running = [busy("r1-n1"), busy("r2-n1", job_id="r2")]
    scenario = a_scenario(racks(2, 2, cpus=8), policy=Policy(hold_depth=1), running=running, waiting=waiting)
    (reason,) = explained(scenario)["w"].reasons
    assert (reason.code, reason.rule) == ("fragmented", "")


def test_a_type_that_is_over_its_limit_is_no_room() -> None:
    """h100 has room and a limit that is used up, a100 has no room: it waits for a100, not for jobs in front."""
    cluster = a_cluster(a_node("n1"), a_node("n2", gpu_type="a100"))
    scenario = a_scenario(
        cluster,
        teams=[a_team("a", limit={"h100": 4})],
        running=[busy("n1", 4, team="a"), busy("n2", 8, job_id="r2", gpu_type="a100")],
        waiting=[waits("w", a_job(gpus=4, team="a", gpu_type=("h100", "a100")))],
    )
    assert codes(scenario) == ["capacity"]
    assert message(scenario) == "needs 4 a100, 0 are free"


def test_the_job_that_nothing_may_pass_is_named() -> None:
    waiting = [waits("first", a_job(gpus=8, priority=90)), waits("w", a_job(gpus=1, tier="exploratory"))]
    scenario = a_scenario(flat(1), policy=Policy(backfill=False), running=[busy(gpus=4)], waiting=waiting)
    assert message(scenario) == "waits behind first: the policy lets nothing pass a blocked job"
    assert codes(scenario, "first") == ["capacity"]


def test_the_last_free_gpus_are_kept_for_jobs_that_have_had_little() -> None:
    nodes = 2 * TURN_RESERVE_PART
    running = [busy(f"n{at}", 1, job_id=f"r{at}") for at in range(1, nodes - 1)]
    late = evolve(waits("w", a_job(gpus=1)), attained_gpu_ms=2 * HOUR_MS, requeued=True)
    scenario = a_scenario(flat(nodes, gpus=1), running=running, waiting=[late], turn_ms=HOUR_MS)
    assert message(scenario) == "the last 2 GPUs that are free are kept for jobs that have had less than 1 GPU hour"


def test_reasons_name_only_pools_that_have_room_for_the_job() -> None:
    pools = [
        Pool(name=PoolName("main")),
        *(Pool(name=PoolName(name), tiers=(TierName("production"),)) for name in "ab"),
    ]
    cluster = a_cluster(a_node("n1", pool="main"), a_node("n2", pool="a"), a_node("n3", pool="b", gpus=4))
    scenario = a_scenario(cluster, pools=pools, running=[busy()], waiting=[waits("w", a_job(gpus=8, team="t"))])
    assert message(scenario) == "there is room in a, which does not admit tier standard of team t"
    small = a_cluster(a_node("n1", pool="main"), a_node("n2", pool="a", gpus=4), a_node("n3", pool="b", gpus=4))
    gang = a_job(gpus=4, workers=2, team="t")
    both = a_scenario(small, pools=pools, running=[busy()], waiting=[waits("w", gang)])
    assert message(both) == "there is room in a and b, which do not admit tier standard of team t"


def told(scenario: Scenario, **plan: Any) -> list[str]:
    """What a job hears of a plan that did nothing, as when the situation has changed since."""
    snapshot = Snapshot.of(scenario)
    (found,) = explain_all(snapshot, Plan(version=0, now_ms=NOW_MS, **plan), NOW_MS)
    return [reason.message for reason in found.reasons]


def test_a_job_that_would_fit_by_now_is_told_that_it_is_considered_again() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w", a_job(gpus=8))])
    assert told(scenario) == ["it would fit, and jobs in front of it were decided first"]


def test_a_job_whose_promised_gpus_are_free_by_now_is_told_when_it_starts() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w", a_job(gpus=8))])
    promise = a_promise("w", [("n1", range(8))], in_hours=0.5)
    assert told(scenario, promises=(promise,)) == ["its GPUs on n1 are still in use"]
    departed = evolve(promise, basis=Basis.DEPARTURES)
    assert told(scenario, promises=(departed,)) == ["its GPUs on n1 are still in use"]


def test_a_job_that_was_promised_its_gpus_itself_hears_only_of_the_others() -> None:
    waiting = [waits("w", a_job(gpus=8, hours=5)), waits("other", a_job(gpus=8), held=True)]
    own, other = (a_promise(job_id, [("n1", range(8))], in_hours=1) for job_id in ("w", "other"))
    snapshot = Snapshot.of(a_scenario(flat(1), waiting=waiting))
    found = explain_all(snapshot, Plan(version=0, now_ms=NOW_MS, promises=(own, other)), NOW_MS)
    assert [reason.about for reason in found[0].reasons] == [("other",)]


def test_a_job_without_gpus_is_told_whose_place_it_takes() -> None:
    leaving = runs("r", a_job(gpus=0, cpus=8), [("n1", ())], leaving_by_ms=NOW_MS + 20_000)
    others = runs("x", a_job(gpus=1, cpus=1), [("n2", (0,))], leaving_by_ms=NOW_MS + 20_000)
    scenario = a_scenario(
        flat(2, cpus=8), running=[leaving, others], waiting=[waits("w", a_job(gpus=0, cpus=8, tier="production"))]
    )
    promise = a_promise("w", [("n1", ())], in_hours=0.5, basis=Basis.DEPARTURES)
    assert told(scenario, promises=(promise,)) == [
        "it takes the place of r, which is told to leave within 20 s and loses no work"
    ]


def test_a_job_that_only_a_broken_node_keeps_waiting_hears_nothing_of_its_place() -> None:
    scenario = a_scenario(a_cluster(a_node("n1", state="down")), waiting=[waits("w", a_job(gpus=8))], turn_ms=HOUR_MS)
    decision = decide(scenario)
    assert decision.places is not None
    assert decision.places.reason(JobId("w")) is None


def test_jobs_behind_that_cannot_resume_keep_their_gpus_until_they_end() -> None:
    young = evolve(busy(), submitted_ms=NOW_MS)
    scenario = a_scenario(flat(1), running=[young], waiting=[waits("w", a_job(gpus=8))], turn_ms=HOUR_MS)
    places = decide(evolve(scenario, policy=Policy(hold_depth=0))).places
    reason = None if places is None else places.reason(JobId("w"))
    assert reason is not None
    assert reason.message.endswith("keep their GPUs until they end, because they cannot resume")
