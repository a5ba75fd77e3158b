"""When a leader may act, and when another may take its place: the two never overlap."""

from hypothesis import given
from hypothesis import strategies as st

from muster.core.lease import HeldLease, LeaseWatch
from muster.model.machines.lease import HEIR_MS, LEASE_MARGIN_MS, LEASE_MS, LEASE_RENEW_MS, LeaseHolder, LeaseRecord

HELD = LeaseRecord(epoch=3, beat=7, holder=LeaseHolder(id="a", url="http://a"))
GIVEN_UP = LeaseRecord(epoch=3)


def test_a_lease_is_valid_until_a_margin_before_its_end() -> None:
    held = HeldLease(asked_ms=1_000)
    assert held.is_valid(1_000 + LEASE_MS - LEASE_MARGIN_MS - 1)
    assert not held.is_valid(1_000 + LEASE_MS - LEASE_MARGIN_MS)


def test_a_renewal_counts_from_when_it_was_asked_for_and_never_shortens() -> None:
    held = HeldLease(asked_ms=0)
    held.renewed(asked_ms=LEASE_RENEW_MS)
    held.renewed(asked_ms=10)
    assert held.is_valid(LEASE_RENEW_MS + LEASE_MS - LEASE_MARGIN_MS - 1)


def test_a_lost_lease_is_never_valid_again() -> None:
    held = HeldLease(asked_ms=0)
    held.lose()
    held.renewed(asked_ms=1)
    assert not held.is_valid(2)


def test_a_standby_waits_for_a_whole_lease_without_a_renewal() -> None:
    watch = LeaseWatch("b")
    assert not watch.look(HELD, 0)
    assert not watch.look(HELD, LEASE_MS - 1)
    assert watch.look(HELD, LEASE_MS)


def test_every_renewal_begins_the_wait_anew() -> None:
    watch = LeaseWatch("b")
    watch.look(HELD, 0)
    renewed = LeaseRecord(epoch=3, beat=8, holder=HELD.holder)
    assert not watch.look(renewed, LEASE_MS)
    assert not watch.look(renewed, 2 * LEASE_MS - 1)
    assert watch.look(renewed, 2 * LEASE_MS)


def test_a_database_that_was_away_may_have_kept_the_leader_from_renewing() -> None:
    watch = LeaseWatch("b")
    watch.look(HELD, 0)
    watch.forget()
    assert not watch.look(HELD, LEASE_MS)


def test_a_lease_that_was_given_up_or_whose_holder_is_dead_is_taken_at_once() -> None:
    assert LeaseWatch("b").look(GIVEN_UP, 0)
    assert LeaseWatch("b").look(HELD, 0, is_dead=True)
    assert LeaseWatch("b").look(LeaseRecord(), 0)


def test_a_lease_that_was_asked_for_is_kept_for_the_one_that_asked() -> None:
    handed_over = LeaseRecord(epoch=3, wanted_by="b")
    other = LeaseWatch("c")
    assert LeaseWatch("b").look(handed_over, 0)
    assert not other.look(handed_over, 0)
    assert not other.look(handed_over, HEIR_MS - 1)
    assert other.look(handed_over, HEIR_MS)


@given(
    asked=st.lists(st.integers(0, 3_000), min_size=1, max_size=8),
    delays=st.lists(st.integers(0, 2_000), min_size=8, max_size=8),
    looks=st.lists(st.integers(1, 4_000), min_size=1, max_size=20),
)
def test_the_leader_stops_before_another_may_begin_whatever_the_delays(
    asked: list[int], delays: list[int], looks: list[int]
) -> None:
    """Renewals arrive in the database some time after they were asked for. The standby looks when it likes."""
    times = [sum(asked[: place + 1]) for place in range(len(asked))]
    arrivals = [at_ms + delay for at_ms, delay in zip(times, delays, strict=False)]
    watch, now_ms = LeaseWatch("b"), arrivals[0]
    for gap in looks:
        now_ms += gap
        arrived = [at_ms for at_ms, arrival in zip(times, arrivals, strict=True) if arrival <= now_ms]
        held = HeldLease(times[0])
        for at_ms in arrived:
            held.renewed(at_ms)
        if watch.look(LeaseRecord(epoch=1, beat=len(arrived), holder=HELD.holder), now_ms):
            assert not held.is_valid(now_ms)
