"""What workers printed: a part of it, or all of it as it is printed."""

import asyncio
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from muster.access.permissions import Permission
from muster.api.authorized_changes import visible
from muster.api.gate import Caller, Needs
from muster.api.lookups.records import single
from muster.api.routes.error_responses import errors
from muster.api.routes.jobs.jobs import JobPath
from muster.api.schemas.logs import LogRange
from muster.api.services import Services
from muster.api.streams.stream import Stream
from muster.backends.base import OutputPart
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.model.limits import LOG_CHUNK_BYTES

router = APIRouter(tags=["logs"])

MEDIA_TYPE = "application/octet-stream"
_INTEGER = {"schema": {"type": "integer"}}
_HEADERS = {
    "Muster-Log-Start": {"description": "Where this begins.", **_INTEGER},
    "Muster-Log-End": {"description": "Where to go on.", **_INTEGER},
    "Muster-Log-Attempt": {"description": "Whose it is.", **_INTEGER},
    "Muster-Log-Complete": {"description": "`true` when nothing comes after it.", "schema": {"type": "string"}},
}


@router.get(
    "/v1/jobs/{job}/logs",
    operation_id="read_log",
    summary="Read what a worker printed",
    response_class=Response,
    responses={
        **errors(401, 403, 404, 422, 429, 503),
        200: {
            "description": "The bytes as they were printed.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            "headers": _HEADERS,
        },
    },
)
async def read_log(
    caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))],
    job: JobPath,
    part: Annotated[LogRange, Query()],
) -> Response:
    """A part of what one worker printed. With `follow`, everything from there on until the worker has ended.

    A followed log ends after ten minutes in any case. To continue, ask again with the offset that you have reached.
    """
    record = single(await visible(caller, job))
    attempt = record.attempt if part.attempt is None else part.attempt
    if not 1 <= attempt <= record.attempt:
        wanted = "has not started yet" if not record.attempt else f"has had {record.attempt} attempts, counted from 1"
        raise NotFound(f"there is no log: {job} {wanted}")
    source = _Source(caller.services, record.id, attempt, part.rank)
    first = await source.read(part.offset, part.limit)
    headers = _headers(first, attempt)
    if not part.follow:
        return Response(first.data, media_type=MEDIA_TYPE, headers=headers)
    del headers["Muster-Log-End"], headers["Muster-Log-Complete"]
    caller.services.followers.enter(caller.subject)
    leave = partial(caller.services.followers.leave, caller.subject)
    followed = source.follow(first)
    return Stream(followed, media_type=MEDIA_TYPE, headers=headers, on_end=leave)


class _Source:
    """The log of one worker."""

    def __init__(self, services: Services, job: JobId, attempt: int, rank: int) -> None:
        self._services = services
        self._worker = (job, attempt, rank)

    async def read(self, offset: int, limit: int) -> OutputPart:
        return await asyncio.to_thread(self._services.deps.backend.read_output, *self._worker, offset, limit)

    async def follow(self, chunk: OutputPart) -> AsyncGenerator[bytes, None]:
        """The output from a chunk on, until the worker has ended, the server stops, or the time of a stream is over."""
        settings = self._services.deps.settings
        ends_s = time.monotonic() + settings.stream_s
        yield chunk.data
        while not chunk.is_complete and time.monotonic() < ends_s:
            if not chunk.data and await self._services.is_closing_within(settings.log_poll_s):
                return
            chunk = await self.read(chunk.end, LOG_CHUNK_BYTES)
            if chunk.data:
                yield chunk.data


def _headers(chunk: OutputPart, attempt: int) -> dict[str, str]:
    return {
        "Muster-Log-Start": str(chunk.start),
        "Muster-Log-End": str(chunk.end),
        "Muster-Log-Attempt": str(attempt),
        "Muster-Log-Complete": "true" if chunk.is_complete else "false",
    }
