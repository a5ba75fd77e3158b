"""Rows that differ in anything have different digests."""

from itertools import combinations

from muster.store.sql.digests import GENESIS, is_sealed, seal

ROWS = [
    (),
    ("",),
    (b"",),
    (None,),
    ("", ""),
    ("a", "bc"),
    ("ab", "c"),
    ("abc", ""),
    ("1",),
    (1,),
    (b"1",),
    (1.0,),
    (1, 2),
    (12,),
    ("s1:a",),
    (GENESIS, 1),
    ("\ud800",),
]


def test_rows_that_differ_have_different_digests() -> None:
    for one, other in combinations(ROWS, 2):
        assert seal(*one) != seal(*other), (one, other)


def test_a_digest_is_always_the_same() -> None:
    assert seal(GENESIS, 1, "ä", b"\0", None).hex() == EXPECTED


EXPECTED = "32ee40329616478c5be5e3a9c835ecf58d65692d17f461085530177c227e26ea"
"""Stored chains rest on it: it can never change."""


def test_a_row_is_sealed_by_its_last_value() -> None:
    assert is_sealed(("a", 1, seal("a", 1)))
    assert not is_sealed(("a", 2, seal("a", 1)))
    assert not is_sealed(("a", 1, None))
