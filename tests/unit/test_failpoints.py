"""Failpoints do nothing unless they are asked for, and what asks for them is checked."""

import pytest

from muster.failpoints import _parsed, failpoint


def test_a_place_that_was_not_named_is_passed() -> None:
    failpoint("append.before-commit")


def test_places_and_times_are_read() -> None:
    assert _parsed("") == {}
    assert _parsed("append.before-commit=kill@3,save_state.after-commit=kill@1") == {
        "append.before-commit": 3,
        "save_state.after-commit": 1,
    }


@pytest.mark.parametrize("text", ["append", "append=kill", "append=kill@0", "append=hang@1", "a=kill@1,"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="MUSTER_FAILPOINTS"):
        _parsed(text)
