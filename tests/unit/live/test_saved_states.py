"""Saved states: read as data, and of no matter when they cannot be."""

import zlib
from pathlib import Path

import pytest

from muster.engine.folding.restoring import recorded, restored
from muster.engine.folding.state import State
from muster.live import saved_states
from muster.model.errors import TooNew
from muster.model.records import evolve
from muster.store import codec
from muster.store.codec import decode_state, encode_state
from muster.store.memory import MemoryStates
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World, a_small_cluster


def a_state() -> State:
    world = World()
    world.submit(a_job(gpus=2), FOREVER)
    world.settle()
    return world.engine.state


def test_a_state_comes_back_as_it_was_kept() -> None:
    states, state = MemoryStates(), a_state()
    saved_states.save(states, state)
    loaded = saved_states.load(states)
    assert loaded is not None
    assert recorded(loaded.state) == recorded(state)


def test_what_would_run_something_when_read_as_python_is_passed_over(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    pickled = f"cos\nsystem\n(S'touch {mark}'\ntR.".encode()  # what pickle.loads would run
    for body in (pickled, zlib.compress(pickled)):
        states = MemoryStates()
        states.save_state(5, saved_states.LAYOUT, body)
        assert saved_states.load(states) is None
    assert not mark.exists()


@pytest.mark.parametrize("body", [b"", b"nonsense", zlib.compress(b"{}"), zlib.compress(b"[1")])
def test_a_state_that_cannot_be_decoded_is_passed_over(body: bytes) -> None:
    states = MemoryStates()
    states.save_state(5, saved_states.LAYOUT, body)
    assert saved_states.load(states) is None


def test_a_state_that_contradicts_itself_is_passed_over() -> None:
    state, states = a_state(), MemoryStates()
    record = recorded(state)
    without_nodes = evolve(record.snapshot.scenario, cluster=a_small_cluster(nodes=0).cluster)
    forged = evolve(record, snapshot=evolve(record.snapshot, scenario=without_nodes))
    for kept, is_sound in ((forged, False), (record, True)):
        states.save_state(state.version, saved_states.LAYOUT, encode_state(kept))
        assert (saved_states.load(states) is not None) is is_sound


def test_a_state_of_another_version_than_it_was_kept_under_is_passed_over() -> None:
    state, states = a_state(), MemoryStates()
    for ahead in (1, 0):
        states.save_state(state.version + ahead, saved_states.LAYOUT, encode_state(recorded(state)))
        assert (saved_states.load(states) is None) is bool(ahead)


def test_a_state_that_unpacks_to_more_than_is_allowed_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    body = encode_state(recorded(a_state()))
    monkeypatch.setattr(codec, "STATE_BYTES", 100)
    with pytest.raises(TooNew, match="more than 100 bytes"):
        decode_state(body)


KEPT = Path(__file__).with_name(f"state_of_rules_{saved_states.RULES}.json")
"""A state as some earlier Muster kept it under the present rules."""


def test_a_state_of_the_same_rules_is_what_the_log_folds_to_now() -> None:
    """A field that is added with a default needs nothing. For anything else count RULES up and keep a state anew."""
    older = decode_state(zlib.compress(KEPT.read_bytes()))
    assert recorded(restored(older)) == recorded(a_state())


def keep_anew() -> None:
    """Write the file. Run by `python -m tests.unit.live.test_saved_states` once RULES was counted up."""
    KEPT.write_bytes(zlib.decompress(encode_state(recorded(a_state()))) + b"\n")


if __name__ == "__main__":
    keep_anew()
