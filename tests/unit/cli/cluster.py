"""A cluster in the middle of its day, as a server would describe it: every state, long names, trouble."""

from typing import Any

from tests.unit.client.fake_server import FakeServer, Json, a_job, a_node, a_running_job, an_ended_job


def a_team(path: str, **changes: Any) -> Json:
    """A team as the API shows it."""
    nothing: Json = {"guaranteed": {}, "limit": {}, "weight": 1, "used": {}, "borrowed": {}}
    return {"path": path, **nothing, "running": 0, "waiting": 0, "usage_gpu_s": 0, **changes}


def an_event(version: int, kind: str, at: str, job: str | None = None, **more: Any) -> Json:
    """An event as the API shows it."""
    times = {"version": version, "at": f"2026-03-02T{at}Z", "kind": kind}
    return {**times, "job": job, "team": "nlp", "user": "ada", "by": None, **more}


def fill(server: FakeServer) -> None:
    """Put the whole day into a server."""
    server.jobs = {job["id"]: job for job in _jobs()}
    server.nodes = list(_nodes())
    server.teams = list(_teams())
    server.events = list(_events())
    server.logs["job-12", 0, 1] = b"step 1 loss=4.7\n"
    server.logs["job-12", 0, 2] = b"step 1 loss=4.6\nstep 2 loss=3.2\nstep 3 loss=3.1\n"
    server.logs["job-12", 1, 2] = b"ready\nready again"
    server.answers |= _answers()


def _jobs() -> list[Json]:
    shared = {"rank": 0, "role": "worker", "node": "n6", "gpus": [3], "share": 0.25}
    waits_for = [{"job": "job-12", "when": "succeeded"}, {"job": "job-13", "when": "finished"}]
    llama = {
        "name": "llama-pretrain",
        "team": "nlp/pretraining",
        "gpus": 32,
        "attempt": 2,
        "preemptions": 1,
        "checkpointed": "2026-03-02T11:55:00Z",
        "gpu_seconds": 326_400,
        "max_duration_s": 604_800,
        "tags": {"project": "atlas"},
        "progress": {
            "step": 48_120,
            "step_s": {"p50": 1.2346, "p99": 1.71},
            "last_step_at": "2026-03-02T11:59:58Z",
        },
        "stragglers": [
            {
                "rank": 2,
                "node": "n3",
                "gpus": [0],
                "slowdown": 1.31,
                "since": "2026-03-02T11:40:00Z",
                "steps": 24,
                "usual": 1.01,
            },
        ],
    }
    return [
        a_running_job("job-12", nodes=("n1", "n2", "n3", "n4"), **llama),
        a_running_job(
            "job-13", name="a-long-name-that-somebody-made-up", team="vision/segmentation/medical", nodes=("n5",)
        ),
        a_running_job("job-14", name="half", gpus=0.25, workers=[shared]),
        a_job("job-15", name="big-gang", gpus=64),
        a_job("job-16", name="second", state="blocked", depends_on=waits_for),
        a_job("job-17", name="later", state="held", held=True),
        a_job(
            "job-18", name="sweep", state="running", tasks={"succeeded": 12, "failed": 2, "running": 8, "blocked": 78}
        ),
        a_job("job-19", name="evicted", reason="preempted", attempt=1, preemptions=1),
        an_ended_job("job-9", name="done"),
        an_ended_job("job-8", name="broken", state="failed", reason="error", exit_code=1, retries=3),
        an_ended_job("job-7", name="slow", state="timed_out", reason="timeout"),
        an_ended_job("job-6", name="stopped", state="cancelled", reason="cancelled", exit_code=None),
    ]


