"""Verdicts are recorded a moment after they were made: they may only take the next step, and never an operator's."""

import pytest

from muster.core.health import as_judged, takes_out
from muster.model.events import HEALTH
from muster.model.ids import NodeName
from muster.model.node import Node, NodeState
from muster.model.records import evolve

NODE = Node(name=NodeName("n1"), gpus=4)


@pytest.mark.parametrize(
    ("known", "wanted", "becomes"),
    [
        ("ready", "suspect", "suspect"),
        ("ready", "draining", "draining"),
        ("ready", "probation", "ready"),
        ("drained", "ready", "drained"),
        ("drained", "probation", "probation"),
        ("probation", "ready", "ready"),
        ("down", "ready", "down"),
        ("draining", "ready", "draining"),
    ],
)
def test_a_verdict_takes_one_step(known: str, wanted: str, becomes: str) -> None:
    before = evolve(NODE, state=NodeState(known))
    for by in (None, HEALTH):
        after = as_judged(before, evolve(NODE, state=NodeState(wanted), bad_gpus=(1,)), by)
        assert (after.state.value, after.bad_gpus) == (becomes, (1,))
    assert as_judged(before, evolve(NODE, state=NodeState(wanted)), "ann").state.value == known


def test_only_something_that_was_in_service_is_taken_out() -> None:
    draining, bad = evolve(NODE, state=NodeState.DRAINING), evolve(NODE, bad_gpus=(1,))
    assert takes_out(NODE, draining)
    assert takes_out(NODE, bad)
    assert not takes_out(draining, draining)
    assert not takes_out(bad, NODE)
