"""Admission refuses what can never run, and nothing that only needs to wait."""

import pytest

from muster.core import offline
from muster.core.admission import Admitted, Gate, Rejected, admit
from muster.core.offline import decide
from muster.core.snapshot import Snapshot
from muster.model.errors import InvariantViolated
from muster.model.ids import PoolName, TierName
from muster.model.policy import HOUR_MS, Pool
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from tests.builders import a_cluster, a_job, a_node, a_scenario, a_team, flat, racks, runs, waits

SPOT = Pool(name=PoolName("main"), spot=True)
URGENT = Pool(name=PoolName("main"), tiers=(TierName("production"),))


def refusal(spec: JobSpec, scenario: Scenario) -> Rejected:
    outcome = admit(spec, Snapshot.of(scenario))
    assert isinstance(outcome, Rejected)
    return outcome


def is_admitted(spec: JobSpec, scenario: Scenario) -> bool:
    return admit(spec, Snapshot.of(scenario)) == Admitted(spec=spec)


BOUND = a_scenario(
    flat(1),
    teams=[a_team("a", tiers=("standard",), max_priority=60, allow_unpreemptible=False), a_team("a/b"), a_team("c")],
)

LABELLED = a_scenario(
    a_cluster(a_node("n1", gpu_type="a100", labels=("ib",)), a_node("n2", gpu_type="h100", labels=("nvme",)))
)

BARE = a_scenario(a_cluster(*(evolve(a_node(name), runtime="") for name in ("n1", "n2"))))
HALF_BARE = a_scenario(a_cluster(evolve(a_node("n1"), runtime=""), a_node("n2")))
WHOLE = a_scenario(a_cluster(*(evolve(a_node(name), whole_gpus=True) for name in ("n1", "n2"))))
HALF_WHOLE = a_scenario(a_cluster(evolve(a_node("n1"), whole_gpus=True), a_node("n2")))
IN_IMAGE = evolve(a_job(), image="train:1")
IN_IMAGE_ON_N1 = evolve(a_job(nodelist=("n1",)), image="train:1")

