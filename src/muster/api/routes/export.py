"""Ended jobs as a trace, to be replayed under another policy."""

import asyncio
import csv
import io
from collections.abc import AsyncGenerator, Iterator
from functools import cache
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from muster.access.permissions import Permission
from muster.api.gate import Caller, Needs
from muster.api.routes.error_responses import errors
from muster.api.streams.stream import Stream
from muster.core.order.run_times import run_ms
from muster.formats.traces.trace_csv import csv_rows
from muster.model.job import Job
from muster.model.resources import GPU_MILLI
from muster.model.trace import Trace, TraceJob
from muster.store.base import JobArchive

router = APIRouter(tags=["jobs"])

MEDIA_TYPE = "text/csv; charset=utf-8"
ROWS_AT_ONCE = 1_000


@router.get(
    "/v1/export",
    operation_id="export_jobs",
    summary="Export ended jobs as a trace",
    response_class=Response,
    responses={
        **errors(401, 403),
        200: {"description": "A trace.", "content": {"text/csv": {"schema": {"type": "string"}}}},
    },
)
async def export_jobs(caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))]) -> Response:
    """Jobs with GPUs that have run and ended, of the teams that you may see, for `muster simulate`."""
    rows = csv_rows(await asyncio.to_thread(_trace, caller, caller.deps.jobs))
    return Stream(_text(rows), media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})


def _trace(caller: Caller, archive: JobArchive) -> Trace:
    """All jobs that have run and that the caller may see. Runs on a thread, since there may be a million jobs."""
    sees = cache(caller.sees)
    ran = [
        job
        for job in archive.ended()
        if run_ms(job.spec, job.attained_gpu_ms) > 0 and job.spec.gang_gpu_milli > 0 and sees(job.spec.team)
    ]
    begin_ms = min((job.submitted_ms for job in ran), default=0)
    return Trace(name="export", jobs=tuple(_trace_job(job, begin_ms) for job in ran))


def _trace_job(job: Job, begin_ms: int) -> TraceJob:
    spec = job.spec
    return TraceJob(
        id=job.id,
        submit_ms=job.submitted_ms - begin_ms,
        run_ms=run_ms(spec, job.attained_gpu_ms),
        gpu_milli=_as_a_trace_says(spec.gang_gpu_milli),
        team=spec.team,
        user=job.user,
        name=spec.name,
        tier=spec.tier,
        priority=spec.priority,
        gpu_types=spec.roles[0].request.gpu_types,
        cpu_milli=sum(role.workers_min * role.request.cpu_milli for role in spec.roles),
        memory_bytes=sum(role.workers_min * role.request.memory_bytes for role in spec.roles),
        max_duration_ms=spec.max_duration_ms,
        status=job.state.value,
    )


async def _text(rows: Iterator[list[str]]) -> AsyncGenerator[bytes, None]:
    """The lines, a thousand at a time. Other requests may run in between."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for number, row in enumerate(rows, start=1):
        writer.writerow(row)
        if number % ROWS_AT_ONCE == 0:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
            await asyncio.sleep(0)
    yield buffer.getvalue().encode()


def _as_a_trace_says(gpu_milli: int) -> int:
    """A trace has one number for a gang: up to one GPU as it is, and more than one rounded up to whole GPUs."""
    return gpu_milli if gpu_milli <= GPU_MILLI else -(-gpu_milli // GPU_MILLI) * GPU_MILLI