def _nodes() -> list[Json]:
    busy: list[tuple[float, list[str], Json]] = [
        *[(8, ["job-12"], {})] * 4,
        (8, ["job-13"], {}),
        (0.25, ["job-14"], {}),
        (3, ["job-18.3", "job-18.4", "job-18.5"], {"bad_gpus": [7]}),
        (0, [], {"state": "drained", "because": "fan broken, ticket 4711"}),
        (5, [f"job-18.{task}" for task in range(6, 14)], {"state": "draining", "because": "kernel upgrade"}),
        (0, [], {"state": "down", "because": "no heartbeat", "gpu_type": "a100", "pool": "spot"}),
    ]
    return [
        a_node(
            f"n{number}",
            used={"gpus": gpus, "cpus": 0, "memory_bytes": 0},
            jobs=jobs,
            domains={"block": "b1", "rack": f"r{(number + 3) // 4}"},
            **more,
        )
        for number, (gpus, jobs, more) in enumerate(busy, start=1)
    ]


def _teams() -> list[Json]:
    borrows = {
        "guaranteed": {"h100": 64},
        "limit": {"h100": 128},
        "used": {"h100": 96, "*": 96},
        "borrowed": {"h100": 32},
    }
    two_types = {"guaranteed": {"h100": 32, "a100": 8}, "limit": {"*": 64}, "used": {"h100": 3}, "lent": {"h100": 29}}
    return [
        a_team("nlp", **borrows, weight=2, running=3, waiting=12, usage_gpu_s=8_640_000),
        a_team("nlp/pretraining", guaranteed={"h100": 32}, used={"h100": 32}, running=1, waiting=4),
        a_team("nlp/serving", used={"h100": 64}, running=2, waiting=8),
        a_team("vision", **two_types, running=1),
        a_team("research/very/deeply/nested", limit={"h100": 16}),
        a_team("default"),
    ]


def _events() -> list[Json]:
    workers = [
        {"rank": rank, "role": "worker", "node": f"n{rank + 1}", "gpus": [0], "share": None} for rank in range(4)
    ]
    asked = {"by": "ada", "name": "big-gang", "tier": "standard", "priority": 50, "gpus": 64, "held": False}
    return [
        an_event(1041, "job_submitted", "11:58:00", "job-15", **asked),
        an_event(1042, "job_started", "11:59:00", "job-12", attempt=2, workers=workers),
        an_event(1043, "workers_started", "11:59:01", "job-12", attempt=2, ranks=[0, 1, 2, 3]),
        an_event(1044, "eviction_ordered", "11:59:01", "job-18.3", why="reclaim", lost_gpu_s=7200),
        an_event(1045, "workers_exited", "11:59:30", "job-9", ranks=[0], exit_code=1, oom=True, told=False),
        an_event(1046, "checkpoint_saved", "11:59:31", "job-12", attempt=2, cost_s=1.5),
        an_event(1047, "job_updated", "11:59:40", "job-15", by="ada", changes={"priority": 70}),
        an_event(1048, "node_changed", "11:59:58", node="n8", state="drained", because="fan broken", by="bob"),
        an_event(1049, "holds_set", "11:59:59", holds=3),
        an_event(1050, "something_new", "11:59:59", "job-12", colour="green", size=[1, 2]),
        an_event(1051, "straggler_found", "11:59:59", "job-12", rank=2, node="n3", gpus=[0], slowdown=1.31, steps=24),
        an_event(1052, "straggler_gone", "11:59:59", "job-12", rank=2),
        an_event(1053, "hang_found", "11:59:59", "job-12", ranks=[1, 2], nodes=["n2"], step=812),
        an_event(1054, "hang_found", "11:59:59", "job-13", ranks=[0, 1], nodes=[], step=7),
        an_event(1055, "hang_over", "11:59:59", "job-12"),
    ]


