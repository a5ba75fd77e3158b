"""Who did what, and whether nobody has changed what is written about it."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from muster.access.permissions import Permission
from muster.api.gate import Caller, Needs
from muster.api.paging import cursor_of, number_place
from muster.api.rendering.access import audit_body, verdict_body
from muster.api.routes.answers import SEEN, errors
from muster.api.schemas.access import AuditEntry, AuditFilters, Verdict
from muster.api.schemas.base import Page
from muster.store.base import AuditFilter

router = APIRouter(tags=["access"])

MaySee = Annotated[Caller, Depends(Needs(Permission.AUDIT_SEE))]


@router.get("/v1/audit", operation_id="list_audit", summary="Say who did what", responses=SEEN)
async def list_audit(caller: MaySee, filters: Annotated[AuditFilters, Query()]) -> Page[AuditEntry]:
    """Every change that somebody made or was refused, oldest first."""
    wanted = AuditFilter(by=filters.by, action=filters.action, subject=filters.subject)
    after = number_place("audit", filters.cursor) or 0
    found = await asyncio.to_thread(caller.deps.audit.entries, after, filters.limit + 1, wanted)
    items = [audit_body(record) for record in found[: filters.limit]]
    return Page(items=items, next=cursor_of("audit", items[-1].seq) if len(found) > filters.limit else None)


@router.get(
    "/v1/audit/verify",
    operation_id="verify_audit",
    summary="Check the audit",
    responses=errors(401, 403, 429),
)
async def verify_audit(caller: MaySee) -> Verdict:
    """Walk through all entries and events: is each what was written, and is none missing? One walk at a time."""
    caller.services.verifying.enter(caller.subject)
    try:
        return verdict_body(await asyncio.to_thread(caller.deps.audit.verify))
    finally:
        caller.services.verifying.leave(caller.subject)
