"""What every store of saved states must do."""

import pytest

from muster.model.errors import Conflict
from muster.model.events import TimerFired
from muster.model.ids import JobId
from muster.store.base import SavedState
from muster.store.sql import SqlStore


@pytest.fixture
def grown(store: SqlStore) -> SqlStore:
    """A store with five events."""
    store.log.append([TimerFired(at_ms=each, job=JobId("job-1")) for each in range(5)], expected_version=0)
    return store


def test_there_is_no_state_before_one_is_saved(store: SqlStore) -> None:
    assert store.states.load_state("layout") is None


def test_the_newest_state_of_a_layout_is_loaded(grown: SqlStore) -> None:
    grown.states.save_state(1, "layout", b"one")
    grown.states.save_state(3, "layout", b"three")
    assert grown.states.load_state("layout") == SavedState(version=3, body=b"three")
    assert grown.states.load_state("another") is None


def test_an_older_state_is_loaded_when_the_newest_has_another_layout(grown: SqlStore) -> None:
    grown.states.save_state(1, "old", b"one")
    grown.states.save_state(3, "new", b"three")
    assert grown.states.load_state("old") == SavedState(version=1, body=b"one")


def test_only_the_newest_two_are_kept(grown: SqlStore) -> None:
    grown.states.save_state(1, "first", b"one")
    grown.states.save_state(2, "second", b"two")
    grown.states.save_state(3, "third", b"three")
    assert grown.states.load_state("first") is None
    assert grown.states.load_state("second") == SavedState(version=2, body=b"two")


def test_saving_at_the_same_version_again_replaces(grown: SqlStore) -> None:
    grown.states.save_state(5, "layout", b"before")
    grown.states.save_state(5, "layout", bytes(range(256)) * 40_000)
    loaded = grown.states.load_state("layout")
    assert loaded is not None
    assert loaded.body == bytes(range(256)) * 40_000


def test_the_state_of_an_empty_log_can_be_saved(store: SqlStore) -> None:
    store.states.save_state(0, "layout", b"")
    assert store.states.load_state("layout") == SavedState(version=0, body=b"")


def test_a_state_ahead_of_the_log_is_refused(grown: SqlStore) -> None:
    with pytest.raises(Conflict, match="no event 6"):
        grown.states.save_state(6, "layout", b"six")
