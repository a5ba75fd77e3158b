"""Slow ranks and hangs: noted, or the job starts again, as its file says."""

import pytest

from muster.core.lifecycle.verdicts import avoided_nodes
from muster.model.events import HangFound, HangOver, StragglerFound, StragglerGone, VerdictEvent
from muster.model.ids import NodeName
from muster.model.instructions import SignalStop
from muster.model.job import Cause, JobState
from muster.model.limits import FAILED_GANG_GRACE_MS, FAULTS_IN_A_ROW, REMEDIES_PER_HOUR
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.spec import JobSpec, Remedy
from muster.model.telemetry import Hang, Straggler
from tests.unit.core.lifecycle.builders import (
    GRACE_MS,
    JOB,
    MINUTE_MS,
    Played,
    a_spec,
    exits,
    running,
    start,
    starting,
    stopping,
    that_saves,
    up,
)


def that_wants(*, straggler: Remedy = Remedy.REPORT, hang: Remedy = Remedy.REPORT) -> JobSpec:
    return evolve(a_spec(workers=3), on_straggler=straggler, on_hang=hang)


def slow(rank: int = 1, *, at_ms: int = MINUTE_MS, attempt: int = 1) -> StragglerFound:
    straggler = Straggler(rank=rank, worker=rank, node=NodeName(f"n{rank}"), slowdown_milli=1300, since_ms=at_ms)
    return StragglerFound(at_ms=at_ms, job=JOB, attempt=attempt, straggler=straggler)


def fast_again(rank: int = 1, *, attempt: int = 1) -> StragglerGone:
    return StragglerGone(at_ms=2 * MINUTE_MS, job=JOB, attempt=attempt, rank=rank)


def hung(*ranks: int, at_ms: int = MINUTE_MS, nodes: tuple[str, ...] = ()) -> HangFound:
    hang = Hang(since_ms=0, ranks=ranks, nodes=tuple(NodeName(each) for each in nodes), step=7)
    return HangFound(at_ms=at_ms, job=JOB, attempt=1, hang=hang)


GOES_ON = HangOver(at_ms=2 * MINUTE_MS, job=JOB, attempt=1)


def test_verdicts_are_noted_and_taken_back() -> None:
    played = running(that_wants()).then(slow(2), slow(1), hung(0))
    assert [each.rank for each in played.job.stragglers] == [1, 2]
    assert played.job.hang == hung(0).hang
    assert (played.state, played.instructions) == (JobState.RUNNING, [])
    after = played.then(fast_again(2), GOES_ON).job
    assert ([each.rank for each in after.stragglers], after.hang) == ([1], None)


@pytest.mark.parametrize("event", [fast_again(), GOES_ON])
def test_what_was_not_noted_cannot_be_taken_back(event: VerdictEvent) -> None:
    played = running(that_wants())
    before = played.job
    assert played.then(event).job is before


def test_a_verdict_on_an_attempt_that_is_over_changes_nothing() -> None:
    played = running(that_wants(straggler=Remedy.RESTART))
    before = played.job
    assert played.then(slow(attempt=2)).job is before


def test_a_job_that_has_a_slow_rank_replaced_saves_itself_and_starts_again_on_its_other_nodes() -> None:
    played = running(that_wants(straggler=Remedy.REPLACE)).then(slow(1))
    (told,) = [each for each in played.instructions if isinstance(each, SignalStop)]
    assert (played.state, told.cause, told.grace_ms) == (JobState.STOPPING, Cause.STRAGGLER, GRACE_MS)
    assert played.job.preferred_nodes == ("n0", "n2")
    played.then(exits(played.job, code=1, told=True))
    assert (played.state, played.job.cause) == (JobState.QUEUED, Cause.STRAGGLER)
    assert (played.job.retries_used, played.job.faults_in_a_row) == (0, 1)
    assert (played.job.stragglers, played.job.preferred_nodes) == ((), ("n0", "n2"))


def test_a_job_that_is_restarted_for_a_slow_rank_may_start_anywhere() -> None:
    played = running(that_wants(straggler=Remedy.RESTART)).then(slow(1))
    assert (played.state, played.job.preferred_nodes) == (JobState.STOPPING, ())


