"""Nodes: listing, draining, undraining and fencing them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from muster.access.permissions import Permission
from muster.answers.nodes import Node
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.lookups.paging import cursor_of, text_place
from muster.api.rendering.nodes import node_body, uses
from muster.api.routes.error_responses import CHANGED, FOUND, SEEN
from muster.api.schemas.base import Because, Page, Paging
from muster.api.schemas.reservations import Drain
from muster.engine.engine import Engine
from muster.formats.parts.wire import ID_CHARS
from muster.formats.text import units
from muster.model import node as model
from muster.model.access import EVERY_TEAM
from muster.model.errors import Conflict, InvalidInput, NotFound
from muster.model.events import HEALTH, NodeChanged
from muster.model.ids import NodeName
from muster.model.records import evolve

router = APIRouter(tags=["nodes"])

NodePath = Annotated[str, Path(min_length=1, max_length=ID_CHARS, description="Its name.", examples=["n1"])]
Sees = Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]
MayChange = Annotated[Caller, Depends(Needs(Permission.NODES_CHANGE))]


@router.get("/v1/nodes", operation_id="list_nodes", summary="List nodes", responses=SEEN)
async def list_nodes(caller: Sees, paging: Annotated[Paging, Query()]) -> Page[Node]:
    """All nodes, in the order of the configuration."""
    view = caller.deps.control.view
    nodes = list(view.nodes.values())
    start = place_after(nodes, text_place("nodes", paging.cursor))
    shown = nodes[start : start + paging.limit]
    in_use = uses(view)
    conceal = caller.deps.settings.conceal
    items = [node_body(view, node, in_use.get(node.name), caller.sees, conceal) for node in shown]
    is_last = start + len(shown) >= len(nodes)
    return Page(items=items, next=None if is_last or not shown else cursor_of("nodes", shown[-1].name))


@router.get("/v1/nodes/{node}", operation_id="show_node", summary="Show a node", responses=FOUND)
async def show_node(caller: Sees, node: NodePath) -> Node:
    """A node, and what is in use on it."""
    return _shown(caller, NodeName(node))


@router.post("/v1/nodes/{node}/drain", operation_id="drain_node", summary="Set a node aside", responses=CHANGED)
async def drain_node(caller: MayChange, node: NodePath, body: Drain | None = None) -> Node:
    """Start nothing new on a node. What runs there may end in its own time, or is told to leave (`evict`)."""
    name = _known(caller, node)
    asked = Drain() if body is None else body
    reason = asked.reason
    grace_ms = None if asked.grace is None else units.duration_ms(asked.grace)
    if grace_ms is not None and not asked.evict:
        raise InvalidInput("grace says how long jobs that are told to leave may take; it goes with evict")
    await require(caller, Permission.NODES_CHANGE, EVERY_TEAM, action="nodes.drain", subject=name)

    def drain(engine: Engine, now_ms: int) -> None:
        known = _present(engine, name)
        is_empty = not engine.state.jobs_on(name)
        state = model.NodeState.DRAINED if is_empty else model.NodeState.DRAINING
        is_out = known.state in (model.NodeState.DRAINED, model.NodeState.DRAINING)
        if not is_out or engine.state.set_aside.get(name) == HEALTH:
            node = evolve(known, state=known.state if is_out else state)
            engine.observe(NodeChanged(at_ms=now_ms, node=node, because=reason or "drained", by=caller.name))
        if asked.evict:
            engine.setting_aside.evict(name, now_ms, grace_ms=grace_ms, by=caller.name, because=reason)

    more = {"evict": asked.grace or "yes"} if asked.evict else {}
    await change(caller, "nodes.drain", name, drain, reason=reason, **more)
    return _shown(caller, name)


@router.post("/v1/nodes/{node}/undrain", operation_id="undrain_node", summary="Use a node again", responses=CHANGED)
async def undrain_node(caller: MayChange, node: NodePath, body: Because | None = None) -> Node:
    """Use a node again that an operator drained, with all its GPUs.

    Also one that health took out or marked as suspect. Then health has no say until new evidence comes.
    """
    name = _known(caller, node)
    reason = "" if body is None else body.reason
    await require(caller, Permission.NODES_CHANGE, EVERY_TEAM, action="nodes.undrain", subject=name)

    def undrain(engine: Engine, now_ms: int) -> None:
        known = _present(engine, name)
        if known.state is not model.NodeState.READY or known.bad_gpus:
            node = evolve(known, state=model.NodeState.READY, bad_gpus=())
            engine.observe(NodeChanged(at_ms=now_ms, node=node, because=reason, by=caller.name))

    await change(caller, "nodes.undrain", name, undrain, reason=reason)
    return _shown(caller, name)


@router.post("/v1/nodes/{node}/fence", operation_id="fence_node", summary="Say that a node is off", responses=CHANGED)
async def fence_node(caller: MayChange, node: NodePath, body: Because | None = None) -> Node:
    """Say that a node which cannot be reached is off, so that what it ran is started elsewhere.

    Muster believes it. If something of it runs after all, it may run twice, until the node is back and is told to end
    it. So switch the machine off, or see to it that it cannot be reached by anything else, first.
    """
    name = _known(caller, node)
    reason = "" if body is None else body.reason
    await require(caller, Permission.NODES_CHANGE, EVERY_TEAM, action="nodes.fence", subject=name)

    def check(engine: Engine, _now_ms: int) -> None:
        known = engine.state.nodes.get(name)
        if known is None or known.state is not model.NodeState.DOWN:
            raise Conflict(f"{name} can be reached: `muster drain {name} --evict` empties it")

    await change(caller, "nodes.fence", name, check, reason=reason)
    caller.deps.backend.fenced(name, f"{caller.name} says that it is off" + (f": {reason}" if reason else ""))
    return _shown(caller, name)


def _known(caller: Caller, node: str) -> NodeName:
    if node not in caller.deps.control.view.nodes:
        raise NotFound(f"there is no node {node}")
    return NodeName(node)


def _present(engine: Engine, name: NodeName) -> model.Node:
    known = engine.state.nodes.get(name)
    if known is None:
        raise NotFound(f"there is no node {name}")
    if known.state is model.NodeState.DOWN:
        raise Conflict(f"{name} is down; it comes back by itself once it can be reached")
    return known


def _shown(caller: Caller, name: NodeName) -> Node:
    view = caller.deps.control.view
    node = view.nodes.get(name)
    if node is None:
        raise NotFound(f"there is no node {name}")
    return node_body(view, node, uses(view).get(name), caller.sees, caller.deps.settings.conceal)


def place_after(nodes: list[model.Node], after: str | None) -> int:
    """Where a page goes on: behind the node with this name, at the end if it is gone."""
    if after is None:
        return 0
    return next((place for place, node in enumerate(nodes, start=1) if node.name == after), len(nodes))
