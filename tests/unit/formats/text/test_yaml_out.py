"""Documents written as YAML are read back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.formats.text.yaml_out import yaml_of
from muster.formats.text.yaml_text import read_yaml

_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\t: #-'\"|>0.e~"), max_size=30)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | _TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_TEXT.filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcz_", min_size=1), _VALUES, min_size=1, max_size=5))
def test_what_is_written_is_read_back(document: dict[str, object]) -> None:
    assert read_yaml(yaml_of(document)) == document


@pytest.mark.parametrize("text", ["1e5", "-.5", "007", "null", "true", "on", "12:30", "2026-01-01", "0x1F", "", "~"])
def test_words_that_could_mean_something_else_stay_text(text: str) -> None:
    assert read_yaml(yaml_of({"key": text})) == {"key": text}


def test_several_lines_are_a_block_and_keys_keep_their_order() -> None:
    assert yaml_of({"run": "a\nb\n", "name": "x"}) == "run: |\n  a\n  b\nname: x\n"


def test_what_occurs_twice_is_written_twice() -> None:
    shared = [1]
    assert "&" not in yaml_of({"a": shared, "b": shared})