def _answers() -> dict[str, Any]:
    capacity = {"code": "capacity", "message": "needs 64 h100, 21 are free", "would_help": "43 more free h100"}
    topology = {
        "code": "topology",
        "message": "it would fit across the cluster, but not inside one rack of the block that its team may use",
        "would_help": "dropping `within: rack`",
    }
    estimate = {"p50": "2026-03-02T14:10:00Z", "p90": "2026-03-03T09:00:00Z"}
    promise = {"start": "2026-03-03T04:00:00Z", "nodes": [f"n{number}" for number in range(1, 9)]}
    waits = {
        "job": "job-15",
        "state": "queued",
        "headline": "It waits because too few GPUs are free, and because it has to stay inside one rack.",
        "position": 3,
        "reasons": [capacity, topology],
        "when": [
            {"text": "It is number 3 in the queue, counted by when jobs can start.", "at": None},
            {"text": "It is promised n[1-8] and starts there in 16 h, if not earlier.", "at": promise["start"]},
            {"text": "It will probably start in 2 h 10 min.", "at": estimate["p50"]},
            {"text": "Nine times in ten it starts within 21 h.", "at": estimate["p90"]},
        ],
    }
    runs: Json = {"job": "job-12", "state": "running", "headline": "It runs.", "position": None, "reasons": []}
    token = {
        "id": "1a2b3c",
        "name": "ci",
        "subject": "nlp/ci",
        "maker": None,
        "bindings": [{"role": "member", "team": "nlp"}],
    }
    times = {"created": "2026-01-01T00:00:00Z", "expires": "2026-06-01T00:00:00Z"}
    entry = {"seq": 7, "at": "2026-03-02T11:59:58Z", "by": "bob", "action": "nodes.drain", "subject": "n8"}
    return {
        "GET /v1/jobs/job-12/story": _story(),
        "GET /v1/jobs/job-15/why": {**waits, "estimate": estimate, "hold": promise},
        "GET /v1/jobs/job-12/why": runs,
        "GET /v1/tokens": {"items": [{**token, **times}], "next": None},
        "POST /v1/tokens": {**token, **times, "secret": "muster_1a2b3c_s3cret"},
        "GET /v1/whoami": {"name": "ada", "bindings": [{"role": "admin", "team": "*"}], "expires": None},
        "GET /v1/audit": {"items": [{**entry, "reason": "fan broken", "detail": {"outcome": "done"}}], "next": None},
        "GET /v1/audit/verify": {"whole": True, "entries": 7, "events": 1050, "problems": []},
        "GET /v1/queue": {"running": 4, "waiting": 1234, "oldest": "2026-03-02T09:00:00Z"},
        "GET /v1/teams/nlp": {"path": "nlp", "guaranteed": {"h100": 64}, "limit": {"h100": 128}, "weight": 2},
        "PATCH /v1/teams/nlp": {
            "path": "nlp",
            "guaranteed": {"h100": 80},
            "limit": {"h100": 128},
            "used": {"h100": 96},
        },
    }


def _story() -> Json:
    """How a job got where it is: it gave way once, and has saved itself often."""
    told: list[tuple[str, str, str, int]] = [
        ("01T08:00:00", "queued", "submitted by ada, tier standard, 4 workers with 32 GPUs: it waits in the queue", 1),
        ("01T08:00:02", "starting", "starts on n[1-4] with 32 GPUs", 1),
        ("01T08:00:31", "running", "all 4 workers run", 1),
        ("01T19:12:00", "running", "saved itself", 67),
        (
            "01T19:20:00",
            "checkpointing",
            "told to leave, because a team takes back what it is guaranteed: it saves itself and leaves",
            1,
        ),
        ("01T19:21:12", "queued", "its workers have left: it waits in the queue again after it gave way", 1),
        ("02T11:59:00", "starting", "starts on n[1-4] with 32 GPUs, attempt 2", 1),
        ("02T11:59:01", "running", "all 4 workers run", 1),
    ]
    sentences = [
        {"at": f"2026-03-{at}Z", "kind": "job_started", "state": state, "text": text, "times": times}
        for at, state, text, times in told
    ]
    return {"job": "job-12", "state": "running", "sentences": sentences, "left_out": 3}
