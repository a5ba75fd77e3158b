"""Who may do what: every operation, for every caller, with the status each gets.

A status of 404 is for what a caller may not know of. An operation that is missing here fails the test.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from muster.api.gate import check_guarded, demand_of
from muster.model.ids import JobId
from muster.worker.bundles.manifest import BundleManifest
from muster.worker.bundles.store import team_store
from tests.api.world import DEADLINE_S, World, a_world, eventually, submitted

CALLERS = ("anonymous", "other", "viewer", "member", "colleague", "lead", "operator", "admin")

Prepare = Callable[[World], Awaitable[str]]
"""Makes what the operation is about, and returns its name."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One operation, and what each of `CALLERS` gets for it."""

    request: str
    """The method and the path; `{}` is what was prepared."""
    statuses: tuple[int, ...]
    body: Any = None
    prepare: Prepare | None = None


async def _a_job(world: World) -> str:
    async with world.client("member") as member:
        return await submitted(member)


async def _a_held_job(world: World) -> str:
    async with world.client("member") as member:
        return await submitted(member, held=True)


async def _an_ended_job(world: World) -> str:
    async with world.client("member") as member:
        job = await submitted(member, held=True)
        assert (await member.post(f"/v1/jobs/{job}/cancel")).status_code == 200
        return job


async def _a_job_with_stacks(world: World) -> str:
    job = await _a_job_with_a_log(world)
    world.stacks[job] = {0: "File train.py, line 7"}
    return job


async def _a_job_with_a_log(world: World) -> str:
    job = await _a_job(world)
    world.logs.print(b"hello\n", job=job, is_last=True)
    async with world.client("member") as member:

        async def has_begun() -> bool:
            return bool((await member.get(f"/v1/jobs/{job}")).json()["attempt"])

        await eventually(has_begun)
    return job


async def _a_team(world: World) -> str:
    name = f"nlp/t{world.clock.now_ms()}"
    async with world.client("admin") as admin:
        assert (await admin.put(f"/v1/teams/{name}", json={})).status_code == 200
    return name


async def _a_token(world: World) -> str:
    async with world.client("admin") as admin:
        body = {"name": "robot", "bindings": [{"role": "member", "team": "nlp/pre"}]}
        answer = await admin.post("/v1/tokens", json=body)
        return str(answer.json()["id"])


async def _a_job_with_files(world: World) -> str:
    manifest = BundleManifest(entries=())
    store = team_store(world.bundles, "nlp")
    store.put_manifest(manifest)
    async with world.client("member") as member:
        return await submitted(member, workdir=".", bundle={"id": manifest.id})


_JOB = {"job": {"name": "a", "team": "nlp", "resources": {"gpus": 1}, "run": "true"}}
_TOKEN = {"name": "robot", "bindings": [{"role": "member", "team": "nlp"}]}

SEEN_BY_ALL = (401, 200, 200, 200, 200, 200, 200, 200)
JOB_SEEN = (401, 404, 200, 200, 200, 200, 200, 200)
JOB_FILES_READ = (401, 404, 403, 200, 200, 200, 200, 200)
JOB_CHANGED = (401, 404, 403, 200, 403, 200, 200, 200)
BY_OPERATORS = (401, 403, 403, 403, 403, 403, 200, 200)
NOT_NOW_BY_OPERATORS = (401, 403, 403, 403, 403, 403, 409, 409)
NOTHING_FOR_OPERATORS = (401, 403, 403, 403, 403, 403, 404, 404)

