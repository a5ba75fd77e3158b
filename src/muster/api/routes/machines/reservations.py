"""Reservations: nodes that are set aside for a team, a user or nobody, for a time."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from muster.access.permissions import Permission
from muster.answers.nodes import Reservation
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.lookups.paging import cursor_of, text_place
from muster.api.rendering.nodes import reservation_body
from muster.api.routes.error_responses import CHANGED, SEEN
from muster.api.schemas.base import Because, Page, Paging
from muster.api.schemas.reservations import ReservationWanted
from muster.engine.engine import Engine
from muster.formats.parts.wire import ID_CHARS
from muster.formats.text import ranges, units
from muster.live.door import check_team_exists
from muster.model.access import EVERY_TEAM
from muster.model.errors import InvalidInput, NotFound
from muster.model.ids import NodeName, TeamPath
from muster.model.machines import reservation as model

router = APIRouter(tags=["nodes"])

NamePath = Annotated[str, Path(min_length=1, max_length=ID_CHARS, description="Its name.", examples=["firmware"])]
Sees = Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]
MayChange = Annotated[Caller, Depends(Needs(Permission.NODES_CHANGE))]


@router.get("/v1/reservations", operation_id="list_reservations", summary="List reservations", responses=SEEN)
async def list_reservations(caller: Sees, paging: Annotated[Paging, Query()]) -> Page[Reservation]:
    """All reservations that are not over, by name."""
    view = caller.deps.control.view
    after = text_place("reservations", paging.cursor)
    rest = [each for each in view.reservations if after is None or each.name > after]
    shown = rest[: paging.limit]
    items = [reservation_body(view, each, caller.sees) for each in shown]
    is_last = len(shown) == len(rest)
    return Page(items=items, next=None if is_last else cursor_of("reservations", shown[-1].name))


@router.post("/v1/reservations", operation_id="create_reservation", summary="Set nodes aside", responses=CHANGED)
async def create_reservation(caller: MayChange, body: ReservationWanted) -> Reservation:
    """Set nodes aside for a time.

    From its start to its end only jobs of the team or the user run there, or none. No other job starts there that could
    run on into that time. Jobs that run there already and may, are told to leave when it starts: the answer names them.
    """
    name = body.name
    await require(caller, Permission.NODES_CHANGE, EVERY_TEAM, action="reservations.create", subject=name)
    nodes = _nodes(body.nodes)

    def reserve(engine: Engine, now_ms: int) -> None:
        if body.team:
            check_team_exists(TeamPath(body.team), engine.rules)
        start_ms = _start_ms(body.start, now_ms)
        wanted = model.Reservation(
            name=name,
            nodes=nodes,
            from_ms=start_ms,
            to_ms=_moment_ms("end", body.end, start_ms),
            team=TeamPath(body.team),
            user=body.user,
            because=body.reason,
        )
        engine.setting_aside.reserve(wanted, now_ms, by=caller.name)

    more = {"nodes": ranges.node_ranges(nodes), "start": body.start, "end": body.end}
    holder = {key: value for key, value in (("team", body.team), ("user", body.user)) if value}
    await change(caller, "reservations.create", name, reserve, reason=body.reason, **more, **holder)
    return _shown(caller, name)


@router.post(
    "/v1/reservations/{name}/remove", operation_id="remove_reservation", summary="Take it back", responses=CHANGED
)
async def remove_reservation(caller: MayChange, name: NamePath, body: Because | None = None) -> None:
    """Let all jobs use the nodes again."""
    reason = "" if body is None else body.reason
    await require(caller, Permission.NODES_CHANGE, EVERY_TEAM, action="reservations.remove", subject=name)

    def remove(engine: Engine, now_ms: int) -> None:
        engine.setting_aside.remove(name, now_ms, by=caller.name, because=reason)

    await change(caller, "reservations.remove", name, remove, reason=reason)


def _nodes(named: list[str]) -> tuple[NodeName, ...]:
    try:
        words = [word for each in named for word in ranges.comma_separated(each)]
        return tuple(dict.fromkeys(NodeName(name) for word in words for name in ranges.node_names(word)))
    except units.BadValue as error:
        raise InvalidInput(f"nodes: {error.problem}") from None


def _start_ms(text: str, now_ms: int) -> int:
    return now_ms if text.strip() == "now" else _moment_ms("start", text, now_ms)


def _moment_ms(key: str, text: str, since_ms: int) -> int:
    """A moment, or a length of time after another moment."""
    try:
        return units.moment_ms(text, since_ms)
    except units.BadValue as error:
        raise InvalidInput(f"{key}: {error.problem}") from None


def _shown(caller: Caller, name: str) -> Reservation:
    view = caller.deps.control.view
    found = next((each for each in view.reservations if each.name == name), None)
    if found is None:
        raise NotFound(f"there is no reservation {name}")
    return reservation_body(view, found, caller.sees)
