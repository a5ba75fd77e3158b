"""The health of nodes."""

from typing import Annotated

from fastapi import APIRouter, Query

from muster.answers.health import NodeHealth
from muster.api.lookups.paging import cursor_of, text_place
from muster.api.rendering.node_health import health_body
from muster.api.routes.error_responses import FOUND, SEEN
from muster.api.routes.machines.nodes import NodePath, Sees, place_after
from muster.api.schemas.base import Page, Paging
from muster.model.errors import NotFound
from muster.model.ids import NodeName

router = APIRouter(tags=["nodes"])


@router.get("/v1/health", operation_id="list_health", summary="Show the health of all nodes", responses=SEEN)
async def list_health(caller: Sees, paging: Annotated[Paging, Query()]) -> Page[NodeHealth]:
    """The health of all nodes, in the order of the configuration."""
    deps, view = caller.deps, caller.deps.control.view
    nodes = list(view.nodes.values())
    start = place_after(nodes, text_place("health", paging.cursor))
    shown = nodes[start : start + paging.limit]
    items = [health_body(view, node, deps.health, deps.settings.conceal) for node in shown]
    is_last = start + len(shown) >= len(nodes)
    return Page(items=items, next=None if is_last or not shown else cursor_of("health", shown[-1].name))


@router.get("/v1/nodes/{node}/health", operation_id="show_health", summary="Show the health of a node", responses=FOUND)
async def show_health(caller: Sees, node: NodePath) -> NodeHealth:
    """The health of a node: its state and why, its GPUs, and what was measured last."""
    deps, view = caller.deps, caller.deps.control.view
    known = view.nodes.get(NodeName(node))
    if known is None:
        raise NotFound(f"there is no node {node}")
    return health_body(view, known, deps.health, deps.settings.conceal)