CASES = {
    "submit_job": Case(request="POST /v1/jobs", body=_JOB, statuses=(401, 403, 403, 201, 201, 201, 201, 201)),
    "store_bundle": Case(
        request="POST /v1/bundles?team=nlp",
        body={"version": 1, "entries": [], "origin": {}},
        statuses=(401, 403, 403, 200, 200, 200, 200, 200),
    ),
    "store_blocks": Case(request="POST /v1/bundles/blocks?team=nlp", statuses=(401, 403, 403, 422, 422, 422, 422, 422)),
    "show_bundle": Case(request="GET /v1/jobs/{}/bundle", prepare=_a_job_with_files, statuses=JOB_SEEN),
    "read_manifest": Case(
        request="GET /v1/jobs/{}/bundle/manifest", prepare=_a_job_with_files, statuses=JOB_FILES_READ
    ),
    "read_blocks": Case(
        request="POST /v1/jobs/{}/bundle/blocks",
        body={"names": ["0" * 64]},
        prepare=_a_job_with_files,
        statuses=(401, 404, 403, 422, 422, 422, 422, 422),
    ),
    "show_job_schema": Case(request="GET /v1/schema/job", statuses=SEEN_BY_ALL),
    "list_jobs": Case(request="GET /v1/jobs", statuses=SEEN_BY_ALL),
    "show_job": Case(request="GET /v1/jobs/{}", prepare=_a_job, statuses=JOB_SEEN),
    "show_job_file": Case(request="GET /v1/jobs/{}/file", prepare=_a_job, statuses=JOB_SEEN),
    "explain_job": Case(request="GET /v1/jobs/{}/why", prepare=_a_held_job, statuses=JOB_SEEN),
    "tell_job": Case(request="GET /v1/jobs/{}/story", prepare=_a_job, statuses=JOB_SEEN),
    "list_job_events": Case(request="GET /v1/jobs/{}/events", prepare=_a_job, statuses=JOB_SEEN),
    "read_log": Case(request="GET /v1/jobs/{}/logs", prepare=_a_job_with_a_log, statuses=JOB_SEEN),
    "list_checkpoints": Case(request="GET /v1/jobs/{}/checkpoints", prepare=_a_job, statuses=JOB_SEEN),
    "list_measures": Case(request="GET /v1/jobs/{}/measures", prepare=_a_job, statuses=JOB_SEEN),
    "list_steps": Case(request="GET /v1/jobs/{}/steps", prepare=_a_job, statuses=JOB_SEEN),
    "list_ranks": Case(request="GET /v1/jobs/{}/ranks", prepare=_a_job, statuses=JOB_SEEN),
    "verify_checkpoints": Case(request="POST /v1/jobs/{}/checkpoints/verify", prepare=_a_job, statuses=JOB_CHANGED),
    "remove_checkpoint": Case(
        request="DELETE /v1/jobs/{}/checkpoints/7", prepare=_a_job, statuses=(401, 404, 403, 404, 403, 404, 404, 404)
    ),
    "show_stacks": Case(request="GET /v1/jobs/{}/stacks", prepare=_a_job_with_stacks, statuses=JOB_SEEN),
    "cancel_job": Case(request="POST /v1/jobs/{}/cancel", prepare=_a_job, statuses=JOB_CHANGED),
    "hold_job": Case(request="POST /v1/jobs/{}/hold", prepare=_a_job, statuses=JOB_CHANGED),
    "release_job": Case(request="POST /v1/jobs/{}/release", prepare=_a_held_job, statuses=JOB_CHANGED),
    "signal_job": Case(
        request="POST /v1/jobs/{}/signal", body={"name": "USR1"}, prepare=_a_job_with_a_log, statuses=JOB_CHANGED
    ),
    "requeue_job": Case(request="POST /v1/jobs/{}/requeue", prepare=_a_job, statuses=JOB_CHANGED),
    "update_job": Case(request="PATCH /v1/jobs/{}", prepare=_a_held_job, body={"priority": 60}, statuses=JOB_CHANGED),
    "retry_job": Case(
        request="POST /v1/jobs/{}/retry", prepare=_an_ended_job, statuses=(401, 404, 403, 201, 201, 201, 201, 201)
    ),
    "export_jobs": Case(request="GET /v1/export", statuses=SEEN_BY_ALL),
    "show_queue": Case(request="GET /v1/queue", statuses=SEEN_BY_ALL),
    "show_history": Case(request="GET /v1/history", statuses=SEEN_BY_ALL),
    "watch_events": Case(request="GET /v1/events?job=nobody", statuses=(401, 404, 404, 404, 404, 404, 404, 404)),
    "list_nodes": Case(request="GET /v1/nodes", statuses=SEEN_BY_ALL),
    "show_node": Case(request="GET /v1/nodes/n1", statuses=SEEN_BY_ALL),
    "list_health": Case(request="GET /v1/health", statuses=SEEN_BY_ALL),
    "show_health": Case(request="GET /v1/nodes/n1/health", statuses=SEEN_BY_ALL),
    "drain_node": Case(request="POST /v1/nodes/n2/drain", statuses=BY_OPERATORS),
    "undrain_node": Case(request="POST /v1/nodes/n2/undrain", statuses=BY_OPERATORS),
    "fence_node": Case(request="POST /v1/nodes/n2/fence", statuses=NOT_NOW_BY_OPERATORS),
    "list_troubles": Case(request="GET /v1/troubles", statuses=SEEN_BY_ALL),
    "list_reservations": Case(request="GET /v1/reservations", statuses=SEEN_BY_ALL),
    "create_reservation": Case(
        request="POST /v1/reservations",
        body={"name": "upkeep", "nodes": ["n2"], "start": "1h", "end": "2h"},
        statuses=(401, 403, 403, 403, 403, 403, 200, 409),
    ),
    "remove_reservation": Case(request="POST /v1/reservations/none/remove", statuses=NOTHING_FOR_OPERATORS),
    "list_quarantine": Case(request="GET /v1/quarantine", statuses=BY_OPERATORS),
    "adopt_quarantined": Case(request="POST /v1/quarantine/job-9/adopt", statuses=NOTHING_FOR_OPERATORS),
    "kill_quarantined": Case(request="POST /v1/quarantine/job-9/kill", statuses=NOTHING_FOR_OPERATORS),
    "list_teams": Case(request="GET /v1/teams", statuses=SEEN_BY_ALL),
    "show_team": Case(request="GET /v1/teams/nlp/pre", statuses=SEEN_BY_ALL),
    "put_team": Case(
        request="PUT /v1/teams/nlp/pre", body={"weight": 2}, statuses=(401, 403, 403, 403, 403, 200, 200, 200)
    ),
    "delete_team": Case(
        request="DELETE /v1/teams/{}", prepare=_a_team, statuses=(401, 403, 403, 403, 403, 204, 204, 204)
    ),
    "show_tiers": Case(request="GET /v1/tiers", statuses=SEEN_BY_ALL),
    "put_tiers": Case(request="PUT /v1/tiers", body=[{"name": "standard"}], statuses=BY_OPERATORS),
    "show_pools": Case(request="GET /v1/pools", statuses=SEEN_BY_ALL),
    "put_pools": Case(request="PUT /v1/pools", body={"main": {}}, statuses=BY_OPERATORS),
    "show_admission": Case(request="GET /v1/admission", statuses=SEEN_BY_ALL),
    "put_admission": Case(request="PUT /v1/admission", body=[{"name": "all", "warn": "a rule"}], statuses=BY_OPERATORS),
    "patch_admission_rule": Case(request="PATCH /v1/admission/all", body={"warn": "a rule"}, statuses=BY_OPERATORS),
    "delete_admission_rule": Case(request="DELETE /v1/admission/none", statuses=(*BY_OPERATORS[:-2], 404, 404)),
    "try_admission": Case(
        request="POST /v1/admission-tests",
        body={"admission": [{"name": "all", "warn": "a rule"}], "since": "2026-01-01T00:00:00Z"},
        statuses=BY_OPERATORS,
    ),
    "show_profiles": Case(request="GET /v1/profiles", statuses=SEEN_BY_ALL),
    "put_profiles": Case(request="PUT /v1/profiles", body={"small": {"workers": 1}}, statuses=BY_OPERATORS),
    "patch_team": Case(
        request="PATCH /v1/teams/nlp/pre", body={"weight": 2}, statuses=(401, 403, 403, 403, 403, 200, 200, 200)
    ),
    "patch_tier": Case(request="PATCH /v1/tiers/standard", body={"preempts": True}, statuses=BY_OPERATORS),
    "delete_tier": Case(request="DELETE /v1/tiers/none", statuses=(*BY_OPERATORS[:-2], 404, 404)),
    "patch_pool": Case(request="PATCH /v1/pools/main", body={"price": 2}, statuses=BY_OPERATORS),
    "delete_pool": Case(request="DELETE /v1/pools/none", statuses=(*BY_OPERATORS[:-2], 404, 404)),
    "patch_policy": Case(request="PATCH /v1/policy", body={"turns": False}, statuses=BY_OPERATORS),
    "diff_config": Case(request="POST /v1/config/diff", body={}, statuses=BY_OPERATORS),
    "put_config": Case(request="PUT /v1/config", body={}, statuses=BY_OPERATORS),
    "show_policy": Case(request="GET /v1/policy", statuses=SEEN_BY_ALL),
    "put_policy": Case(request="PUT /v1/policy", body={"order": "fifo"}, statuses=BY_OPERATORS),
    "show_me": Case(request="GET /v1/whoami", statuses=SEEN_BY_ALL),
    "list_starts": Case(request="GET /v1/starts", statuses=SEEN_BY_ALL),
    "create_sign_in_link": Case(request="POST /v1/sign-in-links", statuses=(401, *[201] * 7)),
    "sign_in": Case(request="POST /session", body={"code": "wrong"}, statuses=(401,) * 8),
    "sign_out": Case(request="DELETE /session", statuses=(204,) * 8),
    "list_tokens": Case(request="GET /v1/tokens", statuses=(401, 200, 403, 403, 403, 200, 403, 200)),
    "create_token": Case(request="POST /v1/tokens", body=_TOKEN, statuses=(401, 403, 403, 403, 403, 201, 403, 201)),
    "revoke_token": Case(
        request="DELETE /v1/tokens/{}", prepare=_a_token, statuses=(401, 404, 403, 403, 403, 204, 403, 204)
    ),
    "list_audit": Case(request="GET /v1/audit", statuses=BY_OPERATORS),
    "show_audit_head": Case(request="GET /v1/audit/head", statuses=BY_OPERATORS),
    "export_audit": Case(request="GET /v1/audit/export", statuses=BY_OPERATORS),
    "verify_audit": Case(request="GET /v1/audit/verify", statuses=BY_OPERATORS),
    "list_what_ifs": Case(request="GET /v1/what-if", statuses=BY_OPERATORS),
    "start_what_if": Case(
        request="POST /v1/what-if", body={"origin": "present"}, prepare=_a_job, statuses=(*BY_OPERATORS[:-2], 409, 409)
    ),
    "show_what_if": Case(request="GET /v1/what-if/what-if-1", statuses=NOTHING_FOR_OPERATORS),
    "cancel_what_if": Case(request="DELETE /v1/what-if/what-if-1", statuses=NOTHING_FOR_OPERATORS),
    "create_report_link": Case(request="POST /v1/what-if/what-if-1/report-links", statuses=NOTHING_FOR_OPERATORS),
    "check_health": Case(request="GET /healthz", statuses=(200,) * 8),
    "read_metrics": Case(request="GET /metrics", statuses=SEEN_BY_ALL),
}

