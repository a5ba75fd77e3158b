"""Events as they happen, as server-sent events."""

from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from muster.access.permissions import Permission
from muster.access.principal import teams_with
from muster.api.authorized_changes import visible
from muster.api.gate import Caller, Needs
from muster.api.routes.error_responses import errors
from muster.api.schemas.events import EventFilters
from muster.api.streams.hub import Hub, Watched
from muster.api.streams.stream import Stream
from muster.model.ids import TeamPath

router = APIRouter(tags=["events"])

MEDIA_TYPE = "text/event-stream"
_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "The version."},
        "event": {"type": "string", "description": "The kind."},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/LogEvent"},
        },
    },
}
_HEARTBEAT = b": still here\n\n"


@router.get(
    "/v1/events",
    operation_id="watch_events",
    summary="Watch what happens",
    response_class=Response,
    responses={
        **errors(401, 403, 404, 422, 429, 503),
        200: {"description": "Events as they happen.", "content": {MEDIA_TYPE: {"schema": _EVENT}}},
    },
)
async def watch_events(
    caller: Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))],
    filters: Annotated[EventFilters, Query()],
    last_event_id: Annotated[str, Header(max_length=20, description="Resume behind this version.")] = "",
) -> Response:
    """All events that are written to the log from now on, or after a version, as far as you may see them.

    `id` is the version, `event` the kind, `data` a `LogEvent`. After 15 seconds without an event a comment is sent. A
    client that is too slow is disconnected. Resume with `Last-Event-ID`.
    """
    view = Watched(
        teams=teams_with(caller.principal, Permission.JOBS_SEE),
        team=None if filters.team is None else TeamPath(filters.team),
        job=None if filters.job is None else (await visible(caller, filters.job)).id,
    )
    is_number = last_event_id.isascii() and last_event_id.isdigit()
    after = int(last_event_id) if is_number else filters.after
    hub = caller.services.hub
    hub.places.enter(caller.subject)
    leave = partial(hub.places.leave, caller.subject)
    return Stream(_frames(hub, view, after), media_type=MEDIA_TYPE, headers=_HEADERS, on_end=leave)


_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def _frames(hub: Hub, view: Watched, after: int | None) -> AsyncGenerator[bytes, None]:
    yield b": welcome\n\n"
    async for chunk in hub.watch(view, after):
        yield chunk or _HEARTBEAT
