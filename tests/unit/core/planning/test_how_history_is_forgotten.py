"""How a situation came about, or in which order it is told, does not decide what is planned for it."""

from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.node import NodeState
from muster.model.records import evolve
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, flat, runs, waits


def test_a_node_that_came_back_is_as_good_as_one_that_was_never_away() -> None:
    first, second = a_node("n1", cpus=16), a_node("n2", cpus=8)
    away = evolve(first, state=NodeState.DRAINED)
    edited = Snapshot.of(a_scenario(a_cluster(away, second), waiting=[waits("w", a_job(gpus=1))]))
    edited.change_node(first)
    rebuilt = Snapshot.of(edited.scenario(NOW_MS))
    assert plan(edited, NOW_MS).starts == plan(rebuilt, NOW_MS).starts


def test_what_a_team_runs_itself_counts_though_its_sub_team_is_heard_of_later() -> None:
    own = runs("own", a_job(gpus=8, team="a"), [("n1", range(8))])
    below = runs("below", a_job(gpus=4, team="a/x"), [("n2", range(4))])
    waiting = [waits("w-own", a_job(gpus=8, team="a")), waits("w-below", a_job(gpus=8, team="a/x"))]
    for running in ([own, below], [below, own]):
        made = plan(Snapshot.of(a_scenario(flat(3), running=running, waiting=waiting)), NOW_MS)
        assert [start.job for start in made.starts] == ["w-below"]
