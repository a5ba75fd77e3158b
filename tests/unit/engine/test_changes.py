"""What people change while everything runs: the terms of a job, the rules, the cluster."""

import pytest

from muster.backends.fake import GangScript
from muster.core.admission import Rejected
from muster.engine.engine import Engine, Submitted
from muster.engine.folding.folding import fold
from muster.engine.folding.restoring import recorded, restored
from muster.engine.folding.state import State
from muster.model.errors import Conflict, InvalidInput, NotFound
from muster.model.events import (
    CONFIGURATION,
    ClusterChanged,
    JobSubmitted,
    NodeChanged,
    NodeReturned,
    NodeUnreachable,
    RulesChanged,
)
from muster.model.ids import JobId, NodeName, TierName
from muster.model.instructions import Command, StartWorkers
from muster.model.job import Cause, Job, JobState
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.policy import DEFAULT_TIERS, MINUTE_MS, Policy, Tier
from muster.model.records import evolve
from muster.model.scenario import Rules, Scenario
from muster.model.spec import ArraySpec, JobChanges
from muster.store.memory import MemoryLog
from tests.builders import a_job, a_node, a_team, flat
from tests.unit.engine.world import FOREVER, World, a_small_cluster

HOUR_MS = 60 * MINUTE_MS


def test_a_request_that_comes_again_under_the_same_key_gets_the_same_job() -> None:
    world = World()
    first = world.engine.submit(a_job(), 0, by="ada", key="k")
    again = world.restarted().engine.submit(a_job(), 1, by="ada", key="k")
    other = world.engine.submit(a_job(), 1, by="bob", key="k")
    assert isinstance(first, Submitted)
    assert isinstance(again, Submitted)
    assert isinstance(other, Submitted)
    assert (again.job, again.is_new) == (first.job, False)
    assert other.job != first.job


def test_a_waiting_job_that_becomes_urgent_goes_first() -> None:
    world = World(a_small_cluster(nodes=1))
    running = world.submit(a_job(gpus=2), GangScript(run_ms=HOUR_MS))
    world.settle()
    first, second = (world.submit(a_job(gpus=2), FOREVER) for _ in range(2))
    assert world.engine.update(second, world.now_ms, JobChanges(priority=90), by="ada")
    assert not world.engine.update(second, world.now_ms, JobChanges(priority=90), by="ada")
    world.run(until_ms=HOUR_MS)
    assert world.state_of(running) is JobState.SUCCEEDED
    assert world.state_of(second) is JobState.RUNNING
    assert world.state_of(first) is JobState.QUEUED


def test_a_running_job_may_be_given_more_or_less_time() -> None:
    world = World()
    longer = world.submit(a_job(hours=1), FOREVER)
    shorter = world.submit(a_job(hours=10), FOREVER)
    world.settle()
    world.engine.update(longer, world.now_ms, JobChanges(max_duration_ms=3 * HOUR_MS))
    world.engine.update(shorter, world.now_ms, JobChanges(max_duration_ms=HOUR_MS))
    world.run(until_ms=2 * HOUR_MS)
    assert world.state_of(longer) is JobState.RUNNING
    assert world.state_of(shorter) is JobState.TIMED_OUT


def test_nodes_hear_of_a_new_limit_because_they_keep_it_without_a_control_plane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    job = world.submit(a_job(hours=1), FOREVER)
    world.settle()
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    world.engine.update(job, world.now_ms, JobChanges(priority=90))
    assert sent == []
    world.engine.update(job, world.now_ms, JobChanges(max_duration_ms=3 * HOUR_MS))
    assert [each.max_duration_ms for each in sent if isinstance(each, StartWorkers)] == [3 * HOUR_MS]


def test_a_running_job_that_moves_down_a_tier_can_be_preempted_by_the_one_it_left() -> None:
    world = World(a_small_cluster(nodes=1))
    low = world.submit(a_job(gpus=2), FOREVER)
    world.run(until_ms=HOUR_MS)
    world.engine.update(low, world.now_ms, JobChanges(tier=TierName("exploratory")))
    world.submit(a_job(gpus=2), FOREVER)
    world.run(until_ms=2 * HOUR_MS)
    assert world.engine.job(low).preemptions == 1


