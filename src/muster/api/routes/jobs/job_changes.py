"""Changing jobs: everything that a user may request of one, and changing what they asked for."""

import signal
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends

from muster.access.permissions import Permission
from muster.access.principal import may
from muster.answers.jobs import Job
from muster.api.authorized_changes import change, changeable, visible
from muster.api.gate import Caller, Needs
from muster.api.lookups.records import single
from muster.api.rendering.jobs import job_body
from muster.api.routes.error_responses import CHANGED
from muster.api.routes.jobs.jobs import JobPath
from muster.api.schemas.base import Because
from muster.api.schemas.jobs import Changes, SignalToSend
from muster.core.team_bounds import change_beyond_bounds
from muster.engine.engine import Engine
from muster.model.errors import Conflict, HasEnded, Refused
from muster.model.ids import JobId, TierName
from muster.model.requests import REQUESTS, RequestEvent
from muster.model.spec import JobChanges

router = APIRouter(tags=["jobs"])

MayChange = Annotated[Caller, Depends(Needs(Permission.JOBS_CHANGE))]


def _offer(request: type[RequestEvent]) -> None:
    """Add the operation that asks this of a job."""
    words = request.words

    async def ask(caller: MayChange, job: JobPath, body: Because | None = None) -> Job:
        def asked(engine: Engine, known: JobId, now_ms: int) -> bool:
            return engine.request(request, known, now_ms, by=caller.actor)

        return await _changed(caller, job, f"jobs.{words.verb}", body, asked, may_come_late=request.may_come_late)

    router.add_api_route(
        f"/v1/jobs/{{job}}/{words.verb}",
        ask,
        methods=["POST"],
        operation_id=f"{words.verb}_job",
        summary=words.summary,
        description=words.operation,
        responses=CHANGED,
    )


for _request in REQUESTS:
    _offer(_request)


@router.patch("/v1/jobs/{job}", operation_id="update_job", summary="Change what a job asked for", responses=CHANGED)
async def update_job(caller: MayChange, job: JobPath, body: Changes) -> Job:
    """Change its priority, tier, time limit or tags. What is left out stays as it is.

    A higher priority or another tier must be one that its team may use, unless the caller is an operator.
    """
    limit_s = body.max_duration_s
    changes = JobChanges(
        priority=body.priority,
        tier=None if body.tier is None else TierName(body.tier),
        max_duration_ms=None if limit_s is None else max(round(limit_s * 1000), 1),
        tags=None if body.tags is None else tuple(sorted(body.tags.items())),
    )
    because = Because(reason=body.reason)
    is_bound = not may(caller.principal, Permission.POLICY_CHANGE)

    def updated(engine: Engine, known: JobId, now_ms: int) -> bool:
        if is_bound:
            _check_bounds(engine, known, changes)
        return engine.update(known, now_ms, changes, by=caller.actor)

    return await _changed(caller, job, "jobs.update", because, updated)


@router.post(
    "/v1/jobs/{job}/signal",
    operation_id="signal_job",
    summary="Send a signal to the processes of a job",
    responses=CHANGED,
)
async def signal_job(caller: MayChange, job: JobPath, body: SignalToSend) -> Job:
    """Send a signal to the steps of a batch script, or to the programs of another job. Shells do not get it.

    A job that does not run is a conflict. An array is signalled task by task: name the tasks.
    """
    record = single(await changeable(caller, job, "jobs.signal"))
    if not record.state.holds_resources:
        raise Conflict(f"{job} is {record.state} and has no processes")
    await change(caller, "jobs.signal", record.id, lambda _engine, _now_ms: None, reason=body.reason, signal=body.name)
    caller.deps.backend.signal(record.id, signal.Signals[f"SIG{body.name}"], script_only=body.script_only)
    return job_body(record, caller.deps.clock.now_ms())


def _check_bounds(engine: Engine, job: JobId, changes: JobChanges) -> None:
    """Raise when a job would get what its team may not ask for. The engine reports a tier that does not exist."""
    state, spec = engine.state, engine.record(job).spec
    is_known = changes.tier is None or changes.tier in state.snapshot.setting.tier_rank
    if is_known and (problem := change_beyond_bounds(spec, changes, state.snapshot.ledger.teams)) is not None:
        raise Refused(problem)


async def _changed(
    caller: Caller,
    job: str,
    action: str,
    because: Because | None,
    act: Callable[[Engine, JobId, int], bool],
    *,
    may_come_late: bool = False,
) -> Job:
    """Check the permission, make the change, and return the job after it."""
    known = (await changeable(caller, job, action)).id
    reason = "" if because is None else because.reason

    def acted(engine: Engine, now_ms: int) -> None:
        state = engine.record(known).state
        if not act(engine, known, now_ms) and state.is_final and not may_come_late:
            raise HasEnded(f"{known} has ended; nothing was changed")

    await change(caller, action, known, acted, reason=reason)
    return job_body(await visible(caller, known), caller.deps.clock.now_ms())