FAR_AWAY = ("192.0.2.7", 1234)
"""An address that is reserved for examples: not this machine."""


async def _statuses(world: World, case: Case) -> tuple[int, ...]:
    """What each of `CALLERS` gets, each for a thing of their own."""
    found = []
    for who in CALLERS:
        name = "" if case.prepare is None else await case.prepare(world)
        method, _, path = case.request.partition(" ")
        headers = {} if who == "anonymous" else {"Authorization": f"Bearer {world.secrets[who]}"}
        transport = httpx.ASGITransport(world.app, client=FAR_AWAY)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            answer = await client.request(method, path.format(name), json=case.body)
        found.append(answer.status_code)
    return tuple(found)


@pytest.mark.parametrize("operation", CASES)
def test_every_caller_gets_what_the_table_says(operation: str) -> None:
    with a_world() as world:
        statuses = asyncio.run(asyncio.wait_for(_statuses(world, CASES[operation]), DEADLINE_S))
    assert dict(zip(CALLERS, statuses, strict=True)) == dict(zip(CALLERS, CASES[operation].statuses, strict=True))


def test_every_operation_is_in_the_table() -> None:
    with a_world(starts=False) as world:
        routes = [context.original_route for context in iter_route_contexts(world.app.routes)]
    operations = {str(route.operation_id): route for route in routes if isinstance(route, APIRoute)}
    operations = {name: route for name, route in operations.items() if route.include_in_schema}
    assert operations.keys() == CASES.keys()
    for name, route in operations.items():
        method = CASES[name].request.partition(" ")[0]
        assert route.methods == {method}
        assert demand_of(route) is not None


