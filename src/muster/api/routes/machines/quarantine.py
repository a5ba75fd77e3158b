"""Quarantine: gangs that run on nodes although the server has not started them, and what to do with them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from muster.access.permissions import Permission
from muster.answers.nodes import QuarantinedGang
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.lookups.paging import cursor_of, text_place
from muster.api.rendering.workers import worker_answers
from muster.api.routes.error_responses import CHANGED, SEEN
from muster.api.schemas.base import Because, Page, Paging
from muster.engine.engine import Engine
from muster.formats.parts.wire import ID_CHARS
from muster.model.access import EVERY_TEAM
from muster.model.array import JobRecord
from muster.model.ids import JobId
from muster.model.machines.quarantine import FoundGang

router = APIRouter(tags=["nodes"])

JobPath = Annotated[str, Path(min_length=1, max_length=ID_CHARS, description="Its job.", examples=["job-7"])]
MayChange = Annotated[Caller, Depends(Needs(Permission.NODES_CHANGE))]


@router.get("/v1/quarantine", operation_id="list_quarantine", summary="List what is in quarantine", responses=SEEN)
async def list_quarantine(caller: MayChange, paging: Annotated[Paging, Query()]) -> Page[QuarantinedGang]:
    """Gangs that run on nodes although the server has not started them, by job and attempt. No job gets their GPUs."""
    found = sorted(_gangs(caller).items())
    after = text_place("quarantine", paging.cursor)
    rest = [each for each in found if after is None or _place(*each[0]) > after]
    shown = rest[: paging.limit]
    known = await caller.services.records.find_all([job for (job, _), _ in shown])
    items = [_body(job, attempt, parts, known.get(job)) for (job, attempt), parts in shown]
    is_last = len(shown) == len(rest)
    return Page(items=items, next=None if is_last else cursor_of("quarantine", _place(*shown[-1][0])))


@router.post(
    "/v1/quarantine/{job}/adopt", operation_id="adopt_quarantined", summary="Go on with a gang", responses=CHANGED
)
async def adopt_quarantined(caller: MayChange, job: JobPath, body: Because | None = None) -> None:
    """Let a job continue with its gang in quarantine. A job that the server no longer knew is restored."""
    name = JobId(job)
    await require(caller, Permission.NODES_CHANGE, EVERY_TEAM, action="quarantine.adopt", subject=name)

    def adopt(engine: Engine, now_ms: int) -> None:
        engine.adopt(name, now_ms, by=caller.name)

    await change(caller, "quarantine.adopt", name, adopt, reason="" if body is None else body.reason)


@router.post(
    "/v1/quarantine/{job}/kill", operation_id="kill_quarantined", summary="End what is in quarantine", responses=CHANGED
)
async def kill_quarantined(caller: MayChange, job: JobPath, body: Because | None = None) -> None:
    """End everything that a job has in quarantine. The GPUs are free once the nodes report that it has ended."""
    name = JobId(job)
    await require(caller, Permission.NODES_CHANGE, EVERY_TEAM, action="quarantine.kill", subject=name)

    def kill(engine: Engine, now_ms: int) -> None:
        engine.kill_quarantined(name, now_ms, by=caller.name)

    await change(caller, "quarantine.kill", name, kill, reason="" if body is None else body.reason)


def _gangs(caller: Caller) -> dict[tuple[JobId, int], list[FoundGang]]:
    found: dict[tuple[JobId, int], list[FoundGang]] = {}
    for gangs in caller.deps.control.view.quarantine.values():
        for gang in gangs:
            found.setdefault((gang.job, gang.attempt), []).append(gang)
    return found


def _place(job: JobId, attempt: int) -> str:
    return f"{job} {attempt:09}"


def _body(job: JobId, attempt: int, parts: list[FoundGang], known: JobRecord | None) -> QuarantinedGang:
    spec = next((part.spec for part in parts if part.spec is not None), None)
    workers = sorted((worker for part in parts for worker in part.workers), key=lambda worker: worker.rank)
    return QuarantinedGang(
        job=job,
        attempt=attempt,
        name=None if spec is None else spec.name,
        team=None if spec is None else spec.team,
        state=None if known is None else known.state.value,
        workers=worker_answers(tuple(workers)),
    )
