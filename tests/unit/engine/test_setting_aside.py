"""Operators empty nodes and set them aside; jobs that are in the way leave as if they were preempted."""

import pytest

from muster.backends.fake import GangScript
from muster.engine.folding.restoring import recorded, restored
from muster.model.errors import Conflict, InvalidInput, NotFound
from muster.model.events import EvictionOrdered, NodeChanged, ReservationRemoved, ReservationSet
from muster.model.ids import NodeName, TeamPath
from muster.model.job import JobState
from muster.model.machines import reservation as reservations
from muster.model.machines.reservation import Reservation
from muster.model.node import NodeState
from muster.model.policy import MINUTE_MS
from muster.model.records import evolve
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World, a_small_cluster

HOUR_MS = 60 * MINUTE_MS
SAVES = GangScript(run_ms=None, saves=True, stop_ms=5_000)
N1, N2 = NodeName("n1"), NodeName("n2")


def a_window(*nodes: NodeName, from_ms: int = HOUR_MS, to_ms: int = 2 * HOUR_MS, team: str = "") -> Reservation:
    return Reservation(name="upkeep", nodes=nodes or (N1,), from_ms=from_ms, to_ms=to_ms, team=TeamPath(team))


def orders(world: World) -> list[EvictionOrdered]:
    return [event for event in world.log.read() if isinstance(event, EvictionOrdered)]


def test_an_emptied_node_has_its_jobs_elsewhere_and_is_drained() -> None:
    world = World(a_small_cluster(2, 2))
    job = world.submit(a_job(gpus=2, checkpoint=True), SAVES, SAVES)
    world.run(until_ms=MINUTE_MS)
    node = world.engine.state.nodes[world.engine.job(job).workers[0].node]
    world.engine.observe(NodeChanged(at_ms=MINUTE_MS, node=evolve(node, state=NodeState.DRAINING), by="ops"))
    told = world.engine.setting_aside.evict(node.name, MINUTE_MS, grace_ms=5 * MINUTE_MS, by="ops", because="dust")
    assert told == (job,)
    (order,) = orders(world)
    assert (order.by_ms, order.by, order.because) == (6 * MINUTE_MS, "ops", "dust")
    assert world.state_of(job) is JobState.CHECKPOINTING
    world.run(until_ms=3 * MINUTE_MS)
    record = world.engine.job(job)
    assert (record.state, record.preemptions, record.retries_used) == (JobState.RUNNING, 1, 0)
    assert record.workers[0].node != node.name
    assert world.engine.state.nodes[node.name].state is NodeState.DRAINED
    assert world.engine.setting_aside.evict(node.name, 3 * MINUTE_MS, grace_ms=None, by="ops") == ()


def test_a_job_that_does_not_leave_in_time_is_killed() -> None:
    world = World(a_small_cluster(1, 2))
    job = world.submit(a_job(gpus=2), GangScript(run_ms=None, stop_ms=None))
    world.run(until_ms=MINUTE_MS)
    world.engine.setting_aside.evict(N1, MINUTE_MS, grace_ms=2 * MINUTE_MS, by="ops")
    world.run(until_ms=3 * MINUTE_MS - 1)
    assert world.state_of(job) is JobState.CHECKPOINTING
    world.run(until_ms=3 * MINUTE_MS)
    assert world.engine.job(job).preemptions == 1


def test_outsiders_are_told_to_leave_when_the_window_opens_and_members_stay() -> None:
    world = World(a_small_cluster(1, 2))
    outsider = world.submit(a_job(gpus=1, checkpoint=True), SAVES, FOREVER)
    member = world.submit(a_job(gpus=1, team="nlp"), FOREVER)
    world.run(until_ms=MINUTE_MS)
    window = a_window(team="nlp")
    assert world.engine.setting_aside.in_the_way(window) == (outsider,)
    world.engine.setting_aside.reserve(window, MINUTE_MS, by="ops")
    world.run(until_ms=HOUR_MS - 1)
    assert world.state_of(outsider) is JobState.RUNNING
    world.run(until_ms=HOUR_MS + MINUTE_MS)
    assert [world.state_of(each) for each in (outsider, member)] == [JobState.QUEUED, JobState.RUNNING]
    assert [(order.job, order.because) for order in orders(world)] == [(outsider, "reservation upkeep for team nlp")]
    world.run(until_ms=2 * HOUR_MS)
    assert world.state_of(outsider) is JobState.RUNNING
    assert world.engine.setting_aside.reservations == ()
    removed = [event for event in world.log.read() if isinstance(event, ReservationRemoved)]
    assert [(event.at_ms, event.because) for event in removed] == [(2 * HOUR_MS, "it is over")]


def test_a_job_with_a_long_limit_waits_until_maintenance_is_over() -> None:
    world = World(a_small_cluster(1, 2))
    world.engine.setting_aside.reserve(a_window(), 0, by="ops")
    long = world.submit(a_job(gpus=1, hours=3), FOREVER)
    short = world.submit(a_job(gpus=1, hours=0.5), FOREVER)
    world.run(until_ms=MINUTE_MS)
    assert [world.state_of(each) for each in (long, short)] == [JobState.QUEUED, JobState.RUNNING]
    world.run(until_ms=2 * HOUR_MS)
    assert world.engine.job(long).first_started_ms == 2 * HOUR_MS


def test_the_engine_does_not_wake_again_and_again_while_a_window_is_open() -> None:
    world = World(a_small_cluster(1, 2))
    world.engine.setting_aside.reserve(a_window(), 0, by="ops")
    assert world.engine.next_ms in (0, HOUR_MS)
    world.run(until_ms=HOUR_MS)
    assert world.engine.next_ms == 2 * HOUR_MS


def test_a_reservation_survives_a_restart() -> None:
    world = World(a_small_cluster(1, 2))
    world.engine.setting_aside.reserve(a_window(), 0, by="ops")
    again = World(a_small_cluster(1, 2), log=world.log)
    assert again.engine.setting_aside.reservations == (a_window(),)
    saved = restored(recorded(again.engine.state))
    assert saved.snapshot.setting.reservations == (a_window(),)
    world.engine.setting_aside.remove("upkeep", MINUTE_MS, by="ops", because="put off")
    assert world.engine.setting_aside.reservations == ()


def test_what_cannot_be_reserved_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(a_small_cluster(1, 2))
    aside = world.engine.setting_aside
    with pytest.raises(NotFound, match="there is no node n9"):
        aside.reserve(a_window(NodeName("n9")), 0, by="ops")
    with pytest.raises(InvalidInput, match="over before it begins"):
        aside.reserve(a_window(from_ms=HOUR_MS, to_ms=HOUR_MS), 0, by="ops")
    aside.reserve(a_window(), 0, by="ops")
    with pytest.raises(Conflict, match="there is a reservation upkeep"):
        aside.reserve(a_window(), 0, by="ops")
    monkeypatch.setattr("muster.engine.setting_aside.RESERVATIONS", 1)
    with pytest.raises(Conflict, match="as many as there may be"):
        aside.reserve(evolve(a_window(), name="other"), 0, by="ops")
    with pytest.raises(NotFound, match="there is no reservation other"):
        aside.remove("other", 0, by="ops")


def test_more_reservations_than_there_may_be_are_not_folded() -> None:
    world = World(a_small_cluster(1, 2))
    for number in range(reservations.RESERVATIONS + 1):
        window = evolve(a_window(), name=f"r{number:02}")
        world.engine._record(ReservationSet(at_ms=0, reservation=window))
    assert len(world.engine.setting_aside.reservations) == reservations.RESERVATIONS
