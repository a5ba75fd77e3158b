"""What the processes of a job are doing."""

import asyncio
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from muster.access.permissions import Permission
from muster.answers.jobs import RankStack, Stacks
from muster.api.authorized_changes import visible
from muster.api.gate import Caller, Needs
from muster.api.lookups.records import single
from muster.api.routes.error_responses import errors
from muster.api.routes.jobs.jobs import JobPath
from muster.live.watching.stack_files import STACK_CHARS, STACKS_S
from muster.model.errors import NotFound

router = APIRouter(tags=["logs"])


@router.get(
    "/v1/jobs/{job}/stacks",
    operation_id="show_stacks",
    summary="Show what the processes of a job are doing",
    responses=errors(401, 403, 404, 422, 429, 503),
)
async def show_stacks(
    caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))],
    job: JobPath,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000_000)] = None,
) -> Stacks:
    """The stacks of all ranks, captured now. With `attempt`, those that were captured when that attempt stood still."""
    record = single(await visible(caller, job))
    if attempt is not None:
        kept = await asyncio.to_thread(caller.deps.kept_stacks, record.id, attempt)
        if not kept:
            raise NotFound(f"no stacks are kept of attempt {attempt} of {job}: it did not stand still, or had none")
        return _body(record.id, attempt, kept)
    if not record.state.holds_resources:
        raise NotFound(f"{job} is {record.state} and has no processes; --attempt shows what an attempt did in a hang")
    caller.services.stacks.enter(caller.subject)
    try:
        found = await asyncio.to_thread(caller.deps.backend.stacks, record.id, STACKS_S)
    finally:
        caller.services.stacks.leave(caller.subject)
    if not found:
        raise NotFound(f"no process of {job} has said what it is doing: only those that use muster.train can tell")
    return _body(record.id, record.attempt, found)


def _body(job: str, attempt: int, stacks: Mapping[int, str]) -> Stacks:
    told = tuple(RankStack(rank=rank, stack=stack[:STACK_CHARS]) for rank, stack in sorted(stacks.items()))
    return Stacks(job=job, attempt=attempt, stacks=told)
