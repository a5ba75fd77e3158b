"""Jobs: which there are, what each is doing, and why it waits."""

import asyncio
from heapq import merge
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from muster.access.permissions import Permission
from muster.access.principal import covers
from muster.api.asking import visible
from muster.api.gate import Caller, Needs
from muster.api.job_list import Room
from muster.api.lookup import single, spec_of, user_of
from muster.api.paging import cursor_of, number_place
from muster.api.rendering.events import event_body
from muster.api.rendering.jobs import job_body
from muster.api.rendering.outlooks import why_body
from muster.api.routes.answers import FOUND, errors
from muster.api.schemas.base import Page, Paging
from muster.api.schemas.events import LogEvent
from muster.api.schemas.jobs import Job, JobFilters, Why
from muster.core.explain import Explanation
from muster.engine.state import State
from muster.formats.wire import ID_CHARS
from muster.model import job as model
from muster.model.ids import JobId, TeamPath
from muster.model.limits import ESTIMATE_HORIZON_MS

router = APIRouter(tags=["jobs"])

JobPath = Annotated[str, Path(min_length=1, max_length=ID_CHARS, description="Its id.", examples=["job-7"])]
Sees = Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))]


@router.get("/v1/jobs", operation_id="list_jobs", summary="List jobs, newest first", responses=FOUND)
async def list_jobs(caller: Sees, filters: Annotated[JobFilters, Query()]) -> Page[Job]:
    """Jobs and arrays of the teams that you may see; with `array`, its tasks.

    A page may hold fewer jobs than asked for and still have a `next`: few of those that were looked at matched.
    """
    state, now_ms = caller.deps.control.state, caller.deps.clock.now_ms()
    if filters.array is not None:
        return _tasks(caller, state, filters, now_ms)
    seen: dict[TeamPath, bool] = {}

    def is_wanted(job: JobId) -> bool:
        spec = spec_of(state, job)
        if spec is None:
            return False
        if spec.team not in seen:
            seen[spec.team] = caller.sees(spec.team)
        return seen[spec.team] and _agrees(state, job, filters)

    found = caller.services.job_list.page(
        state,
        is_wanted,
        active=_only_active(filters),
        before=number_place("jobs", filters.cursor),
        limit=filters.limit,
    )
    items = [job_body(state, job, now_ms) for job in found.jobs]
    return Page(items=items, next=None if found.next is None else cursor_of("jobs", found.next))


@router.get("/v1/jobs/{job}", operation_id="show_job", summary="Show a job", responses=FOUND)
async def show_job(caller: Sees, job: JobPath) -> Job:
    """A job, a task of an array, or an array as a whole."""
    return job_body(caller.deps.control.state, visible(caller, job), caller.deps.clock.now_ms())


@router.get(
    "/v1/jobs/{job}/why",
    operation_id="explain_job",
    summary="Say why a job waits",
    responses=errors(401, 403, 404, 422, 429, 503),
)
async def explain_job(caller: Sees, job: JobPath) -> Why:
    """Every reason, what would help, its place in the queue, and when it may start."""
    state = caller.deps.control.state
    record = _spokesman(state, visible(caller, job))
    if record.state.is_final or record.state.holds_resources:
        return why_body(record, None, None, None)
    outlook = caller.services.outlook
    now_ms = caller.deps.clock.now_ms()
    explained = await outlook.explanation(record.id, now_ms)
    estimate = await outlook.estimate(record.id, now_ms) if _is_worth_a_look(explained, now_ms) else None
    return why_body(record, explained, estimate, state.snapshot.holds.get(record.id))


@router.get(
    "/v1/jobs/{job}/events", operation_id="list_job_events", summary="List what happened to a job", responses=FOUND
)
async def list_job_events(caller: Sees, job: JobPath, paging: Annotated[Paging, Query()]) -> Page[LogEvent]:
    """The job's part of the log, oldest first. Of a task, also what was said to its array."""
    known = visible(caller, job)
    after = number_place("events", paging.cursor) or 0
    state = caller.deps.control.state
    record = state.jobs.get(known)
    named = [known] if record is None or record.array_parent is None else [known, record.array_parent]
    pages = [await asyncio.to_thread(caller.deps.events.events_after, after, paging.limit + 1, each) for each in named]
    events = list(islice(merge(*pages, key=lambda each: each[0]), paging.limit + 1))
    conceal = caller.deps.settings.conceal
    items = [LogEvent(**event_body(version, event, state, conceal)) for version, event in events[: paging.limit]]
    is_last = len(events) <= paging.limit
    return Page(items=items, next=None if is_last else cursor_of("events", items[-1].version))


def _is_worth_a_look(explained: Explanation | None, now_ms: int) -> bool:
    """False for jobs that may not start, and for those that start later than playing the future forward looks."""
    if explained is None or explained.p50_ms is None:
        return False
    return explained.p50_ms <= now_ms + ESTIMATE_HORIZON_MS


def _spokesman(state: State, job: JobId) -> model.Job:
    """The job itself; of an array, the first task that waits, or else the first that has not ended."""
    if job not in state.arrays:
        return single(state, job)
    tasks = [state.jobs[task] for task in state.arrays[job].tasks]
    going = [task for task in tasks if not task.state.is_final]
    waiting = (task for task in going if not task.state.holds_resources)
    return next(waiting, going[0] if going else tasks[0])


def _tasks(caller: Caller, state: State, filters: JobFilters, now_ms: int) -> Page[Job]:
    array = visible(caller, filters.array or "")
    start = number_place("tasks", filters.cursor) or 0
    tasks = state.arrays[array].tasks if array in state.arrays else ()
    found = ((place, task) for place, task in enumerate(tasks[start:], start) if _agrees(state, task, filters))
    room = Room(state, filters.limit)
    items: list[Job] = []
    for _, task in found:
        items.append(job_body(state, task, now_ms))
        if not room.take(task):
            break
    following = next(found, None)
    return Page(items=items, next=None if following is None else cursor_of("tasks", following[0]))


def _only_active(filters: JobFilters) -> bool:
    return bool(filters.state) and all(
        each == "active" or (each != "ended" and not model.JobState(each).is_final) for each in filters.state
    )


def _agrees(state: State, job: JobId, filters: JobFilters) -> bool:
    spec = spec_of(state, job)
    if spec is None:
        return False
    is_wanted = (
        (filters.team is None or covers(TeamPath(filters.team), spec.team))
        and (filters.name is None or filters.name == spec.name)
        and (filters.tier is None or filters.tier == spec.tier)
        and (filters.user is None or filters.user == user_of(state, job))
    )
    return is_wanted and (not filters.state or _is_in(state.state_of(job), filters))


def _is_in(job_state: model.JobState | None, filters: JobFilters) -> bool:
    if job_state is None:
        return False
    return job_state in filters.state or ("ended" if job_state.is_final else "active") in filters.state
