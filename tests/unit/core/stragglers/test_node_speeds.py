"""How fast a node was in earlier attempts."""

import pytest

from muster.core.stragglers import node_speeds
from muster.core.stragglers.node_speeds import NodeSpeeds
from muster.model.ids import NodeName

N1 = NodeName("n1")


def test_a_node_has_no_past_at_first_and_then_that_of_its_attempts() -> None:
    speeds = NodeSpeeds()
    assert speeds.usual_milli(N1) == 0
    speeds.learn(N1, 1000)
    assert speeds.usual_milli(N1) == 1000
    speeds.learn(N1, 1400)
    assert speeds.usual_milli(N1) == 1100


def test_the_node_that_was_learnt_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_speeds, "NODES_PER_CLUSTER", 2)
    speeds = NodeSpeeds()
    for name in ("n1", "n2", "n1", "n3"):
        speeds.learn(NodeName(name), 1000)
    assert [speeds.usual_milli(NodeName(name)) for name in ("n1", "n2", "n3")] == [1000, 0, 1000]
