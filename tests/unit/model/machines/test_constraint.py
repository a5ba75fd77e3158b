"""Labels joined by `&`, `|` and `!`."""

import pytest

from muster.model.machines.constraint import (
    CONSTRAINT_DEPTH,
    BadConstraint,
    constraint_text,
    is_label,
    labels_named,
    parse_constraint,
    satisfies,
)

ACCEPTED = [
    ("a100", ["a100"], ["", "h100"]),
    ("a100 & ib", ["a100 ib"], ["a100", "ib"]),
    ("a100,ib", ["a100 ib"], ["a100"]),
    ("a100&&ib||roce", ["a100 ib", "roce"], ["a100"]),
    ("a100 | h100", ["a100", "h100"], ["ib"]),
    ("!flaky", ["", "ib"], ["flaky"]),
    ("!!ib", ["ib"], [""]),
    ("ib & !(a100 | h100)", ["ib", "ib l40"], ["ib a100", "l40"]),
    ("a | b & c", ["a", "b c"], ["b", "c"]),
    ("(a | b) & c", ["a c", "b c"], ["a", "c"]),
    ("zone=eu/1 & rdma:2.0", ["zone=eu/1 rdma:2.0"], ["zone=eu/1"]),
]


@pytest.mark.parametrize(("text", "good", "bad"), ACCEPTED)
def test_a_constraint_tells_nodes_apart(text: str, good: list[str], bad: list[str]) -> None:
    term = parse_constraint(text)
    assert [labels for labels in good if not satisfies(tuple(labels.split()), term)] == []
    assert [labels for labels in bad if satisfies(tuple(labels.split()), term)] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a&b|c", "a & b | c"),
        ("a&(b|c)", "a & (b | c)"),
        ("!(a,b)", "!(a & b)"),
        ("((a))", "a"),
        ("! a", "!a"),
        ("(a&b)&c", "(a & b) & c"),
    ],
)
def test_a_constraint_is_kept_in_one_spelling(text: str, kept: str) -> None:
    assert constraint_text(parse_constraint(text)) == kept
    assert constraint_text(parse_constraint(kept)) == kept


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a label is missing at the end"),
        ("a &", "a label is missing at the end"),
        ("& a", "a label is missing before '&'"),
        ("(a", "a ( has no )"),
        ("a b", "'b' has no meaning here"),
        ("a)", "')' has no meaning here"),
        ("[rack1|rack2]", "chooses among sets of nodes"),
        ("ib*4", "counts nodes"),
        ("a;b", "is not a label"),
        ("x" * 2000, "is longer than"),
        ("!" * (CONSTRAINT_DEPTH + 2) + "a", "nested more than"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, problem: str) -> None:
    with pytest.raises(BadConstraint) as caught:
        parse_constraint(text)
    assert problem in caught.value.problem


def test_the_labels_of_a_constraint_are_known() -> None:
    assert list(labels_named(parse_constraint("a & !(b | c)"))) == ["a", "b", "c"]
    assert [word for word in ("zone=eu", "-a", "a b") if is_label(word)] == ["zone=eu"]
