"""The steps of batch jobs."""

import asyncio

from fastapi import APIRouter

from muster.answers.batch_steps import BatchStep
from muster.api.authorized_changes import visible
from muster.api.lookups.records import single
from muster.api.rendering.times import moment_of
from muster.api.routes.error_responses import FOUND
from muster.api.routes.jobs.jobs import JobPath, Sees
from muster.api.schemas.base import Page

router = APIRouter(tags=["jobs"])


@router.get("/v1/jobs/{job}/steps", operation_id="list_steps", summary="List the steps of a batch job", responses=FOUND)
async def list_steps(caller: Sees, job: JobPath) -> Page[BatchStep]:
    """The script and what `srun` started in it, of the last attempt, as they began. Empty for jobs of other kinds."""
    record = single(await visible(caller, job))
    found = await asyncio.to_thread(caller.deps.backend.batch_steps, record.id, record.attempt)
    items = [
        BatchStep(
            step=each.step,
            name=each.name,
            tasks=each.tasks,
            cpus=each.cpus,
            gpus=each.gpus,
            nodes=each.nodes,
            started=moment_of(each.began_ms),
            ended=moment_of(each.ended_ms),
            exit_code=each.code,
            max_rss_bytes=each.max_rss_bytes,
            max_rss_task=each.max_rss_task,
            max_rss_node=each.max_rss_node or None,
            cpu_s=None if each.cpu_ms is None else each.cpu_ms / 1000,
        )
        for each in found
    ]
    return Page(items=items, next=None)
