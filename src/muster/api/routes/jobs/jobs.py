"""Jobs: lists, states, events, and why a job waits."""

import asyncio
from collections.abc import Callable, Sequence
from heapq import merge
from itertools import islice
from math import inf
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from muster.access.permissions import Permission
from muster.access.principal import teams_with
from muster.answers.jobs import Job, Why
from muster.api.authorized_changes import visible
from muster.api.gate import Caller, Needs
from muster.api.lookups.job_list import PageRoom, spec_chars
from muster.api.lookups.paging import cursor_of, number_place
from muster.api.rendering.events import event_body
from muster.api.rendering.explanations import why_body
from muster.api.rendering.jobs import job_body, progress_of
from muster.api.rendering.nodes import ailments
from muster.api.routes.error_responses import FOUND, errors
from muster.api.schemas.base import Page, Paging
from muster.api.schemas.events import LogEvent
from muster.api.schemas.jobs import JobFilters, StartFilters
from muster.core.explaining.explain import Explanation
from muster.core.lifecycle.arrays import tasks_of
from muster.formats.jobs.job_document import job_document
from muster.formats.parts.wire import ID_CHARS
from muster.formats.text.yaml_out import yaml_of
from muster.live.publishing.feed import Published
from muster.model import job as model
from muster.model.access import covers
from muster.model.array import ArrayRecord, JobRecord
from muster.model.client_limits import PAGE_SPEC_CHARS
from muster.model.ids import JobId, TeamPath, TierName
from muster.model.limits import ESTIMATE_HORIZON_MS
from muster.store.base import JobFilter
from muster.views.view import View

router = APIRouter(tags=["jobs"])

YAML = "application/yaml"

TASKS_AT_ONCE = 500
"""How many tasks of an array are looked up together; fewer where their job file is long."""

LOOKS_PER_PAGE = 16
"""How often tasks are looked up for one page. Where few of them match, the page ends early and has a `next`."""

JobPath = Annotated[str, Path(min_length=1, max_length=ID_CHARS, description="Its id.", examples=["job-7"])]
Sees = Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))]


@router.get("/v1/jobs", operation_id="list_jobs", summary="List jobs, newest first", responses=FOUND)
async def list_jobs(caller: Sees, filters: Annotated[JobFilters, Query()]) -> Page[Job]:
    """Jobs and arrays of the teams that you may see; with `array`, the tasks of that array; with `id`, those jobs.

    A page may hold fewer jobs than you asked for and still have a `next`, if few jobs matched or job files are long.
    """
    if filters.array is not None:
        return await _tasks(caller, filters)
    if filters.id:
        return await _listed(caller, filters, tuple(map(JobId, filters.id)), len(filters.id))
    before, jobs = number_place("jobs", filters.cursor), caller.services.job_list
    if _only_active(filters):
        wanted = wanted_by(caller, filters)
        found = jobs.active(wanted, before=before, limit=filters.limit, is_brief=filters.brief)
    else:
        found = await jobs.any(_archived(caller, filters), before=before, limit=filters.limit, is_brief=filters.brief)
    now_ms = caller.deps.clock.now_ms()
    items = [job_body(job, now_ms, is_brief=filters.brief) for job in found.jobs]
    return Page(items=items, next=None if found.next is None else cursor_of("jobs", found.next))


@router.get("/v1/jobs/{job}", operation_id="show_job", summary="Show a job", responses=FOUND)
async def show_job(caller: Sees, job: JobPath) -> Job:
    """A job, a task of an array, or an array as a whole."""
    record = await visible(caller, job)
    deps = caller.deps
    now_ms = deps.clock.now_ms()
    no_larger = await caller.services.explanations.why_no_larger(record, now_ms)
    return job_body(
        record, now_ms, progress_of(record, deps.progress(record.id)), deps.last_output_ms(record.id), no_larger
    )


@router.get(
    "/v1/jobs/{job}/file",
    operation_id="show_job_file",
    summary="Show the file of a job",
    response_class=Response,
    responses={
        **FOUND,
        200: {"description": "The job file as YAML.", "content": {YAML: {"schema": {"type": "object"}}}},
    },
)
async def show_job_file(caller: Sees, job: JobPath) -> Response:
    """The job file as Muster has read it, without what has its default. Submitted again, it is the same job."""
    record = await visible(caller, job)
    return Response(yaml_of(job_document(record.spec)), media_type=YAML)


@router.get(
    "/v1/jobs/{job}/why",
    operation_id="explain_job",
    summary="Say why a job waits",
    responses=errors(401, 403, 404, 422, 429, 503),
)
async def explain_job(caller: Sees, job: JobPath) -> Why:
    """All reasons why the job waits, what would help, its place in the queue, and when it may start."""
    found = await visible(caller, job)
    now_ms = caller.deps.clock.now_ms()
    record = _spokesman(caller.deps.control.view, found)
    if isinstance(record, ArrayRecord) or record.state.is_final or record.state.holds_resources:
        return why_body(record, now_ms)
    explanations = caller.services.explanations
    explained = await explanations.explanation(record.id, now_ms)
    estimate = None
    if _only_its_time_has_to_come(record, now_ms):
        estimate = await explanations.early_estimate(record, now_ms)
    elif _is_worth_a_look(explained, now_ms):
        estimate = await explanations.estimate(record.id, now_ms)
    view = caller.deps.control.view
    told = ailments(view, caller.deps.settings.conceal)
    promise = view.promises.get(record.id)
    place = explanations.place(record.id, None if estimate is None else estimate.start.p50_ms)
    return why_body(record, now_ms, explained, estimate, promise, told, place)


