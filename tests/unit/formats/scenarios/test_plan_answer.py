import json
from dataclasses import dataclass

from muster.formats.scenarios.plan_answer import answer
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.plan import Basis, Eviction, Plan, Promise, Reason, ReasonCode, Resize, Start, Why
from tests.unit.formats.scenarios.builders import a_job, a_waiting, scenario

NOW_MS = 1_767_225_600_000
WHOLE = Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1))
SHARE = Worker(rank=0, role="worker", node=NodeName("n2"), gpus=(3,), share_milli=250)


@dataclass(frozen=True)
class Explanation:
    job: JobId
    position: int
    reasons: tuple[Reason, ...]
    p50_ms: int | None
    p90_ms: int | None


@dataclass(frozen=True)
class Rejection:
    job: JobId
    code: str
    message: str


def test_an_answer_has_the_documented_shape() -> None:
    plan = Plan(
        version=0,
        now_ms=NOW_MS,
        starts=(Start(job=JobId("j2"), workers=(WHOLE,)), Start(job=JobId("j3"), workers=(SHARE,))),
        evictions=(Eviction(job=JobId("j1"), for_job=JobId("j9"), why=Why.TIER, lost_gpu_ms=7_200_500),),
        resizes=(
            Resize(job=JobId("j7"), from_workers=8, to_workers=4, workers=(), for_job=JobId("j9")),
            Resize(job=JobId("j8"), from_workers=1, to_workers=2, workers=(WHOLE,)),
        ),
        promises=(
            Promise(
                job=JobId("j9"),
                start_ms=NOW_MS + 7_200_000,
                workers=(WHOLE,),
                made_ms=NOW_MS,
                basis=Basis.DEPARTURES,
                moved_because="n3 was lost",
            ),
        ),
    )
    reason = Reason(code=ReasonCode.FRAGMENTED, message="scattered", would_help="patience")
    explanations = [Explanation(JobId("j9"), 1, (reason,), NOW_MS + 1500, None)]
    rejected = [Rejection(JobId("jx"), ReasonCode.NEVER_FITS, "too big")]
    worker = {"rank": 0, "role": "worker", "node": "n1", "gpus": [0, 1]}
    assert json.loads(json.dumps(answer(plan, scenario(), explanations, rejected))) == {
        "now": "2026-01-01T00:00:00Z",
        "starts": [
            {"job": "j2", "workers": [worker]},
            {"job": "j3", "workers": [{"rank": 0, "role": "worker", "node": "n2", "gpus": [3], "share": 0.25}]},
        ],
        "evictions": [{"job": "j1", "for": "j9", "why": "tier", "lost_gpu_s": 7200.5}],
        "resizes": [
            {"job": "j7", "from": 8, "to": 4, "for": "j9", "workers": []},
            {"job": "j8", "from": 1, "to": 2, "for": None, "workers": [worker]},
        ],
        "holds": [
            {
                "job": "j9",
                "start": "2026-01-01T02:00:00Z",
                "nodes": ["n1"],
                "workers": [worker],
                "made": "2026-01-01T00:00:00Z",
                "basis": "departures",
                "moved_because": "n3 was lost",
            }
        ],
        "waiting": [
            {
                "job": "j9",
                "position": 1,
                "reasons": [{"code": "fragmented", "message": "scattered", "would_help": "patience"}],
                "estimate": {"p50": "2026-01-01T00:00:01.500Z", "p90": None},
            }
        ],
        "rejected": [{"job": "jx", "code": "never_fits", "message": "too big"}],
    }


def test_the_promises_of_an_answer_are_promises_of_the_next_scenario() -> None:
    promise = Promise(job=JobId("w1"), start_ms=NOW_MS + 1234, workers=(SHARE,), made_ms=NOW_MS)
    given = answer(Plan(version=0, now_ms=NOW_MS, promises=(promise,)), scenario(), (), ())["holds"]
    assert scenario(waiting=[a_waiting("w1", a_job(0.25))], holds=given).promises == (promise,)


def test_an_empty_plan_has_every_list() -> None:
    empty = answer(Plan(version=0, now_ms=NOW_MS), scenario(), (), ())
    assert {key for key, value in empty.items() if value == []} == {
        "starts",
        "evictions",
        "resizes",
        "holds",
        "waiting",
        "rejected",
    }
