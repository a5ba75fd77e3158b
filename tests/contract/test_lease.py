"""The lease on a real PostgreSQL: one epoch leads, and a transaction of an older one writes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from muster.model.errors import MusterError, Refused, Superseded, Unavailable
from muster.model.events import Event, TimerFired
from muster.model.ids import JobId
from muster.model.machines.lease import LeaseHolder
from muster.model.machines.ownership import Leadership, Owner
from muster.store.sql.store import SharedStore, open_shared_store
from tests.postgres import Server

OWNER = Owner(machine="m", home="/home")
EVENTS: list[Event] = [TimerFired(at_ms=1, job=JobId("job-1"))]


@pytest.fixture
def stores(postgres: Server) -> Iterator[tuple[SharedStore, SharedStore]]:
    """Two control planes on one database."""
    url = postgres.new_url()
    with open_shared_store(url) as first, open_shared_store(url) as second:
        yield first, second


def lead(store: SharedStore, name: str) -> Leadership:
    """Take the lease as it is now."""
    seen = store.lease.read()
    store.lease.begin_writing(seen)
    return store.cluster.lead(OWNER, holder=LeaseHolder(id=name, url=f"http://{name}"), seen=seen)


@contextmanager
def an_open_transaction(store: SharedStore) -> Iterator[None]:
    """A process that stops in the middle of a write, and goes on later."""
    writing = store._database.writing("append")
    writing.__enter__()
    try:
        yield
    finally:
        with pytest.raises(Unavailable):
            writing.__exit__(None, None, None)


def test_a_store_that_does_not_lead_reads_and_cannot_write(stores: tuple[SharedStore, SharedStore]) -> None:
    first, second = stores
    lead(first, "a")
    first.log.append(EVENTS, 0)
    assert list(second.log.read()) == EVENTS
    with pytest.raises(Refused):
        second.log.append(EVENTS, 1)
    holder = second.lease.read().holder
    assert holder is not None
    assert holder.url == "http://a"


def test_a_leader_that_was_replaced_can_write_nothing(stores: tuple[SharedStore, SharedStore]) -> None:
    first, second = stores
    assert lead(first, "a").epoch == 1
    first.log.append(EVENTS, 0)
    assert lead(second, "b").epoch == 2
    second.log.append(EVENTS, 1)
    for _ in range(3):
        with pytest.raises(MusterError):
            first.log.append(EVENTS, 2)
    with pytest.raises(Superseded):
        first.lease.renew(1)
    assert second.log.version == 2


def test_it_can_write_nothing_even_when_it_gets_the_lock_back(stores: tuple[SharedStore, SharedStore]) -> None:
    first, second = stores
    lead(first, "a")
    lead(second, "b")
    second.lease.end_writing()
    with pytest.raises(Unavailable):
        first.log.append(EVENTS, 0)  # its connection was ended
    for write in (
        lambda: first.log.append(EVENTS, 0),
        lambda: first.states.save_state(0, "layout", b""),
        first.cluster.forget_former,
        first.log.check,
    ):
        with pytest.raises(Superseded, match="epoch 2"):
            write()
    assert second.log.version == 0


def test_a_leader_that_stopped_within_a_transaction_holds_nobody_up(stores: tuple[SharedStore, SharedStore]) -> None:
    first, second = stores
    lead(first, "a")
    with an_open_transaction(first):
        assert lead(second, "b").epoch == 2
        second.log.append(EVENTS, 0)


def test_a_lease_that_was_renewed_since_it_was_seen_cannot_be_taken(stores: tuple[SharedStore, SharedStore]) -> None:
    first, second = stores
    lead(first, "a")
    seen = second.lease.read()
    first.lease.renew(1)
    second.lease.begin_writing(seen)
    with pytest.raises(Superseded, match="renewed"):
        second.cluster.lead(OWNER, holder=LeaseHolder(id="b", url="http://b"), seen=seen)
    second.lease.end_writing()
    with pytest.raises(Unavailable):
        first.log.append(EVENTS, 0)  # its connection was ended
    assert first.log.append(EVENTS, 0) == 1


def test_a_lease_is_asked_for_and_given_up(stores: tuple[SharedStore, SharedStore]) -> None:
    first, second = stores
    lead(first, "a")
    second.lease.want("b")
    assert first.lease.renew(1).wanted_by == "b"
    first.lease.give_up(1)
    assert second.lease.read().holder is None
    with pytest.raises(Superseded):
        first.lease.renew(1)
    first.lease.end_writing()
    lead(second, "b")
    first.lease.give_up(1)
    record = second.lease.read()
    assert record.wanted_by == ""
    assert record.holder is not None
    assert record.holder.id == "b"