def test_a_slow_rank_that_is_known_does_not_restart_the_job() -> None:
    spec = that_wants(straggler=Remedy.RESTART)
    played = running(spec)
    played.job = evolve(played.job, stragglers=(slow(1).straggler,))
    assert played.then(slow(1)).state is JobState.RUNNING


def started_again(played: Played, *, at_ms: int) -> Played:
    played.then(exits(played.job, told=True, code=1))
    played.then(start(played.job, at_ms=at_ms))
    return played.then(up(played.job, at_ms=at_ms))


def test_slow_ranks_restart_a_job_only_so_often_in_an_hour() -> None:
    played = running(that_wants(straggler=Remedy.RESTART))
    for number in range(REMEDIES_PER_HOUR):
        played.then(slow(at_ms=(number + 1) * MINUTE_MS, attempt=played.job.attempt))
        assert played.state is JobState.STOPPING
        started_again(played, at_ms=(number + 1) * MINUTE_MS)
    late_ms = 30 * MINUTE_MS
    assert played.then(slow(1, at_ms=late_ms, attempt=played.job.attempt)).state is JobState.RUNNING
    assert played.job.stragglers
    again = slow(2, at_ms=HOUR_MS + 2 * MINUTE_MS, attempt=played.job.attempt)
    assert played.then(again).state is JobState.STOPPING


def test_a_job_that_hangs_is_ended_soon_and_starts_again_without_the_nodes_to_blame() -> None:
    spec = evolve(that_wants(hang=Remedy.REPLACE), checkpoint=that_saves())
    played = running(spec).then(hung(2, nodes=("n2",)))
    (told,) = [each for each in played.instructions if isinstance(each, SignalStop)]
    assert (told.cause, told.grace_ms) == (Cause.HANG, FAILED_GANG_GRACE_MS)
    played.then(exits(played.job, code=137, told=True))
    assert (played.state, played.job.cause, played.job.hang) == (JobState.QUEUED, Cause.HANG, None)
    assert (played.job.preferred_nodes, played.job.retries_used) == (("n0", "n1"), 0)


def test_a_hang_of_all_ranks_prefers_the_nodes_it_had() -> None:
    played = running(that_wants(hang=Remedy.REPLACE)).then(hung(0, 1, 2))
    assert played.job.preferred_nodes == ("n0", "n1", "n2")


def test_a_job_that_hangs_again_and_again_without_saving_is_given_up() -> None:
    played = running(that_wants(hang=Remedy.RESTART))
    played.job = evolve(played.job, faults_in_a_row=FAULTS_IN_A_ROW - 1)
    played.then(hung(0))
    played.then(exits(played.job, code=137, told=True))
    assert (played.state, played.job.cause) == (JobState.FAILED, Cause.HANG)


def test_a_job_that_is_not_running_only_notes_verdicts() -> None:
    spec = that_wants(straggler=Remedy.REPLACE, hang=Remedy.REPLACE)
    for played in (starting(spec), stopping(spec)):
        state = played.state
        assert played.then(slow(), hung(0)).state is state
        assert played.job.hang is not None


def test_only_nodes_that_a_job_asked_to_have_replaced_are_avoided() -> None:
    for straggler, hang, event, nodes in (
        (Remedy.REPLACE, Remedy.REPORT, slow(1), ("n1",)),
        (Remedy.RESTART, Remedy.REPORT, slow(1), ()),
        (Remedy.REPORT, Remedy.REPLACE, hung(1, nodes=("n1",)), ("n1",)),
        (Remedy.REPORT, Remedy.REPLACE, hung(0, 1, 2), ()),
        (Remedy.REPORT, Remedy.RESTART, hung(1, nodes=("n1",)), ()),
        (Remedy.REPORT, Remedy.REPORT, slow(1), ()),
    ):
        played = running(that_wants(straggler=straggler, hang=hang))
        before = played.job
        assert avoided_nodes(before, played.then(event).job, event) == nodes
