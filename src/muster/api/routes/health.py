"""Whether the control plane works, for load balancers and people."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from muster import __version__
from muster.api.gate import Open
from muster.api.routes.error_responses import errors
from muster.api.schemas.health import Health
from muster.api.services import Services

router = APIRouter(tags=["operation"])


@router.get(
    "/healthz",
    operation_id="check_health",
    summary="Say whether all is well",
    responses={**errors(), 503: {"model": Health, "description": "The writer has stopped; people can still read."}},
)
async def check_health(services: Annotated[Services, Depends(Open())], response: Response) -> Health:
    """`degraded` while nothing can be written, or a standby cannot follow the log.

    The HTTP status is 503 once only a restart of the server helps.
    """
    control = services.deps.control
    if control.has_stopped:
        response.status_code = 503
    reason = control.brief_trouble if control.trouble else None
    return Health(
        status="ok" if reason is None else "degraded",
        version=__version__,
        reason=reason,
        role=control.role.value,
        leader=control.leader_url or None,
    )
