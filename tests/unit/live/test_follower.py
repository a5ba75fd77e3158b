"""A standby sees what the leader writes, and nothing else: its views are those of the leader."""

import threading
from collections.abc import Sequence
from functools import partial

import pytest

from muster.engine.engine import Engine
from muster.live.leadership.candidacy import Candidacy
from muster.live.leadership.follower import Follower
from muster.model.errors import NotLeading, Unavailable
from muster.model.events import Event
from muster.model.ids import JobId
from muster.model.machines.lease import LeaseHolder, LeaseRecord
from muster.model.spec import ArraySpec
from muster.store.memory import MemoryLog, MemoryStates
from tests.builders import a_job
from tests.unit.live.writer import DEADLINE_S, running, submitted

OWN = LeaseHolder(id="b", url="http://b")


class LeaseOfAnother:
    """A lease that another control plane holds."""

    def __init__(self) -> None:
        self.record = LeaseRecord(epoch=1, holder=LeaseHolder(id="a", url="http://a"))
        self.is_away = False
        self.wanted: list[str] = []

    def read(self) -> LeaseRecord:
        if self.is_away:
            raise Unavailable("away")
        return self.record

    def want(self, holder: str) -> None:
        self.wanted.append(holder)


def follower_of(log: MemoryLog, lease: LeaseOfAnother | None = None, **more: bool) -> tuple[Follower, list[str]]:
    """A standby, and what it did when its turn came."""
    turns: list[str] = []
    candidacy = Candidacy(lease or LeaseOfAnother(), OWN, asks_for_it=more.get("asks", False))
    return Follower(log=log, states=MemoryStates(), candidacy=candidacy, on_turn=lambda: turns.append("mine")), turns


def hold(job: JobId, engine: Engine, now_ms: int) -> bool:
    return engine.hold(job, now_ms)


def test_its_views_are_those_of_the_leader_after_every_write() -> None:
    log = MemoryLog()
    with running(log) as leader:
        follower, _ = follower_of(log)
        assert follower.view == leader.view
        for spec in (a_job("one"), a_job("sweep", array=ArraySpec(indices=(0, 1, 2))), a_job("two")):
            job = submitted(leader, spec)
            leader.ask(partial(hold, job)).result(DEADLINE_S)
            follower.follow()
            assert follower.view == leader.view
            assert follower.feed.version == leader.feed.version
        leader.ask(lambda engine, now_ms: engine.submit(a_job("late"), now_ms, held=True)).result(DEADLINE_S)
        leader.ask(lambda engine, now_ms: engine.cancel(JobId("job-4"), now_ms)).result(DEADLINE_S)
        follower.follow()
        assert follower.view == leader.view
        assert JobId("job-4") not in follower.state.jobs


def test_watchers_of_a_standby_hear_what_the_leader_writes() -> None:
    log = MemoryLog()
    with running(log) as leader:
        follower, _ = follower_of(log)
        began, heard = follower.feed.version, []
        follower.feed.subscribe(lambda: heard.append(follower.feed.version))
        job = submitted(leader)
        follower.follow()
        assert heard
        published = follower.feed.after(began, 100)
        assert published is not None
        assert {getattr(each.event, "job", None) for _, each in published} == {job}


def test_it_changes_nothing_and_says_who_could() -> None:
    follower, _ = follower_of(MemoryLog())
    with pytest.raises(NotLeading):
        follower.ask(lambda engine, now_ms: engine.tick(now_ms))
    assert (follower.role, follower.leader_url) == ("standby", "")
    assert not follower.look()
    assert follower.leader_url == "http://a"


def test_it_may_lead_once_the_lease_is_given_up() -> None:
    lease = LeaseOfAnother()
    follower, _ = follower_of(MemoryLog(), lease)
    assert not follower.look()
    lease.record = LeaseRecord(epoch=1)
    assert follower.look()


def test_its_thread_says_once_that_it_is_its_turn() -> None:
    lease = LeaseOfAnother()
    lease.record = LeaseRecord(epoch=1)
    is_told = threading.Event()
    candidacy = Candidacy(lease, OWN)
    follower = Follower(log=MemoryLog(), states=MemoryStates(), candidacy=candidacy, on_turn=is_told.set)
    follower.start()
    assert is_told.wait(DEADLINE_S)
    follower.stop()


def test_it_does_not_lead_while_it_cannot_follow() -> None:
    class Broken(MemoryLog):
        is_broken = False

        def events_after(self, version: int, limit: int, job: JobId | None = None) -> Sequence[tuple[int, Event]]:
            if self.is_broken:
                raise Unavailable("no answer", brief="the store does not answer")
            return super().events_after(version, limit, job)

    lease, log = LeaseOfAnother(), Broken()
    follower, _ = follower_of(log, lease)
    log.is_broken = True
    lease.record = LeaseRecord(epoch=1)
    assert not follower.look()
    assert follower.brief_trouble == "the store does not answer"
    log.is_broken = False
    assert follower.look()
    assert not follower.trouble


def test_a_lease_that_cannot_be_read_is_trouble() -> None:
    lease = LeaseOfAnother()
    follower, _ = follower_of(MemoryLog(), lease)
    lease.is_away = True
    assert not follower.look()
    assert follower.trouble == "away"


def test_it_asks_for_the_lead_once_it_could_lead() -> None:
    lease = LeaseOfAnother()
    follower, _ = follower_of(MemoryLog(), lease, asks=True)
    assert lease.wanted == []
    for _ in range(2):
        follower.look()
    assert lease.wanted == ["b"]


def test_a_holder_that_is_a_dead_process_of_this_machine_need_not_be_waited_for() -> None:
    own = LeaseHolder(id="b", url="http://b", machine="m", host="h")
    lease = LeaseOfAnother()
    candidacy = Candidacy(lease, own)
    for machine, host, is_free in (("other", "h", False), ("m", "other", False), ("m", "h", True)):
        holder = LeaseHolder(id="a", url="http://a", machine=machine, host=host, pid=2**22 + 1, start_ticks=1)
        lease.record = LeaseRecord(epoch=1, holder=holder)
        assert candidacy.look() is is_free
