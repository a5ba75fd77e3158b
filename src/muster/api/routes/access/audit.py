"""Who did what, and whether the audit is unchanged."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import TypeAdapter
from starlette.responses import Response

from muster.access.permissions import Permission
from muster.answers.access import AuditEntry
from muster.api.gate import Caller, Needs
from muster.api.lookups.paging import cursor_of, number_place
from muster.api.rendering.access import audit_body, verdict_body
from muster.api.routes.error_responses import SEEN, errors
from muster.api.schemas.access import AuditChoice, AuditFilters, AuditHead, NotedHead, Verdict
from muster.api.schemas.base import Page
from muster.api.streams.stream import Stream
from muster.model.errors import InvalidInput
from muster.store.base import AuditFilter, AuditTrail

router = APIRouter(tags=["access"])

OLDEST_FIRST, NEWEST_FIRST = "audit", "audit-latest"
"""What cursors of the two orders are called: one of them means nothing in the other."""

MEDIA_TYPE = "application/x-ndjson"
EXPORTED_AT_ONCE = 1_000

_ENTRY = TypeAdapter(AuditEntry)

MaySee = Annotated[Caller, Depends(Needs(Permission.AUDIT_SEE))]


@router.get("/v1/audit", operation_id="list_audit", summary="Say who did what", responses=SEEN)
async def list_audit(caller: MaySee, filters: Annotated[AuditFilters, Query()]) -> Page[AuditEntry]:
    """Every change that a caller made or was refused, oldest first unless asked for otherwise."""
    audit, kind = caller.deps.audit, NEWEST_FIRST if filters.newest_first else OLDEST_FIRST
    place, most = number_place(kind, filters.cursor), filters.limit + 1
    if filters.newest_first:
        found = await asyncio.to_thread(audit.latest, place, most, filters.wanted)
    else:
        found = await asyncio.to_thread(audit.entries, place or 0, most, filters.wanted)
    items = [audit_body(record) for record in found[: filters.limit]]
    return Page(items=items, next=cursor_of(kind, items[-1].seq) if len(found) > filters.limit else None)


@router.get(
    "/v1/audit/export",
    operation_id="export_audit",
    summary="Export the audit",
    response_class=Response,
    responses={
        **errors(401, 403, 422),
        200: {"description": "One entry per line.", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}},
    },
)
async def export_audit(caller: MaySee, choice: Annotated[AuditChoice, Query()]) -> Response:
    """All entries that match, oldest first, as JSON lines. Each has its chain, so a copy can be compared later."""
    headers = {"Content-Disposition": 'attachment; filename="muster-audit.jsonl"'}
    return Stream(_lines(caller.deps.audit, choice.wanted), media_type=MEDIA_TYPE, headers=headers)


async def _lines(audit: AuditTrail, wanted: AuditFilter) -> AsyncGenerator[bytes, None]:
    """The lines, a thousand at a time."""
    found = await asyncio.to_thread(audit.entries, 0, EXPORTED_AT_ONCE, wanted)
    while found:
        yield b"".join(_ENTRY.dump_json(audit_body(record)) + b"\n" for record in found)
        found = await asyncio.to_thread(audit.entries, found[-1].seq, EXPORTED_AT_ONCE, wanted)


@router.get("/v1/audit/head", operation_id="show_audit_head", summary="Say where the audit ends", responses=SEEN)
async def show_audit_head(caller: MaySee) -> AuditHead:
    """The number and the chain of the last entry. Keep them where users of the database cannot change them."""
    head = await asyncio.to_thread(caller.deps.audit.head)
    return AuditHead(seq=head.seq, chain=head.chain)


@router.get(
    "/v1/audit/verify",
    operation_id="verify_audit",
    summary="Check the audit",
    responses=errors(401, 403, 422, 429),
)
async def verify_audit(caller: MaySee, noted: Annotated[NotedHead, Query()]) -> Verdict:
    """Check that every entry and every event is as it was written, and that none is missing. One check runs at a time.

    With `seq` and `chain` of a head that you noted earlier, also check that the audit still contains it. A user who can
    write the database can forge a whole audit that is consistent, but not one that contains the head that you noted.
    """
    if (noted.seq is None) != (noted.chain is None):
        raise InvalidInput("seq and chain belong together; give both, as the head of the audit showed them, or neither")
    caller.services.verifying.enter(caller.subject)
    try:
        verdict = verdict_body(await asyncio.to_thread(caller.deps.audit.verify))
        if noted.seq is None or noted.chain is None:
            return verdict
        return _against(verdict, noted.seq, noted.chain, await asyncio.to_thread(caller.deps.audit.chain_at, noted.seq))
    finally:
        caller.services.verifying.leave(caller.subject)


def _against(verdict: Verdict, seq: int, noted: str, found: str | None) -> Verdict:
    """The verdict, with a problem added when the audit does not contain the noted head."""
    if found == noted:
        return verdict
    what = "is not there any more" if found is None else "is not the one that was noted"
    problem = f"audit entry {seq} {what}: the audit was made anew or cut off, or another one was noted"
    return verdict.model_copy(update={"whole": False, "problems": [*verdict.problems, problem]})