REFUSED: list[tuple[str, JobSpec, Scenario, str]] = [
    ("engine", a_job(gpus=0.5), WHOLE, "the engines of all nodes give whole ones: ask for whole GPUs"),
    (
        "constraint",
        a_job(gpus=0.5, nodelist=("n1",)),
        HALF_WHOLE,
        "no node is left by `nodelist` and a part of a GPU, which some engines do not give,",
    ),
    ("never_fits", a_job(tier="vip"), a_scenario(flat(1)), "no tier vip; tiers are production, standard"),
    ("topology", a_job(within="row"), a_scenario(racks(1, 1)), "no level row; its levels are rack, node"),
    ("topology", a_job(prefer="row"), a_scenario(racks(1, 1)), "no level row"),
    ("spot", a_job(), a_scenario(flat(1), pools=[SPOT]), "only spot pools admit this job"),
    ("pool", a_job(team="a"), a_scenario(flat(1), pools=[URGENT]), "no pool admits tier standard of team a"),
    ("gpu_type", a_job(gpu_type="b200"), a_scenario(flat(1)), "no node has a GPU of type b200; there are: h100"),
    ("gpu_type", a_job(), a_scenario(flat(1, gpus=0)), "no node has a GPU of type any; there are: none"),
    (
        "quota_limit",
        a_job(gpus=8, team="a/x"),
        a_scenario(flat(1), teams=[a_team("a", limit={"*": 4})]),
        "needs 8 GPUs and team a may never use more than 4",
    ),
    (
        "never_fits",
        a_job(gpus=9),
        a_scenario(flat(3)),
        "each worker needs 9 GPUs on one node, and the largest node has 8; ask for more workers",
    ),
    (
        "never_fits",
        a_job(gpus=6, gpu_type="a100"),
        a_scenario(a_cluster(a_node("n1"), a_node("n2", gpus=4, gpu_type="a100"))),
        "each worker needs 6 GPUs on one node, and the largest node with a100 has 4",
    ),
    (
        "quota_limit",
        a_job(gpus=8, team="a"),
        a_scenario(flat(1), teams=[a_team("a", limit={"h100": 4})]),
        "needs 8 h100 and team a may never use more than 4",
    ),
    (
        "never_fits",
        a_job(gpus=8, workers=4),
        a_scenario(flat(3)),
        "4 workers with these resources does not fit on the whole cluster, even when empty; at most 3 such",
    ),
    (
        "never_fits",
        a_job(gpus=8, workers=3, within="rack"),
        a_scenario(racks(3, 2)),
        "any one rack, even when empty; at most 2",
    ),
    (
        "never_fits",
        a_job(cpus=9),
        a_scenario(flat(1, cpus=8)),
        "a worker needs 9 CPUs, and the largest node has 8 CPUs",
    ),
    ("never_fits", a_job(gpus=1, workers=16, tensor=16), a_scenario(flat(4)), "does not fit"),
    ("never_fits", a_job(gpus=1, workers=48, tensor=8), a_scenario(flat(4)), "at most 32 such workers do"),
    (
        "constraint",
        a_job(constraint="roce"),
        LABELLED,
        "no node has the label or name roce; labels are a100, h100, ib,",
    ),
    (
        "constraint",
        a_job(constraint="n2 & !h100"),
        LABELLED,
        "no node is left by `constraint: n2 & !h100`; labels are a",
    ),
    ("constraint", a_job(constraint="a100 & nvme"), LABELLED, "no node is left by `constraint: a100 & nvme`; labels"),
    ("constraint", a_job(nodelist=("n9",)), LABELLED, "there is no node n9; nodes are n1, n2"),
    ("constraint", a_job(exclude=("n1", "n2")), LABELLED, "no node is left by `exclude`"),
    ("constraint", a_job(constraint="ib", nodelist=("n2",)), LABELLED, "by `constraint: ib` and `nodelist`; labels"),
    ("engine", a_job(engine="hpc"), LABELLED, "there is no engine hpc; there are: local"),
    ("image", IN_IMAGE, BARE, "no node has a container runtime that works: install podman"),
    (
        "constraint",
        evolve(a_job(nodelist=("n1",)), image="train:1"),
        HALF_BARE,
        "`nodelist` and `image`, which needs a container",
    ),
    ("gpu_type", a_job(gpu_type="h100", constraint="ib"), LABELLED, "no node that the job accepts has a GPU of type"),
    ("never_fits", a_job(workers=2, gpus=8, exclude=("n1",)), LABELLED, "as far as the job accepts its nodes"),
    ("quota_limit", a_job(team="a/b", tier="production"), BOUND, "team a/b may not use tier production; it may use"),
    ("quota_limit", a_job(team="a/b", priority=61), BOUND, "may not use priority 61; use at most 60, or ask"),
    ("quota_limit", a_job(team="a/b", preemptible=False), BOUND, "leave preemptible: false out, or ask an operator"),
]


@pytest.mark.parametrize(("code", "spec", "scenario", "words"), REFUSED)
def test_what_can_never_run_is_refused_with_the_reason(
    code: str, spec: JobSpec, scenario: Scenario, words: str
) -> None:
    found = refusal(spec, scenario)
    assert found.code == code
    assert words in found.message


FULL = [runs("r", a_job(gpus=8, team="a"), [("n1", range(8))])]

