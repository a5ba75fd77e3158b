"""What was used and wanted over time."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from muster.access.permissions import Permission
from muster.answers.history import History
from muster.api.gate import Caller, Needs
from muster.api.rendering.history import history_body
from muster.api.routes.error_responses import errors
from muster.api.schemas.history import HistorySpan

router = APIRouter(tags=["jobs"])


@router.get(
    "/v1/history",
    operation_id="show_history",
    summary="Show what was used over time",
    responses=errors(401, 403, 422, 429, 503),
)
async def show_history(
    caller: Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))], span: Annotated[HistorySpan, Query()]
) -> History:
    """GPUs in use by pool and tier, jobs that waited by tier and team, first starts, and what teams used and borrowed.

    All amounts are sums over steps of time that follow one another. No job is named.
    """
    now_ms = caller.deps.clock.now_ms()
    since_ms, step_ms = span.since_ms(now_ms), span.step_ms(now_ms)
    control = caller.deps.control

    def answer() -> History:
        buckets = control.history.buckets(step_ms, since_ms, now_ms)
        return history_body(buckets, step_ms, since_ms, control.view.rules)

    return await asyncio.to_thread(answer)
