"""Numbers that change with each event are those that one gets by counting everything anew."""

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.engine.folding.folding import fold
from muster.engine.folding.state import State
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.model.scenario import Rules
from muster.views.gauges import Gauges
from tests.builders import a_node, a_team
from tests.property.test_saved_states import SEEDS, history

Change = tuple[int, Node | None]
"""Which node changes, and how it is then; None when it is gone."""


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Another state, pool, kind or number of GPUs, or none of it."""
    place = draw(st.integers(0, 20))
    if draw(st.integers(0, 4)) == 0:
        return place, None
    gpus = draw(st.integers(0, 8))
    kind, pool = draw(st.sampled_from(("", "a100", "h100"))), draw(st.sampled_from(("main", "old")))
    state, bad = draw(st.sampled_from(NodeState)), tuple(range(draw(st.integers(0, gpus))))
    return place, a_node(gpus=gpus, gpu_type=kind, pool=pool, state=state, bad_gpus=bad)


def folded(seed: int, cut: float) -> State:
    """The state in the middle of a log."""
    played, events = history(seed)
    state = State(played.scenario)
    for event in events[: int(len(events) * cut)]:
        fold(state, event)
    return state


def with_guarantees(state: State) -> Rules:
    """Every second team has a guarantee for one kind of GPU, so that it matters which kind its jobs use."""
    paths = sorted({job.spec.team for job in state.jobs.values()})
    teams = tuple(a_team(path, guaranteed={"h100": 1} if at % 2 else {}) for at, path in enumerate(paths))
    return evolve(state.snapshot.rules, teams=teams)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, SEEDS - 1),
    cut=st.floats(0.2, 1),
    changed=st.lists(changes(), max_size=8),
    all_at_once=st.booleans(),
)
def test_nodes_that_change_leave_the_numbers_of_a_new_count(
    seed: int, cut: float, changed: list[Change], all_at_once: bool
) -> None:
    state = folded(seed, cut)
    jobs, rules, nodes = tuple(state.jobs.values()), with_guarantees(state), dict(state.nodes)
    names = tuple(nodes)
    gauges = Gauges(jobs, nodes, rules)
    for place, node in changed:
        name = names[place % len(names)]
        nodes.pop(name, None)
        if node is not None:
            nodes[name] = evolve(node, name=name)
        if not all_at_once:
            gauges.change_nodes({name: nodes.get(name)})
            assert gauges.now == Gauges(jobs, nodes, rules).now
    gauges.use_nodes(nodes)
    assert gauges.now == Gauges(jobs, nodes, rules).now