@router.get(
    "/v1/jobs/{job}/events", operation_id="list_job_events", summary="List what happened to a job", responses=FOUND
)
async def list_job_events(caller: Sees, job: JobPath, paging: Annotated[Paging, Query()]) -> Page[LogEvent]:
    """The events of the job, oldest first. For a task, also the events of its array."""
    record = await visible(caller, job)
    after = number_place("events", paging.cursor) or 0
    array = record.array_parent if isinstance(record, model.Job) else None
    named = [record.id] if array is None else [record.id, array]
    pages = [await asyncio.to_thread(caller.deps.events.events_after, after, paging.limit + 1, each) for each in named]
    events = list(islice(merge(*pages, key=lambda each: each[0]), paging.limit + 1))
    conceal = caller.deps.settings.conceal
    owned = [(version, Published(event, record.spec.team, record.user)) for version, event in events[: paging.limit]]
    items = [LogEvent(**event_body(version, published, conceal)) for version, published in owned]
    is_last = len(events) <= paging.limit
    return Page(items=items, next=None if is_last else cursor_of("events", items[-1].version))


def _is_worth_a_look(explained: Explanation | None, now_ms: int) -> bool:
    """False for jobs that may not start, and for jobs that start later than estimates look ahead."""
    if explained is None or explained.p50_ms is None:
        return False
    return explained.p50_ms <= now_ms + ESTIMATE_HORIZON_MS


def _only_its_time_has_to_come(job: model.Job, now_ms: int) -> bool:
    """True for a job that nothing but its `begin` keeps out of the queue, if estimates look that far ahead."""
    begins_ms = job.spec.begin.begins_ms(job.submitted_ms)
    return now_ms < begins_ms <= now_ms + ESTIMATE_HORIZON_MS and not (job.held or job.unmet or job.awaits_turn)


def _spokesman(view: View, record: JobRecord) -> JobRecord:
    """The job itself; for an active array, the first task that waits, or else the first task that has not ended."""
    if not isinstance(record, ArrayRecord):
        return record
    tasks = (view.jobs.get(task) for task in tasks_of(record))
    going = [task for task in tasks if task is not None and not task.state.is_final]
    waiting = (task for task in going if not task.state.holds_resources)
    return next(waiting, going[0] if going else record)


async def _tasks(caller: Caller, filters: JobFilters) -> Page[Job]:
    """The tasks of an array, by index."""
    array = await visible(caller, filters.array or "")
    tasks = tasks_of(array) if isinstance(array, ArrayRecord) else ()
    chars = 0 if filters.brief else spec_chars(array.spec)
    return await _listed(caller, filters, tasks, min(TASKS_AT_ONCE, 1 + PAGE_SPEC_CHARS // max(chars, 1)))


async def _listed(caller: Caller, filters: JobFilters, named: Sequence[JobId], at_once: int) -> Page[Job]:
    """Those of the named jobs that match the filters and that the caller may see, in the given order."""
    start = number_place("tasks", filters.cursor) or 0
    is_wanted = wanted_by(caller, filters)
    room, items = PageRoom(filters.limit, is_brief=filters.brief), list[Job]()
    now_ms = caller.deps.clock.now_ms()
    last = min(start + at_once * LOOKS_PER_PAGE, len(named))
    for begin in range(start, last, at_once):
        found = await caller.services.records.find_all(named[begin : begin + at_once])
        for place, job in enumerate(named[begin : begin + at_once], start=begin + 1):
            if job in found and is_wanted(found[job]):
                items.append(job_body(found[job], now_ms, is_brief=filters.brief))
                if not room.take(found[job]):
                    return Page(items=items, next=cursor_of("tasks", place) if place < len(named) else None)
    return Page(items=items, next=cursor_of("tasks", last) if last < len(named) else None)


def wanted_by(caller: Caller, filters: StartFilters) -> Callable[[JobRecord], bool]:
    """A function that is true for jobs that match the filters and that the caller may see."""
    seen: dict[TeamPath, bool] = {}

    def is_wanted(job: JobRecord) -> bool:
        team = job.spec.team
        if team not in seen:
            seen[team] = caller.sees(team)
        return seen[team] and _agrees(job, filters)

    return is_wanted


def _archived(caller: Caller, filters: JobFilters) -> JobFilter:
    """The same condition as a filter for the archive."""
    return JobFilter(
        states=tuple(state for state in model.JobState if _is_in(state, filters)) if filters.state else (),
        teams=teams_with(caller.principal, Permission.JOBS_SEE),
        team=None if filters.team is None else TeamPath(filters.team),
        user=filters.user,
        name=filters.name,
        tier=None if filters.tier is None else TierName(filters.tier),
        from_ms=filters.since_ms,
        until_ms=filters.until_ms,
    )


def _only_active(filters: JobFilters) -> bool:
    return bool(filters.state) and all(
        each == "active" or (each != "ended" and not model.JobState(each).is_final) for each in filters.state
    )


def _agrees(job: JobRecord, filters: StartFilters) -> bool:
    spec = job.spec
    is_wanted = (
        (filters.team is None or covers(TeamPath(filters.team), spec.team))
        and (filters.name is None or filters.name == spec.name)
        and (filters.tier is None or filters.tier == spec.tier)
        and (filters.user is None or filters.user == job.user)
    )
    is_timely = (filters.since_ms or 0) <= job.submitted_ms < (filters.until_ms or inf)
    is_in_state = not isinstance(filters, JobFilters) or not filters.state or _is_in(job.state, filters)
    return is_wanted and is_timely and is_in_state


def _is_in(job_state: model.JobState, filters: JobFilters) -> bool:
    return job_state in filters.state or ("ended" if job_state.is_final else "active") in filters.state
