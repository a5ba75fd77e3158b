"""Metrics for Prometheus."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import Response

from muster.access.permissions import Permission
from muster.api.gate import NeedsUnlessLocal
from muster.api.routes.error_responses import errors
from muster.api.services import Services

router = APIRouter(tags=["operation"])


@router.get(
    "/metrics",
    operation_id="read_metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={
        **errors(401, 403),
        200: {"description": "The text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    },
)
async def read_metrics(
    services: Annotated[Services, Depends(NeedsUnlessLocal(Permission.METRICS_SEE))],
) -> Response:
    """All metrics. By default, requests from the machine that Muster runs on need no token."""
    services.deps.metrics.watchers = services.hub.places.taken
    text = await asyncio.to_thread(services.deps.metrics.text)
    return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)
