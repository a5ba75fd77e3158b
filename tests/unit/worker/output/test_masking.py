"""A secret is masked however it comes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.worker.output.masking import PIECE_BYTES, Mask


def masked(values: list[str], *chunks: bytes) -> bytes:
    mask = Mask(values)
    return b"".join([*(mask.feed(chunk) for chunk in chunks), mask.close()])


@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        (["secret"], b"a secret is a secret", b"a *** is a ***"),
        (["abc", "abcdef"], b"abcdef abc abcde", b"*** *** ***de"),
        (["", "x"], b"axb", b"a***b"),
        ([], b"anything", b"anything"),
        (["aab"], b"aaab", b"a***"),
        (["line one long\nline two long"], b"line two long\r\n", b"***\r\n"),
        (["geheim\u00e4"], "geheim\u00e4!".encode(), b"***!"),
    ],
)
def test_values_are_replaced_longest_first(values: list[str], text: bytes, expected: bytes) -> None:
    assert masked(values, text) == expected
    assert masked(values, *(bytes([byte]) for byte in text)) == expected


def test_what_may_become_a_secret_is_kept_back_until_it_is_known() -> None:
    mask = Mask(["secret"])
    assert mask.feed(b"my sec") == b"my "
    assert mask.feed(b"ond") == b"second"
    assert mask.feed(b"sec") == b""
    assert mask.close() == b"sec"


def test_a_very_long_secret_is_masked_in_pieces() -> None:
    value = "".join(chr(ord("a") + (7 * index + index // 26) % 26) for index in range(10 * PIECE_BYTES + 77))
    shown = masked([value], b"<", value[:1000].encode(), value[1000:].encode(), b">")
    assert set(shown[1:-1]) <= set(b"*")


@given(
    st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=3),
    st.text("abc", max_size=60).map(str.encode),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_how_the_stream_is_cut_makes_no_difference(values: list[str], text: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    whole = masked(values, text)
    assert masked(values, *(text[start:end] for start, end in pairwise(places))) == whole
    assert not [value for value in values if value.encode() in whole]
