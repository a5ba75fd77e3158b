import pytest

from muster.model.ids import natural


@pytest.mark.parametrize(
    "names",
    [
        ["alpha", "node-1", "node-2", "node-10"],
        ["job-9", "job-9.2", "job-9.10", "job-10", "job-10.1"],
        ["7", "10", "a", "a2b", "a10b", "a10c", "ab", "b"],
        ["n0", "n1", "n1-g2", "n1-g10", "n2", "n10", "n100"],
    ],
)
def test_names_sort_as_people_count(names: list[str]) -> None:
    listed = names[::-1]
    assert sorted(listed, key=natural) == names


def test_different_names_have_different_keys() -> None:
    names = ["n1", "n01", "n001", "n1-1", "n01-1", "n1-01", "n", ""]
    assert len({natural(name) for name in names}) == len(names)
    assert sorted(["n1", "n01", "n2", "n002"], key=natural) == ["n01", "n1", "n002", "n2"]
