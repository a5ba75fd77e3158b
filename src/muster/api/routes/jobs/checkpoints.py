"""What a job has saved: listing it, verifying its files, and removing a checkpoint."""

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Path

from muster.access.permissions import Permission
from muster.answers.checkpoints import Checkpoint
from muster.api.authorized_changes import change, changeable, visible
from muster.api.gate import Caller, Needs
from muster.api.lookups.records import single
from muster.api.rendering.checkpoints import checkpoint_body, stored_body
from muster.api.routes.error_responses import CHANGED, FOUND
from muster.api.routes.jobs.jobs import JobPath
from muster.api.schemas.base import Page
from muster.api.schemas.checkpoints import WhichStep
from muster.backends.base import FoundCheckpoint
from muster.core.lifecycle.checkpoints import is_being_restored, is_only_good
from muster.core.lifecycle.desired import run_id
from muster.engine.engine import Engine
from muster.model.errors import Conflict, NotFound, Unavailable
from muster.model.events import CheckpointRemoved
from muster.model.job import Job
from muster.train.store.steps import STEP_MOST

router = APIRouter(tags=["checkpoints"])

StepPath = Annotated[int, Path(ge=0, le=STEP_MOST, description="The training step.", examples=[1200])]
MayChange = Annotated[Caller, Depends(Needs(Permission.JOBS_CHANGE))]


@router.get(
    "/v1/jobs/{job}/checkpoints", operation_id="list_checkpoints", summary="List what a job has saved", responses=FOUND
)
async def list_checkpoints(
    caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))], job: JobPath
) -> Page[Checkpoint]:
    """The checkpoints of a job that saves with `muster.train`, oldest first.

    Of a job that has ended, those that are in durable storage now. While the storage cannot be reached, those that
    should be there; `unread` says why.
    """
    record = single(await visible(caller, job))
    present = [each for each in record.checkpoints if not each.is_removed]
    if not record.state.is_final:
        return Page(items=[checkpoint_body(each, record) for each in present], next=None)
    try:
        found = await _stored(caller, record)
    except Unavailable as error:
        known = [checkpoint_body(each, record, unread=str(error)) for each in present if each.is_durable]
        if not known:
            raise
        return Page(items=known, next=None)
    items = [stored_body(each, record) for each in found]
    if unread := next((each.unread for each in items if each.unread), None):
        steps = {each.step for each in items}
        missing = [each for each in present if each.is_durable and each.step not in steps]
        items += [checkpoint_body(each, record, unread=unread) for each in missing]
    return Page(items=sorted(items, key=lambda each: each.step), next=None)


@router.post(
    "/v1/jobs/{job}/checkpoints/verify",
    operation_id="verify_checkpoints",
    summary="Verify what a job has saved",
    responses=CHANGED,
)
async def verify_checkpoints(caller: MayChange, job: JobPath, body: WhichStep | None = None) -> Page[Checkpoint]:
    """Read all files of one checkpoint, or of all, and compare them with their checksums. This can take minutes."""
    record = single(await changeable(caller, job, "checkpoints.verify"))
    step = None if body is None else body.step
    found = await _stored(caller, record, step=step, verify=True)
    if step is not None and not found:
        raise NotFound(f"{job} has no checkpoint of step {step}; `muster checkpoints ls {job}` lists what it has")
    return Page(items=[stored_body(each, record) for each in found], next=None)


@router.delete(
    "/v1/jobs/{job}/checkpoints/{step:int}",
    operation_id="remove_checkpoint",
    summary="Remove a checkpoint",
    status_code=204,
    responses=CHANGED,
)
async def remove_checkpoint(caller: MayChange, job: JobPath, step: StepPath) -> None:
    """Remove the files of one checkpoint everywhere. The only good one of a job that goes on stays."""
    record = single(await changeable(caller, job, "checkpoints.remove"))

    def forgotten(engine: Engine, now_ms: int) -> bool:
        if record.state.is_final:
            return False
        if is_only_good(engine.job(record.id), step):
            raise Conflict(f"step {step} is the only good checkpoint of {job}, which goes on; cancel the job first")
        if is_being_restored(engine.job(record.id), step):
            raise Conflict(f"{job} is being started from step {step}; try again once it runs")
        return bool(engine.observe(CheckpointRemoved(at_ms=now_ms, job=record.id, step=step, by=caller.actor)))

    if not any(each.step == step for each in record.checkpoints) and not await _stored(caller, record, step=step):
        raise NotFound(f"{job} has no checkpoint of step {step}; `muster checkpoints ls {job}` lists what it has")
    await change(caller, "checkpoints.remove", record.id, forgotten, checkpoint=str(step))
    backend = caller.deps.backend
    await asyncio.to_thread(partial(backend.remove_checkpoint, record.spec, run_id(record), step))


async def _stored(
    caller: Caller, record: Job, *, step: int | None = None, verify: bool = False
) -> tuple[FoundCheckpoint, ...]:
    """What is in storage. It is read on a separate thread, because that may take long."""
    read = partial(caller.deps.backend.stored_checkpoints, record.spec, run_id(record), step=step, verify=verify)
    return await asyncio.to_thread(read)
