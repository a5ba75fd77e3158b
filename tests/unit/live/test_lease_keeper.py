"""The leader's lease: what keeps it, what loses it, and what it allows meanwhile."""

import pytest

from muster.live.leadership.fenced_sends import FencedSends
from muster.live.leadership.lease_keeper import LeaseKeeper
from muster.model.errors import Superseded, Unavailable
from muster.model.events import ObservedEvent
from muster.model.ids import JobId
from muster.model.instructions import Command, KillWorkers
from muster.model.machines.lease import LEASE_MS, LeaseHolder, LeaseRecord


class LeaseInMemory:
    """A lease whose database may be away."""

    def __init__(self) -> None:
        self.record = LeaseRecord(epoch=1, holder=LeaseHolder(id="a", url="http://a"))
        self.is_away = False
        self.given_up: list[int] = []

    def read(self) -> LeaseRecord:
        if self.is_away:
            raise Unavailable("away")
        return self.record

    def renew(self, epoch: int) -> LeaseRecord:
        record = self.read()
        if record.epoch != epoch:
            raise Superseded("another leads")
        return record

    def give_up(self, epoch: int) -> None:
        self.given_up.append(epoch)


class World:
    """A keeper on a clock that the test moves."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.store = LeaseInMemory()
        self.told: list[str] = []
        self.keeper = LeaseKeeper(self.store, "a", lambda: self.told.append("over"), now_ms=lambda: self.now_ms)
        self.keeper.begin(1, 0)


@pytest.fixture
def world() -> World:
    return World()


def test_it_is_valid_while_it_is_renewed(world: World) -> None:
    for at_ms in range(0, 10 * LEASE_MS, LEASE_MS // 2):
        world.now_ms = at_ms
        assert world.keeper.is_valid
        assert world.keeper.renew()
        world.keeper.check()
    world.keeper.end()
    assert world.store.given_up == [1]


def test_it_is_over_by_the_clock_alone_and_valid_again_if_nobody_took_it(world: World) -> None:
    world.store.is_away = True
    world.now_ms = LEASE_MS
    assert not world.keeper.renew()
    with pytest.raises(Unavailable, match="may lead now"):
        world.keeper.check()
    world.store.is_away = False
    assert world.keeper.renew()
    world.keeper.check()
    assert world.told == []


def test_a_process_that_was_stopped_finds_it_over_before_it_asks_anybody(world: World) -> None:
    world.now_ms = 10 * LEASE_MS
    assert not world.keeper.is_valid


def test_another_epoch_ends_it_for_good_and_nothing_is_given_up(world: World) -> None:
    world.store.record = LeaseRecord(epoch=2)
    world.keeper.renew()
    world.keeper.renew()
    assert world.told == ["over"]
    with pytest.raises(Superseded):
        world.keeper.check()
    world.keeper.end()
    assert world.store.given_up == []


def test_a_leader_that_is_asked_to_hand_over_is_told(world: World) -> None:
    world.store.record = LeaseRecord(epoch=1, wanted_by="b")
    world.keeper.renew()
    assert world.told == ["over"]
    assert world.keeper.is_valid


def test_a_leader_that_cannot_work_lets_it_run_out(world: World) -> None:
    world.keeper.is_working = lambda: False
    world.now_ms = LEASE_MS - 1_500
    world.keeper.renew()
    world.now_ms = LEASE_MS
    assert not world.keeper.is_valid


class Sent:
    """A backend that notes what it is sent."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def send(self, command: Command) -> None:
        self.commands.append(command)

    def poll(self) -> tuple[ObservedEvent, ...]:
        return ()


def test_nothing_is_sent_without_a_valid_lease(world: World) -> None:
    backend = Sent()
    fenced = FencedSends(backend, world.keeper)
    kill = KillWorkers(job=JobId("job-1"), attempt=1, generation=1, ranks=(0,))
    fenced.send(kill)
    world.now_ms = LEASE_MS
    with pytest.raises(Unavailable):
        fenced.send(kill)
    world.store.record = LeaseRecord(epoch=2)
    world.keeper.renew()
    with pytest.raises(Superseded):
        fenced.send(kill)
    assert backend.commands == [kill]