def test_the_terms_of_an_array_are_those_of_all_its_tasks() -> None:
    world = World()
    array = world.submit(a_job(array=ArraySpec(indices=(0, 1, 2), concurrency=1)), FOREVER)
    world.engine.update(array, 0, JobChanges(priority=7, tags=(("project", "atlas"),)))
    specs = [world.engine.job(task).spec for task in world.engine.state.addressed(array)]
    assert [spec.priority for spec in specs] == [7, 7, 7]
    assert world.engine.state.array_specs[array].tags == (("project", "atlas"),)


def test_a_job_cannot_move_to_a_tier_that_does_not_exist() -> None:
    world = World()
    job = world.submit(a_job())
    with pytest.raises(InvalidInput, match="there is no tier urgent"):
        world.engine.update(job, 0, JobChanges(tier=TierName("urgent")))
    with pytest.raises(NotFound):
        world.engine.update(JobId("nobody"), 0, JobChanges(priority=1))


def test_a_quota_that_is_lowered_holds_for_jobs_that_wait() -> None:
    world = World()
    first = world.submit(a_job(gpus=2, team="nlp"), GangScript(run_ms=HOUR_MS))
    world.settle()
    world.engine.change_rules(Rules(teams=(a_team("nlp", limit={"*": 2}),)), world.now_ms, by="ada")
    second = world.submit(a_job(gpus=2, team="nlp"), FOREVER)
    world.run(until_ms=HOUR_MS - 1)
    assert [world.state_of(job) for job in (first, second)] == [JobState.RUNNING, JobState.QUEUED]
    world.run(until_ms=HOUR_MS)
    assert world.state_of(second) is JobState.RUNNING
    assert isinstance(world.engine.submit(a_job(gpus=4, team="nlp"), world.now_ms), Rejected)


def test_a_tier_cannot_go_while_a_job_is_in_it() -> None:
    world = World()
    job = world.submit(a_job(), FOREVER)
    rules = Rules(tiers=(Tier(name=TierName("other")),))
    with pytest.raises(Conflict, match=f"{job} is in it"):
        world.engine.change_rules(rules, 0)
    world.engine.cancel(job, 0)
    assert world.engine.change_rules(rules, 0)
    assert world.engine.rules == rules
    assert not world.engine.change_rules(rules, 0)


def test_rules_can_change_back_and_forth_while_jobs_run_and_wait() -> None:
    world = World()
    jobs = [world.submit(a_job(gpus=1, checkpoint=True), GangScript(run_ms=2 * HOUR_MS)) for _ in range(7)]
    world.settle()
    for hour, policy in enumerate((Policy(turns=False), Policy(), Policy(turns=False), Policy(backfill=False))):
        world.run(until_ms=hour * HOUR_MS)
        world.engine.change_rules(Rules(tiers=DEFAULT_TIERS, policy=policy), world.now_ms)
    world.run(until_ms=24 * HOUR_MS)
    assert [world.state_of(job) for job in jobs] == [JobState.SUCCEEDED] * 7


def test_an_engine_may_begin_with_nothing_and_be_given_a_cluster() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    assert isinstance(world.engine.submit(a_job(), 0), Rejected)
    assert world.engine.change_cluster(flat(2, gpus=2), 0)
    assert not world.engine.change_cluster(flat(2, gpus=2), 0)
    job = world.submit(a_job(workers=2, gpus=2), GangScript(run_ms=HOUR_MS))
    world.run(until_ms=HOUR_MS)
    assert world.state_of(job) is JobState.SUCCEEDED


def test_a_node_that_is_taken_away_is_lost_with_what_it_ran_and_the_rest_goes_on() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    world.engine.change_cluster(flat(2, gpus=2), 0)
    jobs = [world.submit(a_job(gpus=2), GangScript(run_ms=HOUR_MS)) for _ in range(2)]
    world.settle()
    world.engine.change_cluster(flat(1, gpus=2), world.now_ms)
    world.run(until_ms=4 * HOUR_MS)
    assert [world.state_of(job) for job in jobs] == [JobState.SUCCEEDED] * 2
    assert sum(world.engine.job(job).node_failures for job in jobs) == 1
    world.engine.change_cluster(flat(1, gpus=2), world.now_ms)
    assert list(world.engine.state.nodes) == ["n1"]


