"""The topology tree as ranges of node numbers."""

from muster.core.cluster.tree import Tree
from muster.model.ids import LevelName
from tests.builders import a_cluster, a_node, flat

DEEP = Tree(
    a_cluster(
        *(
            a_node(f"n{number}", domains=(block, rack))
            for number, (block, rack) in enumerate([("b2", "r1"), ("b1", "r1"), ("b1", "r2"), ("b1", "r1")])
        ),
        levels=("block", "rack"),
    )
)


def test_nodes_are_numbered_along_the_tree() -> None:
    assert [node.name for node in DEEP.nodes] == ["n1", "n3", "n2", "n0"]


def test_a_domain_is_a_range_of_nodes_and_known_by_its_whole_path() -> None:
    assert DEEP.ranges == [[(0, 4)], [(0, 3), (3, 4)], [(0, 2), (2, 3), (3, 4)]]


def test_children_are_the_domains_inside_a_domain() -> None:
    assert list(DEEP.children(0, 0)) == [0, 1]
    assert list(DEEP.children(1, 0)) == [0, 1]
    assert list(DEEP.children(1, 1)) == [2]
    assert list(DEEP.children(2, 0)) == [0, 1]


def test_the_node_is_the_innermost_level() -> None:
    assert DEEP.level_of(LevelName("node")) == DEEP.node_level == DEEP.nvlink_level == 3
    assert DEEP.span(3, 2) == (2, 3)
    assert DEEP.span(1, 0) == (0, 3)
    assert DEEP.domain_at(3, 2) == 2
    assert DEEP.domain_at(2, 2) == 1


def test_nodes_are_together_in_a_domain_that_holds_them_all() -> None:
    assert DEEP.are_together(1, [0, 2])
    assert not DEEP.are_together(2, [0, 2])
    assert not DEEP.are_together(3, [0, 1])


def test_names_are_ordered_as_people_count() -> None:
    tree = Tree(a_cluster(*(a_node(name) for name in ("n10", "n9", "a1-b10", "a1-b9"))))
    assert [node.name for node in tree.nodes] == ["a1-b9", "a1-b10", "n9", "n10"]


def test_a_cluster_may_have_no_nodes_yet() -> None:
    assert Tree(flat(0)).ranges[0] in ([], [(0, 0)])
