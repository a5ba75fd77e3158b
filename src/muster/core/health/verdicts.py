"""How a verdict of health and what an operator has decided go together.

A verdict is made from a view that may be a moment old, and is recorded later. So it is checked again when it is
recorded: it may take a node only one step further from where it is, and never undoes what an operator did.
"""

from muster.model.events import HEALTH
from muster.model.node import Node, NodeState
from muster.model.records import evolve

_STEPS: dict[NodeState, tuple[NodeState, ...]] = {
    NodeState.READY: (NodeState.SUSPECT, NodeState.DRAINING),
    NodeState.SUSPECT: (NodeState.READY, NodeState.DRAINING),
    NodeState.DRAINING: (),
    NodeState.DRAINED: (NodeState.PROBATION,),
    NodeState.PROBATION: (NodeState.READY, NodeState.DRAINING),
    NodeState.DOWN: (),
}
"""The steps that health may take. That a draining node is empty, or that a node is down, is for others to say."""


def as_judged(known: Node, wanted: Node, set_aside_by: str | None) -> Node:
    """The node after a verdict: its state only if that is the next step and no operator took it out, its bad GPUs."""
    is_allowed = wanted.state in _STEPS[known.state] and set_aside_by in (None, HEALTH)
    return evolve(known, state=wanted.state if is_allowed else known.state, bad_gpus=wanted.bad_gpus)


def takes_out(before: Node, after: Node) -> bool:
    """True when a node, or one of its GPUs, is out of service only now."""
    is_node = after.state is NodeState.DRAINING and before.state is not NodeState.DRAINING
    return is_node or any(gpu not in before.bad_gpus for gpu in after.bad_gpus)
