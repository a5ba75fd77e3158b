"""What needs attention."""

from typing import Annotated

from fastapi import APIRouter, Depends

from muster.access.permissions import Permission
from muster.answers.troubles import Troubles
from muster.api.gate import Caller, Needs
from muster.api.rendering.troubles import troubles
from muster.api.routes.error_responses import SEEN

router = APIRouter(tags=["nodes"])

LISTED_MAX = 100


@router.get("/v1/troubles", operation_id="list_troubles", summary="Say what needs attention", responses=SEEN)
async def list_troubles(caller: Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]) -> Troubles:
    """Nodes that are not ready, GPUs that are bad or in quarantine, and jobs with stragglers or without steps.

    Of jobs, only those that you may see. At most a hundred are listed.
    """
    found = list(troubles(caller.deps.control.view, caller.sees, caller.deps.settings.conceal))
    return Troubles(items=tuple(found[:LISTED_MAX]), total=len(found))