ONLY_WAITS: list[tuple[str, JobSpec, Scenario]] = [
    ("the cluster is full", a_job(gpus=8), a_scenario(flat(1), running=FULL)),
    ("the node is down", a_job(gpus=8), a_scenario(a_cluster(a_node(state="down")))),
    ("a gpu is bad", a_job(gpus=8), a_scenario(a_cluster(a_node(bad_gpus=(0,))))),
    ("the limit is used up", a_job(team="a"), a_scenario(flat(1), running=FULL, teams=[a_team("a", limit={"*": 8})])),
    ("nothing is guaranteed", a_job(team="a"), a_scenario(flat(1), teams=[a_team("a", guaranteed={"*": 0})])),
    ("one type will do", a_job(gpu_type=("b200", "h100")), a_scenario(flat(1))),
    (
        "one type is not limited",
        a_job(gpus=8, gpu_type=("h100", "a100"), team="a"),
        a_scenario(a_cluster(a_node("n1"), a_node("n2", gpu_type="a100")), teams=[a_team("a", limit={"h100": 4})]),
    ),
    (
        "the preference will relax",
        a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=HOUR_MS),
        a_scenario(racks(2, 1)),
    ),
    ("it can resume", a_job(checkpoint=True), a_scenario(flat(1), pools=[SPOT])),
    ("a team without bounds", a_job(team="c", tier="production", preemptible=False, priority=100), BOUND),
    ("a team inside its bounds", a_job(team="a/b", priority=60), BOUND),
    ("it is held", a_job(preemptible=False), a_scenario(flat(1))),
]


@pytest.mark.parametrize(
    ("spec", "scenario"), [entry[1:] for entry in ONLY_WAITS], ids=[entry[0] for entry in ONLY_WAITS]
)
def test_what_only_needs_to_wait_is_admitted(spec: JobSpec, scenario: Scenario) -> None:
    assert is_admitted(spec, scenario)


def test_a_job_whose_allowed_type_is_too_small_and_whose_large_type_is_not_allowed_is_refused() -> None:
    """On h100 the limit stops it for ever, on a100 the size of the nodes."""
    cluster = a_cluster(a_node("n1"), a_node("n2", gpus=4, gpu_type="a100"))
    scenario = a_scenario(cluster, teams=[a_team("a", limit={"h100": 4})])
    spec = a_job(gpus=8, gpu_type=("h100", "a100"), team="a")
    refusal(spec, scenario)
    assert is_admitted(spec, evolve(scenario, teams=(a_team("a", limit={"h100": 8}),)))


def test_jobs_that_are_alike_get_the_same_answer_without_looking_again() -> None:
    gate = Gate(Snapshot.of(a_scenario(flat(1))))
    first, second = a_job("one", gpus=9), a_job("two", gpus=9)
    assert gate.admit(first) is gate.admit(second)


def test_the_answer_is_kept_apart_for_teams_with_other_limits() -> None:
    gate = Gate(Snapshot.of(a_scenario(flat(1), teams=[a_team("a", limit={"*": 1})])))
    assert isinstance(gate.admit(a_job(gpus=2, team="a")), Rejected)
    assert isinstance(gate.admit(a_job(gpus=2, team="b")), Admitted)


def test_offline_the_impossible_is_rejected_and_the_rest_planned() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("never", a_job(gpus=9)), waits("now", a_job(gpus=8))])
    decision = decide(scenario)
    assert [(each.job, each.code) for each in decision.rejected] == [("never", "never_fits")]
    assert [start.job for start in decision.plan.starts] == ["now"]
    assert decision.explanations == ()


def test_offline_what_runs_does_not_decide_what_is_possible() -> None:
    scenario = a_scenario(flat(1), running=FULL, waiting=[waits("w", a_job(gpus=8))])
    assert decide(scenario).rejected == ()
    assert decide(evolve(scenario, running=())).rejected == ()
    larger = evolve(scenario, waiting=(waits("w", a_job(gpus=9)),))
    assert [each.job for each in decide(larger).rejected] == ["w"]


@pytest.mark.pure_only(reason="compiled code calls its own functions, whatever was put in their place")
def test_offline_a_plan_that_is_not_sound_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "lint", lambda *_: ("n1 is used twice",))
    with pytest.raises(InvariantViolated, match="n1 is used twice"):
        decide(a_scenario(flat(1)))


def test_what_accepts_some_node_is_admitted() -> None:
    for wishes in ({"constraint": "ib | roce"}, {"nodelist": ("n2",)}, {"exclude": ("n2",)}, {"exclusive": True}):
        assert is_admitted(a_job(**wishes), LABELLED)
    assert not is_admitted(a_job(constraint="!a100 & !h100"), LABELLED)