def test_an_application_with_an_unguarded_route_does_not_start() -> None:
    app, router = FastAPI(docs_url=None, redoc_url=None), APIRouter()

    @router.get("/v1/backdoor")
    async def backdoor() -> str:
        return "come in"

    app.include_router(router)
    with pytest.raises(RuntimeError, match="/v1/backdoor"):
        check_guarded(app)


def test_a_refused_change_is_audited_and_a_refused_look_is_not() -> None:
    async def scenario(world: World) -> None:
        job = await _a_job(world)
        async with world.client("viewer") as viewer:
            assert (await viewer.post(f"/v1/jobs/{job}/cancel")).status_code == 403
            assert (await viewer.get("/v1/audit")).status_code == 403
        denied = [entry for entry in world.store.audit if ("outcome", "denied") in entry.detail]
        assert [(entry.by, entry.action) for entry in denied] == [("viewer", "jobs.change")]
        async with world.client("colleague") as colleague:
            assert (await colleague.post(f"/v1/jobs/{job}/cancel")).status_code == 403
        assert (world.store.audit[-1].by, world.store.audit[-1].action) == ("colleague", "jobs.cancel")
        assert world.store.audit[-1].subject == JobId(job)

    with a_world() as world:
        asyncio.run(asyncio.wait_for(scenario(world), DEADLINE_S))
