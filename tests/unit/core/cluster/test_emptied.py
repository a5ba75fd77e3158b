"""Capacities as they would be if some jobs were gone."""

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.emptied import JOBS_NOTED, Emptied, EmptiedCapacities, KeptEmptied
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.tree import Tree
from muster.model.ids import JobId
from muster.model.limits import EMPTIED_CAPACITIES
from muster.model.records import evolve
from tests.builders import flat
from tests.unit.core.cluster.test_capacity import use


def a_capacity() -> Capacity:
    made = Capacity.of(Tree(flat(3, gpus=2)), FreeStates(), {})
    made.take((use(0, 0), use(1, 0, 1)))
    return made


def free(capacity: Capacity) -> list[int]:
    return [capacity.free_on(node) for node in range(3)]


def test_it_follows_its_base_and_the_jobs_that_are_gone() -> None:
    base = a_capacity()
    emptied = Emptied(base)
    emptied.renew([1], lambda node: [use(node, 0, 1)])
    assert (free(base), free(emptied.capacity)) == ([1000, 0, 2000], [1000, 2000, 2000])
    base.take((use(2, 1),))
    assert emptied.touched() == [2]
    emptied.renew([2], lambda _: [])
    assert free(emptied.capacity) == [1000, 2000, 1000]
    assert emptied.touched() == []


def test_only_nodes_that_differ_are_outdated_in_another_base() -> None:
    first = a_capacity()
    emptied, second = Emptied(first), first.fork()
    second.take((use(2, 0),))
    second.give((use(0, 0),))
    assert emptied.follow(second) == [0, 2]
    emptied.renew([0, 2], lambda _: [])
    assert free(emptied.capacity) == free(second)
    mark = second.mark()
    second.take((use(0, 1),))
    second.rollback(mark)
    assert emptied.follow(second) == []


def test_a_node_whose_state_changed_is_outdated_although_no_job_came_or_went() -> None:
    base = a_capacity()
    emptied = Emptied(base)
    node = base.tree.nodes[2]
    base.replace_node(2, evolve(node, bad_gpus=(0,)), {})
    assert emptied.follow(base.fork()) == [2]


def test_those_that_were_used_last_are_kept() -> None:
    base, kept = a_capacity(), EmptiedCapacities()
    for number in range(EMPTIED_CAPACITIES + 1):
        kept.keep(number, KeptEmptied(Emptied(base), base))
    assert kept.find(0, base) is None
    assert kept.find(1, base) is not None
    assert kept.find(1, a_capacity()) is None


def test_jobs_are_noted_only_while_something_is_kept_and_not_without_end() -> None:
    base, kept = a_capacity(), EmptiedCapacities()
    kept.note(JobId("j"))
    assert kept.changed == []
    kept.keep("rights", KeptEmptied(Emptied(base), base))
    for _ in range(JOBS_NOTED):
        kept.note(JobId("j"))
    assert len(kept.changed) == JOBS_NOTED
    kept.note(JobId("j"))
    assert (kept.changed, kept.find("rights", base)) == ([], None)
