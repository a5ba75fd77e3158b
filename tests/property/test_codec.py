"""What is stored comes back equal, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.model.access import Binding
from muster.model.job import Job
from muster.store.codec import (
    KINDS,
    decode_bindings,
    decode_event,
    decode_job,
    decode_names,
    decode_pairs,
    encode,
    kind_of,
)
from tests.property.effort import examples
from tests.property.shapes import of_type


@pytest.mark.parametrize("kind", KINDS)
@examples(30)
@given(data=st.data())
def test_every_event_comes_back_as_it_was_written(kind: str, data: st.DataObject) -> None:
    event = data.draw(of_type(KINDS[kind]))
    assert kind_of(event) == kind
    again = decode_event(kind, encode(event))
    assert type(again) is KINDS[kind]
    assert again == event


@examples(100)
@given(job=of_type(Job))
def test_every_record_comes_back_as_it_was_written(job: Job) -> None:
    again = decode_job(encode(job))
    assert again == job
    assert encode(again) == encode(job)


@examples(30)
@given(
    bindings=of_type(tuple[Binding, ...]), pairs=of_type(tuple[tuple[str, str], ...]), names=of_type(tuple[str, ...])
)
def test_what_is_kept_beside_the_log_comes_back_as_it_was_written(
    bindings: tuple[Binding, ...], pairs: tuple[tuple[str, str], ...], names: tuple[str, ...]
) -> None:
    assert decode_bindings(encode(bindings)) == bindings
    assert decode_pairs(encode(pairs)) == pairs
    assert decode_names(encode(names)) == names
