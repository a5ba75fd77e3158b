"""Submitting jobs, submitting them again, and dry runs."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from starlette.requests import ClientDisconnect

from muster.access.permissions import Permission
from muster.answers.jobs import DryRun, Job
from muster.api.admission.entry import Entry, entered, given_of
from muster.api.authorized_changes import require, visible
from muster.api.gate import Caller, Needs
from muster.api.lookups.explanations import CANDIDATE
from muster.api.openapi import schema_of
from muster.api.parsing.submission import ReadSubmission, read_if_short
from muster.api.problems.handlers import WrittenProblem
from muster.api.rendering.effects import effect_answers
from muster.api.rendering.explanations import dry_run_body, start_of, victims_of
from muster.api.rendering.jobs import job_body
from muster.api.routes.error_responses import CHANGED, errors
from muster.api.routes.jobs.bundles import check_bundle, own_team
from muster.api.routes.jobs.jobs import JobPath
from muster.api.schemas.base import Because
from muster.api.schemas.job_file import job_file_schema
from muster.api.schemas.jobs import Submission
from muster.api.schemas.problems import Problem
from muster.core.lifecycle.dependencies import Fate, fate
from muster.core.pricing import cost
from muster.engine.engine import Submitted
from muster.formats.admission.profiles import profiles_document
from muster.live import door
from muster.live.inbox import Action
from muster.model.client_limits import ADMISSION_AGAIN
from muster.model.errors import InvalidInput, NeverRuns
from muster.model.ids import JobId
from muster.model.plan import ReasonCode
from muster.model.records import evolve
from muster.model.spec import JobSpec

router = APIRouter(tags=["jobs"])

Submits = Annotated[Caller, Depends(Needs(Permission.JOBS_SUBMIT))]
Key = Annotated[
    str, Header(alias="Idempotency-Key", max_length=200, description="Sending the same again under it is safe.")
]
JSON = "application/json"


@router.post(
    "/v1/jobs",
    operation_id="submit_job",
    summary="Submit a job",
    status_code=201,
    responses={
        **errors(401, 403, 409, 413, 422, 429, 503),
        200: {"model": Job | DryRun, "description": "The same request was made before, or it was a dry run."},
    },
    openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": schema_of(Submission)}}}},
)
async def submit_job(
    caller: Submits,
    request: Request,
    response: Response,
    key: Key = "",
    dry_run: Annotated[bool, Query(description="Decide, and change nothing.")] = False,
) -> Job | DryRun:
    """Submit a job. When the answer comes, the job is durable in the log."""
    read = await _read(caller, request, is_keyed=bool(key))
    spec = evolve(read.spec, team=own_team(caller, read.spec.team))
    await require(caller, Permission.JOBS_SUBMIT, spec.team, action="jobs.submit", subject=spec.team)
    await _check_dependencies(caller, spec)
    if dry_run:
        response.status_code = 200
        return await _tried(caller, await _entered(caller, spec, given_of(read.given)))
    await check_bundle(caller, spec.team, spec.bundle)

    def made(entry: Entry) -> Action[Submitted]:
        return lambda engine, now_ms: door.submit(
            engine,
            now_ms,
            caller.principal,
            entry.spec,
            held=read.held,
            key=key,
            fingerprint=read.fingerprint,
            judged_by=entry.rules,
        )

    earlier = Earlier(key=key, fingerprint=read.fingerprint)
    submitted = await _written(caller, "jobs.submit", spec, made, earlier, given_of(read.given))
    response.status_code = 201 if submitted.is_new else 200
    response.headers["Location"] = f"/v1/jobs/{submitted.job}"
    return await _shown(caller, submitted.job)


@router.get(
    "/v1/schema/job", operation_id="show_job_schema", summary="Show what a job file may say", responses=errors(401)
)
async def show_job_schema(_caller: Annotated[Caller, Depends(Needs(None))]) -> dict[str, Any]:
    """The job file as JSON Schema, for editors. What the server reads is what counts."""
    return job_file_schema()


@router.post(
    "/v1/jobs/{job}/retry",
    operation_id="retry_job",
    summary="Submit a job once more",
    status_code=201,
    responses={**CHANGED, 200: {"model": Job, "description": "The same request was made before."}},
)
async def retry_job(
    caller: Submits, job: JobPath, response: Response, body: Because | None = None, key: Key = ""
) -> Job:
    """Submit a job that has ended, or the failed tasks of an array, as a new job."""
    record = await visible(caller, job)
    known, team = record.id, record.spec.team
    await require(caller, Permission.JOBS_SUBMIT, team, action="jobs.retry", subject=known)
    await check_bundle(caller, team, record.spec.bundle)

    def made(entry: Entry) -> Action[Submitted]:
        return lambda engine, now_ms: door.submit_again(
            engine,
            now_ms,
            caller.principal,
            known,
            reason="" if body is None else body.reason,
            key=key,
            spec=entry.spec,
            judged_by=entry.rules,
        )

    earlier = Earlier(key=key, fingerprint=f"retry of {known}")
    submitted = await _written(caller, "jobs.retry", record.spec, made, earlier)
    response.status_code = 201 if submitted.is_new else 200
    return await _shown(caller, submitted.job)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """By what the same request is known if it was made before."""

    key: str
    fingerprint: str


async def _entered(caller: Caller, spec: JobSpec, given: dict[str, Any] | None = None) -> Entry:
    """What admission rules make of a job."""
    rules, now_ms = caller.deps.control.view.rules, caller.deps.clock.now_ms()
    return await entered(caller.services.judges, rules, spec, user=caller.name, now_ms=now_ms, given=given)


async def _written(
    caller: Caller,
    action: str,
    spec: JobSpec,
    made: Callable[[Entry], Action[Submitted]],
    earlier: Earlier,
    given: dict[str, Any] | None = None,
) -> Submitted:
    """Ask the rules about a job, and have it written. When the rules changed meanwhile, they are asked again."""
    for _ in range(ADMISSION_AGAIN):
        entry = await _entered(caller, spec, given)
        if entry.denial is not None:
            return await _same_as_before(caller, action, entry, earlier)
        with suppress(door.RulesMoved):
            return await caller.services.ask(made(entry))
    raise door.RulesMoved("the admission rules change too often; submit the job again in a moment")


async def _same_as_before(caller: Caller, action: str, entry: Entry, earlier: Earlier) -> Submitted:
    """The job of the same request, which rules may have allowed then. Raises `Denied` when there is none."""
    if earlier.key:
        known = await caller.services.ask(
            lambda engine, _: engine.submitted_before(caller.name, earlier.key, earlier.fingerprint)
        )
        if known is not None:
            return known
    refusal = entry.refusal()
    await caller.services.note_denial(caller.principal, action, f"rule {refusal.rule}")
    raise refusal


async def _read(caller: Caller, request: Request, *, is_keyed: bool) -> ReadSubmission:
    """The submission in the body. The framework would read long ones on the event loop, where all requests wait."""
    if not _is_json(request.headers.get("content-type", "")):
        raise InvalidInput(f"a submission is sent as {JSON}; say so in Content-Type")
    try:
        body = await request.body()
    except ClientDisconnect:
        raise InvalidInput("the connection ended before the submission did") from None
    profiles = profiles_document(caller.deps.control.view.rules.profiles)
    read = read_if_short(body, profiles, is_keyed=is_keyed)
    if read is None:
        read = await caller.services.readers.read(caller.subject, body, profiles)
    if isinstance(read, Problem):
        raise WrittenProblem(read)
    return read


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == JSON or (kind.startswith("application/") and kind.endswith("+json"))


async def _shown(caller: Caller, job: JobId) -> Job:
    """A job that was just submitted."""
    record = await caller.services.records.find(job)
    assert record is not None  # It is durable, so it is there.
    return job_body(record, caller.deps.clock.now_ms())


async def _check_dependencies(caller: Caller, spec: JobSpec) -> None:
    """Raise when a dependency does not exist, or when the caller may not see it."""
    known = await caller.services.records.find_all([each.job for each in spec.depends_on])
    for dependency in spec.depends_on:
        record = known.get(dependency.job)
        if record is None or not caller.sees(record.spec.team):
            message = f"depends on {dependency.job}, which does not exist; submit that job first"
            raise NeverRuns(ReasonCode.DEPENDENCY, message)


async def _tried(caller: Caller, entry: Entry) -> DryRun:
    if entry.denial is not None:
        raise entry.refusal()
    view, spec = caller.deps.control.view, entry.spec
    door.check_team(spec, view.rules)
    explanations = caller.services.explanations
    tried = await explanations.tried_job(
        evolve(spec, array=None, depends_on=()), await _unmet(caller, spec), caller.name
    )
    for refusal in tried.decision.rejected:
        if refusal.job == CANDIDATE:
            raise NeverRuns(refusal.code, refusal.message)
    victims = [view.running[job] for job in victims_of(tried) if job in view.running]
    seen = [job for job in victims if caller.sees(job.spec.team)]
    start = start_of(tried)
    price = cost(spec, view.rules, view.nodes, () if start is None else start.workers)
    return dry_run_body(tried, price, seen, len(victims) - len(seen), effect_answers(spec.effects))


async def _unmet(caller: Caller, spec: JobSpec) -> tuple[JobId, ...]:
    known = await caller.services.records.find_all([each.job for each in spec.depends_on])
    found = ((each, known.get(each.job)) for each in spec.depends_on)
    return tuple(
        each.job for each, record in found if record is not None and fate(record.state, each.when) is not Fate.MET
    )
