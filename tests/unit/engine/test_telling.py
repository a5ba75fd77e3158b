"""A job's story in sentences: what happened, and what came of it."""

from typing import Any

import pytest

from muster.engine.story.sentences import FAILURES_TOLD, told, told_of_array
from muster.engine.story.steps import turns
from muster.model.events import (
    CheckpointDamaged,
    CheckpointRemoved,
    CheckpointSaved,
    CheckpointUploaded,
    DependencyFailed,
    DependencyMet,
    Event,
    EvictionOrdered,
    GangAdopted,
    GangsFound,
    HangFound,
    HangOver,
    HoldsSet,
    JobStarted,
    JobStarved,
    JobSubmitted,
    JobUpdated,
    NodeChanged,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ResizeOrdered,
    ShardsSaved,
    SparesSet,
    StartFailed,
    StragglerFound,
    StragglerGone,
    TimerFired,
    TurnCame,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName, TierName
from muster.model.job import Cause, Job, JobState, Placement
from muster.model.limits import FAULTS_IN_A_ROW
from muster.model.machines.quarantine import FoundGang
from muster.model.node import NodeState
from muster.model.plan import Why
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested, JobHeld, JobReleased
from muster.model.spec import ArraySpec, JobChanges, JobSpec, Launch, Remedy, Retry, RetryCause
from muster.model.telemetry import Hang, Straggler
from tests.builders import a_job, a_node
from tests.unit.engine.world import seats

JOB = JobId("job-1")
ARRAY = JobId("job-2")
TWO = seats(("n1", 0), ("n2", 0))


def submitted(spec: JobSpec | None = None, **fields: Any) -> JobSubmitted:
    return JobSubmitted(at_ms=0, job=JOB, spec=spec or a_job(workers=2), by=fields.pop("by", "ada"), **fields)


def started(at_ms: int = 5, *, attempt: int = 1, generation: int = 1, workers: Placement = TWO) -> JobStarted:
    return JobStarted(
        at_ms=at_ms,
        job=JOB,
        attempt=attempt,
        generation=generation,
        workers=workers,
        max_duration_ms=100_000,
        stop_grace_ms=1_000,
    )


def up(at_ms: int = 6, *ranks: int, attempt: int = 1, generation: int = 1) -> WorkersStarted:
    return WorkersStarted(at_ms=at_ms, job=JOB, attempt=attempt, generation=generation, ranks=ranks or (0, 1))


def gone(at_ms: int, *ranks: int, code: int = 0, generation: int = 1, **how: Any) -> WorkersExited:
    return WorkersExited(at_ms=at_ms, job=JOB, attempt=1, generation=generation, ranks=ranks, exit_code=code, **how)


def evicted(why: Why = Why.TIER) -> EvictionOrdered:
    return EvictionOrdered(at_ms=20, job=JOB, attempt=1, why=why, for_job=JobId("job-9"), by_ms=1_020)


def texts(*events: Event) -> list[str]:
    return [each.text for each in told(turns(events, JOB))]


def last(*events: Event) -> str:
    return texts(*events)[-1]


def test_a_whole_life_reads_from_the_submission_to_the_end() -> None:
    events: tuple[Event, ...] = (
        submitted(),
        HoldsSet(at_ms=1, holds=()),
        SparesSet(at_ms=1, nodes=(NodeName("n3"),)),
        started(),
        up(6, 0),
        up(7, 1),
        CheckpointSaved(at_ms=8, job=JOB, attempt=1),
        CheckpointSaved(at_ms=9, job=JOB, attempt=1),
        evicted(),
        gone(21, 0, generation=2, told=True),
        gone(22, 1, generation=2, told=True),
        started(30, attempt=2, generation=3),
        up(31, attempt=2, generation=3),
        evolve(gone(40, 0, 1, generation=3), attempt=2),
    )
    assert texts(*events) == [
        "submitted by ada, tier standard, 2 workers with 2 GPUs: it waits in the queue",
        "starts on n[1-2] with 2 GPUs",
        "all 2 workers run",
        "saved itself",
        "told to leave, because a job of a higher tier needs its GPUs: it leaves, to begin anew: it has no checkpoint",
        "its workers have left: it waits in the queue again after it gave way",
        "starts on n[1-2] with 2 GPUs, attempt 2",
        "all 2 workers run",
        "all workers ended well: it has succeeded",
    ]
    saved = told(turns(events, JOB))[3]
    assert (saved.times, saved.at_ms, saved.state, saved.event) == (2, 9, JobState.RUNNING, "CheckpointSaved")


def test_the_job_that_a_job_leaves_for_is_not_named() -> None:
    for why in Why:
        assert "job-9" not in last(submitted(), started(), up(), evicted(why))
    assert "takes back" in last(submitted(), started(), up(), evicted(Why.RECLAIM))


def test_what_a_job_waits_for_is_named() -> None:
    assert last(submitted(by="", held=True)) == (
        "submitted, tier standard, 2 workers with 2 GPUs: it waits until somebody releases it"
    )
    waits = submitted(unmet=(JobId("job-3"), JobId("job-4")))
    assert last(waits).endswith(": it waits for job-3, job-4")
    met = DependencyMet(at_ms=1, job=JOB, dependency=JobId("job-3"))
    assert texts(waits, met)[1:] == ["job-3 ended as it had to"]
    assert last(waits, met, evolve(met, dependency=JobId("job-4"))) == "job-4 ended as it had to: it waits in the queue"
    in_vain = DependencyFailed(at_ms=1, job=JOB, dependency=JobId("job-3"))
    assert last(waits, in_vain) == "job-3 did not end as it had to, so this job can never run: it is cancelled"


def test_the_user_who_changes_a_job_is_named() -> None:
    held = JobHeld(at_ms=1, job=JOB, by="bob")
    assert last(submitted(), held) == "held by bob: it waits until somebody releases it"
    assert last(submitted(), held, JobReleased(at_ms=2, job=JOB)) == "released: it waits in the queue"
    changes = JobChanges(priority=70, tier=TierName("production"), max_duration_ms=7_200_000, tags=(("a", "b"),))
    updated = JobUpdated(at_ms=1, job=JOB, changes=changes, by="bob")
    assert last(submitted(), updated) == ("changed by bob: priority 70, tier production, maximum duration 2h, tags a=b")
    cancelled = JobCancelRequested(at_ms=9, job=JOB, by="bob")
    assert last(submitted(), cancelled) == "cancelled by bob: it is cancelled"
    assert last(submitted(), started(), up(), cancelled) == "cancelled by bob: its workers are told to end"


@pytest.mark.parametrize(
    ("exit_of", "text"),
    [
        (gone(9, 0, code=3), "1 worker exited with code 3: the others are told to end"),
        (gone(9, 0, code=137, oom=True), "1 worker ran out of memory: the others are told to end"),
        (gone(9, 0, 1, code=2), "2 workers exited with code 2: it has failed with exit code 2"),
        (gone(9, 0, 1, code=1, timed_out=True), "its maximum duration was over: it has timed out"),
    ],
)
def test_a_failure_says_how_and_what_came_of_it(exit_of: WorkersExited, text: str) -> None:
    assert last(submitted(), started(), up(), exit_of) == text


def test_a_worker_that_ends_well_before_the_others_is_no_news() -> None:
    assert texts(submitted(), started(), up(), gone(9, 0)) == texts(submitted(), started(), up())


def test_a_retry_is_counted() -> None:
    spec = evolve(a_job(workers=2), retry=Retry(limit=3, on=(RetryCause.ERROR,)))
    text = last(submitted(spec), started(), up(), gone(9, 0, 1, code=1))
    assert text == "2 workers exited with code 1: it waits in the queue again, retry 1 of 3"


def test_what_could_not_be_started_is_tried_again_after_a_pause_and_given_up_in_the_end() -> None:
    events: list[Event] = [submitted()]
    for number in range(FAULTS_IN_A_ROW):
        generation = events_generation(events)
        events.append(started(10 * number + 1, attempt=number + 1, generation=generation))
        failed = StartFailed(
            at_ms=10 * number + 2, job=JOB, attempt=number + 1, generation=generation, ranks=(0, 1), message="no disk"
        )
        events.append(failed)
        events.append(TimerFired(at_ms=10**9, job=JOB))
    said = texts(*events)
    assert said[2] == "could not be started (no disk): it waits in the queue again"
    assert said[4] == "could not be started (no disk): it is tried again after a pause"
    assert said[5] == "it waits in the queue"
    assert said[-1] == "could not be started (no disk): it has failed: the nodes failed it too often in a row"
    nameless = StartFailed(at_ms=6, job=JOB, attempt=1, generation=1, ranks=(0, 1))
    assert last(submitted(), started(), nameless).startswith("could not be started: ")


def events_generation(events: list[Event]) -> int:
    """The generation that the next start has."""
    return [turn.after.generation for turn in turns(events, JOB)][-1] + 1


def test_a_job_whose_time_is_over_is_told_and_then_killed() -> None:
    events = (submitted(), started(), up(), TimerFired(at_ms=99_999, job=JOB))
    assert last(*events) == "its maximum duration is over, and it is told to end"
    assert last(*events, TimerFired(at_ms=200_000, job=JOB)) == "workers that had not left in time were killed"
    assert texts(*events[:3], TimerFired(at_ms=7, job=JOB)) == texts(*events[:3])


def test_what_nodes_did_to_it_is_told() -> None:
    alive = (submitted(), started(), up())
    assert last(*alive, NodeUnreachable(at_ms=9, node=NodeName("n1"))) == (
        "node n1 cannot be reached: its workers are told to end"
    )
    lost = NodeLost(at_ms=9, node=NodeName("n1"), because="no heartbeat")
    assert last(*alive, lost) == "node n1 was lost (no heartbeat): the others are told to end"
    assert last(*alive, evolve(lost, because="")) == "node n1 was lost: the others are told to end"
    silent = NodeUnreachable(at_ms=9, node=NodeName("n1"), because="no answer")
    assert last(*alive, silent).startswith("node n1 cannot be reached (no answer)")
    down = NodeChanged(at_ms=9, node=a_node("n1", state=NodeState.DOWN))
    assert last(*alive, down) == "node n1 is down: its workers are told to end"
    bad = NodeChanged(at_ms=9, node=a_node("n1", bad_gpus=(0,)))
    assert last(*alive, bad) == "a GPU of node n1 is bad"
    assert texts(*alive, NodeReturned(at_ms=9, node=NodeName("n1"))) == texts(*alive)


def test_slow_ranks_and_hangs_are_told() -> None:
    alive = (submitted(evolve(a_job(workers=2), on_hang=Remedy.RESTART)), started(), up())
    straggler = Straggler(rank=1, worker=1, node=NodeName("n2"), gpus=(3,), slowdown_milli=1317, since_ms=7)
    slow = StragglerFound(at_ms=9, job=JOB, attempt=1, straggler=straggler)
    assert last(*alive, slow) == "rank 1 on node n2, GPU 3 takes 1.31 times as long as the others"
    several = evolve(slow, straggler=evolve(straggler, gpus=(3, 4)))
    assert last(*alive, several) == "rank 1 on node n2 takes 1.31 times as long as the others"
    fast = StragglerGone(at_ms=10, job=JOB, attempt=1, rank=1)
    assert last(*alive, slow, fast) == "rank 1 keeps up with the others again"
    hang = Hang(since_ms=1_000, ranks=(1,), nodes=(NodeName("n2"),), step=70)
    hung = HangFound(at_ms=61_500, job=JOB, attempt=1, hang=hang)
    assert last(*alive, hung) == (
        "it stands still after step 70, for 1m; the others wait for rank 1: its workers are told to end"
    )
    quiet = (submitted(), started(), up())
    unknown = evolve(hung, hang=evolve(hang, nodes=()))
    assert last(*quiet, unknown) == "it stands still after step 70, for 1m"
    many = evolve(hung, hang=evolve(hang, ranks=tuple(range(20))))
    assert "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 12 more" in last(*quiet, many)
    assert last(*quiet, hung, HangOver(at_ms=62_000, job=JOB, attempt=1)) == "it makes steps again"


def test_what_is_found_running_is_told_and_may_be_let_in() -> None:
    gang = FoundGang(job=JOB, attempt=1, generation=1, workers=seats(("n1", 0)))
    found = GangsFound(at_ms=3, node=NodeName("n1"), gangs=(gang,))
    assert last(submitted(), found) == (
        "node n1 runs workers of it that were not known: it waits until it is known what runs of it"
    )
    adopted = GangAdopted(
        at_ms=4,
        job=JOB,
        attempt=1,
        generation=2,
        workers=seats(("n1", 0)),
        max_duration_ms=9_000,
        stop_grace_ms=1_000,
        by="root",
    )
    assert last(submitted(), found, adopted).startswith("goes on with what was found running on n1 with 1 GPU, let in")


def test_resizes_turns_and_long_waits_are_told() -> None:
    spec = a_job(workers=(1, 2), checkpoint=True)
    smaller = ResizeOrdered(at_ms=9, job=JOB, attempt=1, workers=TWO[:1])
    in_place = evolve(spec, launch=Launch.TORCHRUN)
    assert last(submitted(in_place), started(), up(), smaller) == "goes on with 1 worker instead of 2"
    told_to = "goes on with 1 worker instead of 2: it saves itself and starts again"
    assert last(submitted(spec), started(), up(), smaller) == told_to
    unsaved = evolve(spec, checkpoint=None)
    assert last(submitted(unsaved), started(), up(), smaller) == (
        "goes on with 1 worker instead of 2: it leaves, and begins anew: it has no checkpoint"
    )
    left = WorkersExited(at_ms=9, job=JOB, attempt=1, generation=2, ranks=(0, 1), exit_code=1, told=True)
    assert last(submitted(spec), started(), up(), smaller, left) == "its workers have left: it starts again at once"
    starved = JobStarved(at_ms=9, job=JOB)
    assert last(submitted(), starved).startswith("it has waited too long after it gave way")
    alone = seats(("n1", 0))
    assert last(submitted(a_job()), started(workers=alone), up(6, 0)) == "it runs"


def test_a_task_waits_for_its_turn_and_names_its_array() -> None:
    spec = evolve(a_job(gpus=0.5), array=ArraySpec(indices=(0, 1), concurrency=1))
    task = JobId(f"{ARRAY}.1")
    events = (JobSubmitted(at_ms=0, job=ARRAY, spec=spec, by="ada"), TurnCame(at_ms=5, job=task))
    assert [each.text for each in told(turns(events, task))] == [
        (
            "submitted by ada as a task of job-2, tier standard, 1 worker with 0.5 GPUs: "
            "it waits for its turn in the array"
        ),
        "its turn in the array came: it waits in the queue",
    ]


def task(index: int, **fields: Any) -> Job:
    state = fields.pop("state", JobState.QUEUED)
    return Job(
        id=JobId(f"{ARRAY}.{index}"),
        spec=a_job(gpus=0),
        state=state,
        submitted_ms=0,
        array_parent=ARRAY,
        array_index=index,
        **fields,
    )


def test_an_array_tells_what_concerned_all_and_what_became_of_its_tasks() -> None:
    spec = evolve(a_job(gpus=0), array=ArraySpec(indices=(0, 1, 2)))
    events = (
        JobSubmitted(at_ms=0, job=ARRAY, spec=spec, by="ada"),
        JobHeld(at_ms=1, job=ARRAY, by="bob"),
        HoldsSet(at_ms=1, holds=()),
        SparesSet(at_ms=1, nodes=()),
    )
    waiting = [task(number) for number in range(3)]
    assert [each.text for each in told_of_array(events, waiting)] == [
        "submitted by ada: 3 tasks, each tier standard, 1 worker with no GPU",
        "held by bob",
    ]
    ended = [
        task(0, state=JobState.SUCCEEDED, first_started_ms=7, ended_ms=20),
        task(1, state=JobState.FAILED, cause=Cause.ERROR, exit_code=1, first_started_ms=5, ended_ms=10),
        task(2, state=JobState.TIMED_OUT, cause=Cause.TIMEOUT, first_started_ms=6, ended_ms=30),
    ]
    told_now = told_of_array(events, ended)
    assert [(each.at_ms, each.text) for each in told_now[2:]] == [
        (5, "job-2.1 is the first task that starts"),
        (10, "job-2.1: it has failed with exit code 1"),
        (30, "job-2.2: it has timed out"),
        (30, "all tasks have ended: 1 succeeded, 1 failed, 1 timed out"),
    ]
    assert {each.state for each in told_now} == {None}


def test_of_many_tasks_that_failed_the_last_are_counted() -> None:
    failed = [task(number, state=JobState.FAILED, ended_ms=number) for number in range(FAILURES_TOLD + 3)]
    said = [each.text for each in told_of_array((), [*failed, task(99)])]
    assert len(said) == FAILURES_TOLD + 1
    assert said[-1] == "3 more tasks failed until now"


def shards(step: int, *ranks: int, at_ms: int) -> ShardsSaved:
    return ShardsSaved(at_ms=at_ms, job=JOB, attempt=1, node=NodeName("n1"), step=step, world=2, ranks=ranks)


def test_what_became_of_checkpoints_is_told() -> None:
    events: list[Event] = [
        *(submitted(a_job(workers=2, checkpoint=True)), started(), up()),
        shards(10, 0, 1, at_ms=1_000),
        shards(20, 0, at_ms=30_000),
        shards(20, 1, at_ms=31_000),
        CheckpointUploaded(at_ms=32_000, job=JOB, attempt=1, step=20, problem="access denied"),
        CheckpointUploaded(at_ms=33_000, job=JOB, attempt=1, step=20),
        CheckpointRemoved(at_ms=34_000, job=JOB, step=10, by="ada"),
    ]
    assert texts(*events)[-5:] == [
        "saved itself at step 10",
        "saved itself at step 20",
        "its checkpoint of step 20 cannot be copied to durable storage yet (access denied)",
        "its checkpoint of step 20 is in durable storage",
        "its checkpoint of step 10 was removed by ada",
    ]


def test_a_loss_says_what_has_to_be_done_again_and_where_the_next_attempt_begins() -> None:
    events: list[Event] = [
        submitted(a_job(workers=2, checkpoint=True)),
        started(),
        up(),
        shards(20, 0, 1, at_ms=30_000),
        NodeLost(at_ms=75_000, node=NodeName("n1")),
        gone(76_000, 1, told=True, generation=2),
        started(80_000, attempt=2, generation=3),
    ]
    assert texts(*events)[-2:] == [
        "its workers have left: it waits in the queue again; the last 46s of its work have to be done again",
        "starts on n[1-2] with 2 GPUs, attempt 2, from step 20",
    ]


def test_damage_says_what_is_resumed_from_instead() -> None:
    def damaged(step: int) -> CheckpointDamaged:
        return CheckpointDamaged(at_ms=90_000, job=JOB, attempt=1, step=step, rank=1, problem="a byte differs")

    begun: list[Event] = [submitted(a_job(workers=2, checkpoint=True)), started(), up(), shards(10, 0, 1, at_ms=1_000)]
    only = texts(*begun, damaged(10))[-1]
    assert only == (
        "rank 1 cannot restore step 10 (a byte differs); no other checkpoint is left, so it begins from the start: "
        "its workers are told to end"
    )
    assert "it goes back to step 10" in texts(*begun, shards(20, 0, 1, at_ms=2_000), damaged(20))[-1]
