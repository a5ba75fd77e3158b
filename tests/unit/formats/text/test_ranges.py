import pytest

from muster.formats.text.ranges import array_spec, array_text, node_names, node_ranges, worker_range, worker_range_value
from muster.formats.text.units import BadValue
from muster.model.spec import ArraySpec


@pytest.mark.parametrize(
    ("written", "expected"),
    [(16, (16, 16)), ("16", (16, 16)), ("8..16", (8, 16)), ("8 .. 16", (8, 16)), ("4..4", (4, 4))],
)
def test_a_number_of_workers_is_read(written: object, expected: tuple[int, int]) -> None:
    assert worker_range(written) == expected


@pytest.mark.parametrize(
    "written", [0, -1, True, 1.5, None, "", "..8", "8..", "0..4", "16..8", "8-16", "a", 65_537, "1..65537", []]
)
def test_what_is_no_number_of_workers_is_refused(written: object) -> None:
    with pytest.raises(BadValue):
        worker_range(written)


def test_a_range_of_workers_comes_back() -> None:
    assert worker_range_value(4, 8) == "4..8"
    assert worker_range_value(4, 4) == 4


@pytest.mark.parametrize(
    ("written", "indices", "concurrency"),
    [
        ("0-3%2", (0, 1, 2, 3), 2),
        ("1,3,5-7", (1, 3, 5, 6, 7), None),
        ("5-6,1", (1, 5, 6), None),
        ("0-20:10", (0, 10, 20), None),
        (7, (7,), None),
    ],
)
def test_an_array_is_read(written: object, indices: tuple[int, ...], concurrency: int | None) -> None:
    assert array_spec(written) == ArraySpec(indices=indices, concurrency=concurrency)


@pytest.mark.parametrize(
    "written", ["", "a", "5-1", "1,1", "1-3,2", "0-9%0", "0-10000", "0-999999999", "1-", "-1", "0-9:0", True, None, 1.5]
)
def test_what_is_no_array_is_refused(written: object) -> None:
    with pytest.raises(BadValue):
        array_spec(written)


@pytest.mark.parametrize("text", ["0-99%8", "1,3,5-7", "4"])
def test_an_array_comes_back_as_it_was_written(text: str) -> None:
    assert array_text(array_spec(text)) == text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("n1", ("n1",)),
        (7, ("7",)),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n[08-10]", ("n08", "n09", "n10")),
        ("n[1-2,8]", ("n1", "n2", "n8")),
        ("r[1-2]n[1-2].dc", ("r1n1.dc", "r1n2.dc", "r2n1.dc", "r2n2.dc")),
    ],
)
def test_node_names_are_read_in_order(written: object, expected: tuple[str, ...]) -> None:
    assert node_names(written) == expected


@pytest.mark.parametrize(
    "written",
    [
        "",
        "n[",
        "n]",
        "n[]",
        "n[a-b]",
        "n[3-1]",
        "a b",
        "a,b",
        "a/b",
        "n[1-999999999]",
        "n[1-999][1-999]",
        None,
        True,
        1.5,
    ],
)
def test_what_is_no_node_name_is_refused(written: object) -> None:
    with pytest.raises(BadValue):
        node_names(written)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1", "n2", "n3", "n5"], "n[1-3,5]"),
        (["n10", "n9"], "n[9-10]"),
        (["n1"], "n1"),
        (["a01", "a02"], "a01, a02"),
        (["x", "n1", "n2", "n1"], "x, n[1-2]"),
        ([], ""),
    ],
)
def test_many_node_names_are_written_in_few_words(names: list[str], text: str) -> None:
    assert node_ranges(names) == text
