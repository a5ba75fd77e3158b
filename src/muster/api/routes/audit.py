"""Who did what, and whether the audit is unchanged."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from muster.access.permissions import Permission
from muster.answers.access import AuditEntry
from muster.api.gate import Caller, Needs
from muster.api.lookups.paging import cursor_of, number_place
from muster.api.rendering.access import audit_body, verdict_body
from muster.api.routes.error_responses import SEEN, errors
from muster.api.schemas.access import AuditFilters, AuditHead, NotedHead, Verdict
from muster.api.schemas.base import Page
from muster.model.errors import InvalidInput
from muster.store.base import AuditFilter

router = APIRouter(tags=["access"])

MaySee = Annotated[Caller, Depends(Needs(Permission.AUDIT_SEE))]


@router.get("/v1/audit", operation_id="list_audit", summary="Say who did what", responses=SEEN)
async def list_audit(caller: MaySee, filters: Annotated[AuditFilters, Query()]) -> Page[AuditEntry]:
    """Every change that a caller made or was refused, oldest first."""
    wanted = AuditFilter(by=filters.by, action=filters.action, subject=filters.subject)
    after = number_place("audit", filters.cursor) or 0
    found = await asyncio.to_thread(caller.deps.audit.entries, after, filters.limit + 1, wanted)
    items = [audit_body(record) for record in found[: filters.limit]]
    return Page(items=items, next=cursor_of("audit", items[-1].seq) if len(found) > filters.limit else None)


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