def test_what_was_found_out_about_a_node_outlives_its_configuration() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    world.engine.change_cluster(flat(2, gpus=2), 0)
    drained = a_node("n1", gpus=2, state=NodeState.DRAINED, bad_gpus=(1,))
    world.engine.observe(NodeChanged(at_ms=0, node=drained, by="ada"))
    world.engine.change_cluster(flat(3, gpus=2), 0)
    assert world.engine.state.nodes[NodeName("n1")].state is NodeState.DRAINED
    assert world.engine.state.nodes[NodeName("n1")].bad_gpus == (1,)
    assert len(world.engine.state.nodes) == 3


N1 = NodeName("n1")


def configured(world: World, state: NodeState = NodeState.READY, bad_gpus: tuple[int, ...] = ()) -> Node:
    """The first of two nodes once the configuration says this of it."""
    first = a_node("n1", gpus=2, state=state, bad_gpus=bad_gpus)
    world.engine.change_cluster(ClusterSpec(nodes=(first, a_node("n2", gpus=2))), 0, by=CONFIGURATION)
    return world.engine.state.nodes[N1]


def test_a_state_that_is_configured_counts_until_an_operator_or_the_configuration_says_otherwise() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    assert configured(world, NodeState.DRAINED).state is NodeState.DRAINED
    world.engine.observe(NodeChanged(at_ms=0, node=a_node("n1", gpus=2), by="ada"))
    assert configured(world, NodeState.DRAINED).state is NodeState.READY
    assert configured(world).state is NodeState.READY
    assert configured(world, NodeState.DRAINED).state is NodeState.DRAINED
    assert configured(world).state is NodeState.READY
    assert not world.engine.state.set_aside


def test_a_node_that_the_configuration_keeps_out_stays_out_when_it_is_lost_and_returns() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    configured(world, NodeState.DRAINED)
    world.engine.observe(NodeUnreachable(at_ms=1, node=N1), NodeReturned(at_ms=2, node=N1))
    assert world.engine.state.nodes[N1].state is NodeState.DRAINED
    world.engine.observe(NodeUnreachable(at_ms=3, node=N1))
    assert configured(world, NodeState.DRAINED).state is NodeState.DRAINED
    world.engine.observe(NodeUnreachable(at_ms=4, node=NodeName("n2")))
    configured(world, NodeState.DRAINED)
    assert world.engine.state.nodes[NodeName("n2")].state is NodeState.READY


def test_bad_gpus_that_are_configured_are_joined_to_those_that_were_found() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    assert configured(world, bad_gpus=(0,)).bad_gpus == (0,)
    world.engine.observe(NodeChanged(at_ms=0, node=a_node("n1", gpus=2, bad_gpus=(0, 1)), by="ada"))
    assert configured(world, bad_gpus=(0,)).bad_gpus == (0, 1)
    assert configured(world).bad_gpus == (1,)
    world.engine.observe(NodeChanged(at_ms=0, node=a_node("n1", gpus=2), by="ada"))
    assert configured(world).bad_gpus == ()
    assert restored(recorded(world.engine.state)).configured_cluster == world.engine.state.configured_cluster


def test_a_log_that_does_not_say_what_was_configured_is_folded_as_before() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    away = ClusterSpec(nodes=(a_node("n1", gpus=2, state=NodeState.DOWN),))
    fold(world.engine.state, ClusterChanged(at_ms=0, cluster=away, by=CONFIGURATION))
    before = world.engine.state.configured_cluster
    fold(world.engine.state, ClusterChanged(at_ms=0, cluster=away, by=CONFIGURATION, configured=flat(1, gpus=2)))
    assert (before, world.engine.state.configured_cluster) == (None, flat(1, gpus=2))
    assert not world.engine.state.set_aside, "a node that is away was not taken out of service"


