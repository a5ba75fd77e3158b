"""What would be otherwise: simulations from history or from the present, and their reports."""

import asyncio
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from muster.access.permissions import Permission
from muster.answers.what_if import PolicyName, ReportLink, WhatIfRun, WhatIfRuns
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs, Open
from muster.api.rendering.times import moment_of
from muster.api.rendering.what_if import run_body
from muster.api.routes.error_responses import CHANGED, FOUND, SEEN
from muster.api.schemas.what_if import NewWhatIf
from muster.api.services import Services
from muster.api.what_if.changes import changed_rules, with_counts
from muster.api.what_if.questions import cluster_of, facts, history, present, with_teams_of
from muster.api.what_if.simulations import Simulation
from muster.core.order.run_times import RunTimes
from muster.engine.engine import Engine
from muster.model.access import EVERY_TEAM
from muster.model.client_limits import REPORT_LINK_MS
from muster.model.errors import InvalidInput
from muster.model.trace import ReplaySetting, WhatIf
from muster.policies import NamedPolicy, built_in_policies

router = APIRouter(tags=["operation"])

MayRun = Annotated[Caller, Depends(Needs(Permission.WHAT_IF))]
RunId = Annotated[str, Path(max_length=40, pattern=r"^what-if-[0-9]+$")]
REPORTS = "/what-if-reports"


@router.get("/v1/what-if", operation_id="list_what_ifs", summary="List simulations", responses=SEEN)
async def list_what_ifs(caller: MayRun) -> WhatIfRuns:
    """The latest simulations, and the policies that can be asked for."""
    await _require(caller, "what_if.see", "*")
    return WhatIfRuns(
        runs=tuple(run_body(each) for each in caller.services.what_ifs.all()),
        policies=tuple(PolicyName(name=each.name, summary=each.summary) for each in built_in_policies()),
    )


@router.post("/v1/what-if", operation_id="start_what_if", summary="Simulate", status_code=201, responses=CHANGED)
async def start_what_if(caller: MayRun, body: NewWhatIf) -> WhatIfRun:
    """Replay jobs twice, as everything is today and with what is asked for. Nothing is changed.

    It runs in a process of its own, after the simulations before it, for ten minutes at most.
    """
    await _require(caller, "what_if.start", body.origin)
    question = await _question(caller, body)
    asked = body.model_dump(exclude_defaults=True) | {"origin": body.origin}
    now_ms = caller.deps.clock.now_ms()
    run = caller.services.what_ifs.start(question, by=caller.name, asked=asked, now_ms=now_ms)
    await change(caller, "what_if.start", run.id, lambda _engine, _now_ms: None, origin=body.origin)
    return run_body(run)


@router.get("/v1/what-if/{run}", operation_id="show_what_if", summary="Show a simulation", responses=FOUND)
async def show_what_if(caller: MayRun, run: RunId) -> WhatIfRun:
    """How far a simulation is, and what it found."""
    return run_body(await _found(caller, run, "what_if.see"))


@router.delete("/v1/what-if/{run}", operation_id="cancel_what_if", summary="Cancel a simulation", responses=CHANGED)
async def cancel_what_if(caller: MayRun, run: RunId) -> WhatIfRun:
    """End a simulation. One that is over stays as it is."""
    found = await _found(caller, run, "what_if.cancel")
    caller.services.what_ifs.cancel(found)
    await change(caller, "what_if.cancel", found.id, lambda _engine, _now_ms: None)
    return run_body(found)


@router.post(
    "/v1/what-if/{run}/report-links",
    operation_id="create_report_link",
    summary="Make a link to the report of a simulation",
    status_code=201,
    responses=CHANGED,
)
async def create_report_link(caller: MayRun, run: RunId) -> ReportLink:
    """A link for a frame of a page. It is good once and for a minute."""
    now_ms = caller.deps.clock.now_ms()
    ticket = caller.services.what_ifs.link(await _found(caller, run, "what_if.see"), now_ms)
    return ReportLink(path=f"{REPORTS}/{ticket}", expires=moment_of(now_ms + REPORT_LINK_MS))


@router.get(f"{REPORTS}/{{ticket}}", operation_id="read_report", include_in_schema=False)
async def read_report(
    services: Annotated[Services, Depends(Open())], ticket: Annotated[str, Path(max_length=100)]
) -> Response:
    """The report, to which a link leads. Its scripts may draw and nothing else: they have no origin and no network."""
    run = services.what_ifs.redeem(ticket, services.deps.clock.now_ms())
    return Response(run.report, HTTPStatus.OK, media_type="text/html", headers=_framed(run))


def _framed(run: Simulation) -> dict[str, str]:
    scripts = " ".join(f"'{each}'" for each in run.scripts) or "'none'"
    policy = (
        f"sandbox allow-scripts; default-src 'none'; script-src {scripts}; style-src 'unsafe-inline';"
        " img-src data: blob:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )
    return {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN", "Cache-Control": "no-store"}


async def _require(caller: Caller, action: str, subject: str) -> None:
    """Raise unless the caller may simulate and may see all jobs, since the report names them."""
    for permission in (Permission.WHAT_IF, Permission.JOBS_SEE):
        await require(caller, permission, EVERY_TEAM, action=action, subject=subject)


async def _found(caller: Caller, run: str, action: str) -> Simulation:
    await _require(caller, action, run)
    return caller.services.what_ifs.find(run)


async def _question(caller: Caller, body: NewWhatIf) -> WhatIf:
    view = caller.deps.control.view
    named = None if body.policy is None else _policy(body.policy)
    rules = changed_rules(view.rules, None if named is None else named.rules, body.settings, body.teams)
    cluster = cluster_of(view, as_it_is=body.origin == "present")
    changed = await asyncio.to_thread(with_counts, cluster, body.nodes)
    now_ms = caller.deps.clock.now_ms()
    since_ms = int(body.since_s * 1000) if body.origin == "history" else None
    if since_ms is None:
        run_times = await caller.services.ask(_run_times)
        trace = await asyncio.to_thread(present, view, run_times, now_ms)
    else:
        trace = await asyncio.to_thread(history, caller.deps.jobs, now_ms - since_ms)
    return WhatIf(
        trace=trace,
        today=ReplaySetting(cluster=cluster, rules=with_teams_of(view.rules, trace)),
        changed=ReplaySetting(cluster=changed, rules=with_teams_of(rules, trace), policy=body.policy or ""),
        facts=facts(trace, since_ms, _told(body)),
    )


def _policy(name: str) -> NamedPolicy:
    """A policy that comes with Muster: a server loads no code of others for a question."""
    known = {each.name: each for each in built_in_policies()}
    if name not in known:
        raise InvalidInput(f"there is no policy {name!r}; choose from: {', '.join(known)}")
    return known[name]


def _run_times(engine: Engine, _now_ms: int) -> RunTimes:
    return engine.state.snapshot.run_times.copy()


def _told(body: NewWhatIf) -> list[str]:
    """What was asked for, in words."""

    def listed(what: str, values: dict[str, Any]) -> list[str]:
        return [f"{what} {key}: {value}" for key, value in values.items()]

    return [
        *([f"policy {body.policy}"] if body.policy else []),
        *listed("setting", body.settings),
        *listed("team", body.teams),
        *(f"{count} nodes like {like}" for like, count in body.nodes.items()),
    ]
