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
from muster.api.rendering.traces import has_run_on_gpus, trace_job
from muster.api.routes.error_responses import errors
from muster.api.streams.stream import Stream
from muster.formats.traces.trace_csv import csv_rows
from muster.model.trace import Trace
from muster.store.base import JobArchive

router = APIRouter(tags=["jobs"])

MEDIA_TYPE = "text/csv; charset=utf-8"
ROWS_AT_ONCE = 1_000
LEFT_OUT = "Muster-Left-Out"


@router.get(
    "/v1/export",
    operation_id="export_jobs",
    summary="Export ended jobs as a trace",
    response_class=Response,
    responses={
        **errors(401, 403),
        200: {
            "description": "A trace.",
            "content": {"text/csv": {"schema": {"type": "string"}}},
            "headers": {LEFT_OUT: {"description": "Ended jobs that are not in it.", "schema": {"type": "integer"}}},
        },
    },
)
async def export_jobs(caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))]) -> Response:
    """Jobs with GPUs that have run and ended, of the teams that you may see, for `muster simulate`."""
    trace = await asyncio.to_thread(_trace, caller, caller.deps.jobs)
    headers = {"Cache-Control": "no-store", LEFT_OUT: str(trace.skipped)}
    return Stream(_text(csv_rows(trace)), media_type=MEDIA_TYPE, headers=headers)


def _trace(caller: Caller, archive: JobArchive) -> Trace:
    """All jobs that have run and that the caller may see. Runs on a thread, since there may be a million jobs."""
    sees = cache(caller.sees)
    seen = [job for job in archive.ended() if sees(job.spec.team)]
    ran = [job for job in seen if has_run_on_gpus(job)]
    begin_ms = min((job.submitted_ms for job in ran), default=0)
    jobs = tuple(trace_job(job, begin_ms) for job in ran)
    return Trace(name="export", jobs=jobs, skipped=len(seen) - len(ran))


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