def test_an_engine_that_starts_from_a_saved_state_folds_only_what_came_after() -> None:
    world = World()
    world.submit(a_job(gpus=2), FOREVER)
    world.settle()
    saved = restored(recorded(world.engine.state))
    version = saved.version
    later = world.submit(a_job(), FOREVER)
    world.settle()
    reads: list[int] = []

    class _Watched(MemoryLog):
        def read(self, from_version: int = 0):  # type: ignore[no-untyped-def]
            reads.append(from_version)
            return super().read(from_version)

    log = _Watched(tuple(world.log.read()))
    again = Engine(scenario=world.scenario, log=log, backend=world.backend, saved=saved)
    assert reads == [version]
    assert again.state.jobs == world.engine.state.jobs
    assert again.state.jobs[later].state is JobState.RUNNING


def test_the_same_log_folds_to_the_same_state_with_changes_in_it() -> None:
    world = World(Scenario(now_ms=0, cluster=ClusterSpec()))
    world.engine.change_cluster(flat(2, gpus=2), 0)
    job = world.submit(a_job(gpus=2), GangScript(run_ms=HOUR_MS))
    world.engine.change_rules(Rules(teams=(a_team("nlp", limit={"*": 2}),)), 0)
    world.engine.update(job, 0, JobChanges(priority=1))
    world.run(until_ms=2 * HOUR_MS)
    state = State(world.scenario)
    for event in world.log.read():
        fold(state, event)
    assert state.jobs == world.engine.state.jobs
    assert state.nodes == world.engine.state.nodes
    assert state.snapshot.rules == world.engine.rules


def test_a_job_says_how_the_worker_ended_by_which_it_failed() -> None:
    world = World()
    job = world.submit(a_job(workers=2), GangScript(run_ms=None, crash_rank=1, crash_ms=MINUTE_MS))
    world.run(until_ms=HOUR_MS)
    assert world.state_of(job) is JobState.FAILED
    assert world.engine.job(job).exit_code == 1
    assert world.engine.job(job).cause is Cause.ERROR


def test_a_node_that_was_drained_stays_drained_when_it_is_lost_and_comes_back() -> None:
    world = World()
    node = world.engine.state.nodes[NodeName("n1")]
    world.engine.observe(NodeChanged(at_ms=0, node=evolve(node, state=NodeState.DRAINING), by="ada"))
    assert world.engine.state.nodes[node.name].state is NodeState.DRAINED
    world.backend.lose_node(node.name)
    world.settle()
    assert world.engine.state.nodes[node.name].state is NodeState.DOWN
    world.backend.return_node(node)
    world.settle()
    assert world.engine.state.nodes[node.name].state is NodeState.DRAINED
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=node, by="ada"))
    assert world.engine.state.nodes[node.name].state is NodeState.READY


def test_a_node_that_is_new_adds_to_what_every_job_is_due() -> None:
    team = a_team("t")
    state = State(Scenario(now_ms=0, cluster=flat(1), teams=(team,), tiers=DEFAULT_TIERS, policy=Policy()))
    fold(state, JobSubmitted(at_ms=0, job=JobId("j"), spec=a_job(team="t")))
    assert state.snapshot.entitlements.share_milli(JobId("j"), 0) == 8_000
    fold(state, NodeChanged(at_ms=0, node=a_node("n9"), because="new"))
    assert state.snapshot.entitlements.share_milli(JobId("j"), 0) == 16_000


def test_teams_that_are_declared_later_count_for_jobs_that_wait_already() -> None:
    rules = Policy()
    state = State(Scenario(now_ms=0, cluster=flat(1), teams=(), tiers=DEFAULT_TIERS, policy=rules))
    waiting = Job(
        id=JobId("j"), spec=a_job(team="t"), state=JobState.QUEUED, submitted_ms=0, attained_gpu_ms=1, requeued=True
    )
    assert state.starvation is not None
    state.starvation.follow(None, waiting, 0)
    state.jobs[waiting.id] = waiting
    assert state.starvation.timers.next_ms is None
    declared = Rules(teams=(a_team("t"),), tiers=DEFAULT_TIERS, pools=(), policy=rules)
    fold(state, RulesChanged(at_ms=5, rules=declared, by="ada"))
    assert state.starvation.timers.next_ms is not None
