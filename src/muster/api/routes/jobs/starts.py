"""When all waiting jobs may start."""

from math import inf
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from muster.access.permissions import Permission
from muster.answers.jobs import WaitingStart
from muster.api.gate import Caller, Needs
from muster.api.lookups.estimating import EstimatedStart
from muster.api.rendering.estimates import starting_body
from muster.api.routes.error_responses import errors
from muster.api.routes.jobs.jobs import wanted_by
from muster.api.schemas.base import Page
from muster.api.schemas.jobs import StartFilters
from muster.model.job import JobState

router = APIRouter(tags=["jobs"])


@router.get(
    "/v1/starts",
    operation_id="list_starts",
    summary="Say when waiting jobs may start",
    responses=errors(401, 403, 422, 429, 503),
)
async def list_starts(
    caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))], filters: Annotated[StartFilters, Query()]
) -> Page[WaitingStart]:
    """When each queued job may start, the soonest first; jobs without an estimate last, in the order of submission.

    There is one page, as starts change from answer to answer. All are estimated together, so an answer may take some
    seconds. It serves all callers for a while.
    """
    told = await caller.services.explanations.estimates(caller.deps.clock.now_ms())
    view = caller.deps.control.view
    is_wanted = wanted_by(caller, filters)
    waiting = [job for job in view.jobs.values() if job.state is JobState.QUEUED and is_wanted(job)]
    if filters.array is not None:
        waiting = [job for job in waiting if job.array_parent == filters.array]
    waiting.sort(key=lambda job: (_p50_ms(told.get(job.id)), job.submitted_ms, job.id))
    items = [starting_body(job, told.get(job.id), view.promises.get(job.id)) for job in waiting[: filters.limit]]
    return Page(items=items, next=None)


def _p50_ms(told: EstimatedStart | None) -> float:
    return inf if told is None or told.start.p50_ms is None else told.start.p50_ms
