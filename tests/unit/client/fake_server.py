"""A server that answers as docs/API.md says, from memory: for tests of the client and the command line."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

Json = dict[str, Any]
SUBMITTED = "2026-03-02T09:00:00Z"


def a_job(job_id: str = "job-1", **changes: Any) -> Json:
    """A job as the API shows it."""
    name = changes.pop("name", "train")
    return {
        "id": job_id,
        "name": name,
        "team": "nlp",
        "user": "ada",
        "tier": "standard",
        "priority": 50,
        "state": "queued",
        "reason": None,
        "attempt": 0,
        "workers": [],
        "gpus": 8,
        "submitted": SUBMITTED,
        "started": None,
        "first_started": None,
        "ended": None,
        "exit_code": None,
        "retries": 0,
        "preemptions": 0,
        "node_failures": 0,
        "gpu_seconds": 0,
        "checkpointed": None,
        "array": None,
        "tasks": None,
        "held": False,
        "depends_on": [],
        "tags": {},
        "max_duration_s": None,
        "spec": {"name": name, "run": "python train.py", "resources": {"gpus": 8}},
        **changes,
    }


def a_running_job(job_id: str = "job-1", *, nodes: tuple[str, ...] = ("n1",), **changes: Any) -> Json:
    """A job with a worker on each node."""
    workers = [
        {"rank": rank, "role": "worker", "node": node, "gpus": list(range(8)), "share": None}
        for rank, node in enumerate(nodes)
    ]
    started = {"started": "2026-03-02T09:10:00Z", "first_started": "2026-03-02T09:10:00Z"}
    return a_job(job_id, **{"state": "running", "attempt": 1, "workers": workers, **started, **changes})


def an_ended_job(job_id: str = "job-1", **changes: Any) -> Json:
    """A job that succeeded unless said otherwise."""
    times = {"started": "2026-03-02T09:10:00Z", "ended": "2026-03-02T10:00:00Z"}
    return a_job(
        job_id, **{"state": "succeeded", "reason": "completed", "attempt": 1, "exit_code": 0, **times, **changes}
    )


def ends_as(state: str, job_id: str = "job-1", **changes: Any) -> "Callable[[FakeServer], None]":
    """Something that happens later: the job ends."""

    def end(server: "FakeServer") -> None:
        server.jobs[job_id] = an_ended_job(job_id, state=state, **changes)

    return end


def a_node(name: str = "n1", **changes: Any) -> Json:
    """A node as the API shows it."""
    return {
        "name": name,
        "state": "ready",
        "gpus": 8,
        "gpu_type": "h100",
        "cpus": 128,
        "memory_bytes": 1 << 40,
        "disk_bytes": 1 << 42,
        "pool": "main",
        "domains": {},
        "bad_gpus": [],
        "used": {"gpus": 0, "cpus": 0, "memory_bytes": 0},
        "jobs": [],
        "because": None,
        **changes,
    }


def a_problem(status: int, code: str, detail: str, **more: Any) -> httpx.Response:
    """A problem document."""
    headers = {"Content-Type": "application/problem+json"}
    body = {"type": f"urn:muster:{code}", "title": code, "status": status, "detail": detail, "code": code, **more}
    return httpx.Response(status, headers=headers, content=json.dumps(body))


Route = Callable[["FakeServer", httpx.Request, re.Match[str]], httpx.Response | Json]


@dataclass
class FakeServer:
    """What it knows, and every request that it saw."""

    jobs: dict[str, Json] = field(default_factory=dict)
    nodes: list[Json] = field(default_factory=list)
    teams: list[Json] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    logs: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    """By job, rank and attempt."""
    answers: dict[str, Any] = field(default_factory=dict)
    """Answers to other requests, by `METHOD path`."""
    failures: list[httpx.Response | Exception] = field(default_factory=list)
    """What the next requests get instead of an answer."""
    lost_answers: int = 0
    """So many of the next requests are carried out, and their answers lost."""
    on_request: Callable[[], None] = lambda: None
    """What happens when the next request has come, once."""
    later: list[Callable[["FakeServer"], None]] = field(default_factory=list)
    """One of these happens each time that a job is asked for."""
    jobs_allowed: int = 1_000_000
    requests: list[httpx.Request] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def bodies(self, method: str, path: str) -> list[Any]:
        """What was sent there."""
        found = [each for each in self.requests if (each.method, each.url.path) == (method, path)]
        return [json.loads(each.content or b"null") for each in found]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        happens, self.on_request = self.on_request, lambda: None
        happens()
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return failure
        response = self._routed(request)
        if self.lost_answers:
            self.lost_answers -= 1
            raise httpx.ReadError("connection reset", request=request)
        return response

    def _routed(self, request: httpx.Request) -> httpx.Response:
        said = self.answers.get(f"{request.method} {request.url.path}")
        if said is not None:
            return said if isinstance(said, httpx.Response) else httpx.Response(200, json=said)
        for method, pattern, route in ROUTES:
            match = re.fullmatch(pattern, request.url.path)
            if match is not None and method == request.method:
                answer = route(self, request, match)
                return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)
        return a_problem(404, "not_found", f"there is no {request.url.path}")


def _page(items: list[Json], request: httpx.Request) -> Json:
    start, size = int(request.url.params.get("cursor", 0)), int(request.url.params.get("limit", 100))
    rest = start + size
    return {"items": items[start:rest], "next": str(rest) if rest < len(items) else None}


def _submit(server: FakeServer, request: httpx.Request, _: re.Match[str]) -> httpx.Response | Json:
    body = json.loads(request.content)
    if request.url.params.get("dry_run") == "true":
        worker = {"rank": 0, "role": "worker", "node": "n1", "gpus": [0, 1], "share": None}
        return {"placement": [worker], "reasons": [], "estimate": None, "cost": {"gpu_hours": 4.0, "price": 8.0}}
    key = request.headers["Idempotency-Key"]
    if key in server.keys:
        return server.jobs[server.keys[key]]
    if len(server.jobs) >= server.jobs_allowed:
        return a_problem(403, "refused", "no more jobs")
    job_id = f"job-{len(server.jobs) + 1}"
    spec = body["job"]
    gpus = spec.get("resources", {}).get("gpus", 0)
    server.keys[key] = job_id
    server.jobs[job_id] = a_job(job_id, name=spec["name"], spec=spec, gpus=gpus, held=body["held"])
    return httpx.Response(201, json=server.jobs[job_id])


ENDED = ("succeeded", "failed", "cancelled", "timed_out")
ACTIVE = ("blocked", "held", "queued", "starting", "running", "checkpointing", "stopping")


def _jobs(server: FakeServer, request: httpx.Request, _: re.Match[str]) -> Json:
    params = request.url.params
    wanted = params.get_list("state") if "state" in params else []
    states = [state for each in wanted for state in {"active": ACTIVE, "ended": ENDED}.get(each, (each,))]
    array = params.get("array")
    found = [job for job in server.jobs.values() if (job["array"] or {}).get("parent") == array]
    found = [job for job in found if not states or job["state"] in states]
    for key in ("team", "user", "name", "tier"):
        found = [job for job in found if params.get(key, job[key]) == job[key]]
    return _page(found, request)


def _job(server: FakeServer, _: httpx.Request, match: re.Match[str]) -> httpx.Response | Json:
    if server.later:
        server.later.pop(0)(server)
    found = server.jobs.get(match[1])
    return found if found is not None else a_problem(404, "not_found", f"there is no job {match[1]}")


def _change(server: FakeServer, request: httpx.Request, match: re.Match[str]) -> httpx.Response | Json:
    job = server.jobs.get(match[1])
    if job is None:
        return a_problem(404, "not_found", f"there is no job {match[1]}")
    match match[2]:
        case "cancel":
            job["state"] = "cancelled"
        case "hold":
            job.update(state="held", held=True)
        case "release":
            job.update(state="queued", held=False)
        case "signal":
            pass
        case _:
            job.update(state="queued")
    return job


def _update(server: FakeServer, request: httpx.Request, match: re.Match[str]) -> Json:
    server.jobs[match[1]].update(json.loads(request.content))
    return server.jobs[match[1]]


def _log(server: FakeServer, request: httpx.Request, match: re.Match[str]) -> httpx.Response:
    params = request.url.params
    rank = int(params.get("rank", 0))
    known = [attempt for job, each, attempt in server.logs if (job, each) == (match[1], rank)]
    attempt = int(params.get("attempt") or max(known, default=0))
    text = server.logs.get((match[1], rank, attempt))
    if text is None:
        return a_problem(404, "not_found", f"{match[1]} has printed nothing")
    offset = int(params.get("offset", 0))
    start = max(0, len(text) + offset) if offset < 0 else min(offset, len(text))
    piece = text[start:] if params.get("follow") == "true" else text[start : start + int(params.get("limit", 1 << 20))]
    headers = {
        "Muster-Log-Start": str(start),
        "Muster-Log-End": str(start + len(piece)),
        "Muster-Log-Attempt": str(attempt),
    }
    headers["Muster-Log-Complete"] = "true" if start + len(piece) == len(text) else "false"
    return httpx.Response(200, headers=headers, content=piece)


def _events(server: FakeServer, request: httpx.Request, _: re.Match[str]) -> httpx.Response:
    after = int(request.url.params.get("after", 0))

    def lines() -> Iterator[bytes]:
        yield b": hello\n\n"
        for event in tuple(server.events):
            if event["version"] > after:
                yield f"id: {event['version']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n".encode()

    return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=lines())


def _node_state(server: FakeServer, _: httpx.Request, match: re.Match[str]) -> httpx.Response | Json:
    for node in server.nodes:
        if node["name"] == match[1]:
            node["state"] = "ready" if match[2] == "undrain" else "draining" if node["jobs"] else "drained"
            return node
    return a_problem(404, "not_found", f"there is no node {match[1]}")


ROUTES: tuple[tuple[str, str, Route], ...] = (
    ("POST", "/v1/jobs", _submit),
    ("GET", "/v1/jobs", _jobs),
    ("GET", "/v1/jobs/([^/]+)", _job),
    ("PATCH", "/v1/jobs/([^/]+)", _update),
    ("POST", "/v1/jobs/([^/]+)/(cancel|hold|release|requeue|retry|signal)", _change),
    ("GET", "/v1/jobs/([^/]+)/events", lambda server, request, _: _page(server.events, request)),
    ("GET", "/v1/jobs/([^/]+)/logs", _log),
    ("GET", "/v1/nodes", lambda server, request, _: _page(server.nodes, request)),
    ("POST", "/v1/nodes/([^/]+)/(drain|undrain)", _node_state),
    ("GET", "/v1/teams", lambda server, request, _: _page(server.teams, request)),
    ("GET", "/v1/events", _events),
)
