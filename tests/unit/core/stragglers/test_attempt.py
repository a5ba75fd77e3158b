"""All ranks of an attempt: who is compared with whom, and what is said of a slow one."""

from muster.core.stragglers.attempt import SPEAKER_SILENT_MS, AttemptProgress
from muster.core.stragglers.node_speeds import NodeSpeeds
from muster.core.stragglers.step_times import StepPercentiles
from muster.model.ids import NodeName
from muster.model.job import Job, Worker
from muster.model.records import evolve
from muster.model.spec import Parallelism
from muster.model.telemetry import Hang, Straggler
from tests.unit.core.lifecycle.builders import a_spec
from tests.unit.core.stragglers.builders import SECOND_MS, a_report, a_training

BUSY_US = 100_000


def played(
    job: Job, *, slow: dict[int, float] | None = None, ranks: int = 4, seconds: int = 10, per_worker: int = 1
) -> AttemptProgress:
    """An attempt whose ranks have reported for some seconds."""
    progress = AttemptProgress(job)
    go_on(progress, job, slow=slow, ranks=ranks, seconds=seconds, per_worker=per_worker)
    return progress


def go_on(
    progress: AttemptProgress,
    job: Job,
    *,
    begin: int = 1,
    slow: dict[int, float] | None = None,
    ranks: int = 4,
    seconds: int = 10,
    per_worker: int = 1,
) -> None:
    for second in range(begin, begin + seconds):
        for rank in range(ranks):
            busy_us = int(BUSY_US * (slow or {}).get(rank, 1))
            report = a_report(
                rank,
                step=10 * second,
                busy_us=busy_us,
                at_ms=second * SECOND_MS,
                world=ranks,
                worker=rank // per_worker,
            )
            progress.take(report, second * SECOND_MS)
        progress.look(job, second * SECOND_MS)


def test_a_slow_rank_is_told_with_its_node_and_gpu_and_how_its_node_was_before() -> None:
    speeds = NodeSpeeds()
    speeds.learn(NodeName("n2"), 1010)
    progress = played(a_training(), slow={2: 1.4})
    (slow,) = progress.stragglers(speeds)
    assert evolve(slow, since_ms=0, steps=0) == Straggler(
        rank=2, worker=2, node=NodeName("n2"), gpus=(0,), slowdown_milli=1400, since_ms=0, usual_milli=1010
    )
    assert slow.steps >= 16


def test_progress_is_the_furthest_step_and_when_it_was_made() -> None:
    progress = AttemptProgress(a_training())
    assert (progress.step, progress.last_step_ms) == (0, None)
    progress.take(a_report(0, step=7, at_ms=5), 6)
    progress.take(a_report(1, step=6, at_ms=9), 9)
    assert (progress.step, progress.last_step_ms) == (7, 9)


def test_the_lowest_rank_that_is_heard_of_speaks_for_all() -> None:
    job = a_training()
    progress = AttemptProgress(job)
    progress.take(a_report(1, step_us=500_000), 0)
    progress.take(a_report(0, step_us=100_000), 1)
    progress.take(a_report(1, step_us=900_000), 2)
    progress.look(job, 3)
    assert progress.steps == StepPercentiles(p50_us=100_000, p99_us=500_000)
    later_ms = 2 * SPEAKER_SILENT_MS
    progress.take(a_report(1, step=900, steps=900, step_us=900_000), later_ms)
    progress.look(job, later_ms)
    assert progress.steps == StepPercentiles(p50_us=900_000, p99_us=900_000)


def test_percentiles_are_not_worked_out_at_every_look() -> None:
    job = a_training()
    progress = AttemptProgress(job)
    progress.take(a_report(0, step_us=100_000), 0)
    progress.look(job, 0)
    progress.take(a_report(0, step=900, steps=890, step_us=900_000), 1)
    progress.look(job, 1)
    assert progress.steps == StepPercentiles(p50_us=100_000, p99_us=100_000)


def test_a_worker_with_a_process_for_each_gpu_tells_which_gpu_is_slow() -> None:
    gang = (
        Worker(rank=0, role="worker", node=NodeName("n0"), gpus=(2, 3)),
        Worker(rank=1, role="worker", node=NodeName("n1"), gpus=(4, 5)),
    )
    job = evolve(a_training(size=2), workers=gang)
    (slow,) = played(job, slow={3: 1.5}, per_worker=2).stragglers(NodeSpeeds())
    assert (slow.node, slow.gpus) == ("n1", (5,))
    shared = evolve(job, workers=(gang[0], evolve(gang[1], gpus=(4, 5, 6))))
    (slow,) = played(shared, slow={3: 1.5}, per_worker=2).stragglers(NodeSpeeds())
    assert slow.gpus == (4, 5, 6)


def test_a_worker_that_is_not_known_any_more_has_no_gpus() -> None:
    job = a_training()
    progress = played(job, slow={3: 1.5})
    progress.look(evolve(job, workers=job.workers[:2]), 20 * SECOND_MS)
    (slow,) = progress.stragglers(NodeSpeeds())
    assert slow.gpus == ()


def test_stages_of_a_pipeline_are_not_compared_with_each_other() -> None:
    spec = evolve(a_spec(workers=8), parallelism=Parallelism(pipeline=2))
    uneven = dict.fromkeys(range(4, 8), 1.0) | dict.fromkeys(range(4), 2.0)
    assert played(a_training(spec, size=8), slow=uneven, ranks=8).stragglers(NodeSpeeds()) == ()
    (slow,) = played(a_training(spec, size=8), slow={**uneven, 5: 1.4}, ranks=8).stragglers(NodeSpeeds())
    assert slow.rank == 5


def test_roles_are_not_compared_with_each_other() -> None:
    job = a_training(size=8)
    workers = tuple(evolve(each, role="actor" if each.rank < 3 else "learner") for each in job.workers)
    uneven = dict.fromkeys(range(3), 2.0)
    assert played(evolve(job, workers=workers), slow=uneven, ranks=8).stragglers(NodeSpeeds()) == ()


def test_ranks_that_begin_anew_are_compared_from_the_start() -> None:
    job = a_training()
    progress = played(job, slow={2: 1.4})
    assert progress.stragglers(NodeSpeeds())
    progress.take(a_report(0, step=1, at_ms=60 * SECOND_MS), 60 * SECOND_MS)
    assert progress.stragglers(NodeSpeeds()) == ()
    assert len(progress.ranks) == 4
    progress.take(a_report(0, step=2, world=2), 61 * SECOND_MS)
    assert len(progress.ranks) == 1


def test_a_report_without_steps_says_only_that_the_rank_is_there() -> None:
    job = a_training()
    progress = AttemptProgress(job)
    progress.take(a_report(0, steps=0), 5)
    progress.look(job, 6)
    assert (progress.steps, progress.heard_ms) == (None, {0: 5})


def test_the_last_measured_steps_of_a_rank_stay_known_while_it_makes_none() -> None:
    job = a_training()
    progress = AttemptProgress(job)
    progress.take(a_report(0, steps=3), 5)
    progress.take(a_report(0, steps=0), 6)
    assert (progress.ranks[0].steps, progress.timed[0].steps) == (0, 3)


def test_a_rank_that_is_done_is_no_straggler_any_more() -> None:
    job = a_training()
    progress = played(job, slow={2: 1.4})
    progress.take(a_report(2, step=1000, is_closed=True), 60 * SECOND_MS)
    assert progress.stragglers(NodeSpeeds()) == ()


def test_the_job_is_followed_when_its_workers_change() -> None:
    job = a_training()
    progress = played(job, slow={2: 1.4})
    moved = tuple(evolve(each, gpus=(7,)) for each in job.workers)
    progress.look(evolve(job, workers=moved), 20 * SECOND_MS)
    (slow,) = progress.stragglers(NodeSpeeds())
    assert slow.gpus == (7,)


def test_nodes_are_remembered_as_they_were_on_average() -> None:
    speeds = NodeSpeeds()
    played(a_training(), slow={2: 1.4}).teach(speeds)
    assert speeds.usual_milli(NodeName("n2")) == 1400
    assert speeds.usual_milli(NodeName("n0")) == 1000


def test_verdicts_that_were_found_before_stay_until_the_ranks_say_otherwise() -> None:
    straggler = Straggler(rank=2, worker=2, node=NodeName("n2"), slowdown_milli=1400, since_ms=1, steps=16)
    hang = Hang(since_ms=1, ranks=(2,), step=9)
    job = evolve(a_training(), stragglers=(straggler,), hang=hang)
    progress = AttemptProgress(job)
    assert (progress.stragglers(NodeSpeeds()), progress.hangs.hang) == ((straggler,), hang)
    go_on(progress, job, seconds=2)
    assert [each.rank for each in progress.stragglers(NodeSpeeds())] == [2]
    assert progress.hangs.hang is None
    go_on(progress, job, begin=3, seconds=10)
    assert progress.stragglers(NodeSpeeds()) == ()


def test_a_straggler_that_was_found_before_and_is_done_now_is_none() -> None:
    straggler = Straggler(rank=2, worker=2, node=NodeName("n2"), slowdown_milli=1400, since_ms=1)
    progress = AttemptProgress(evolve(a_training(), stragglers=(straggler,)))
    progress.take(a_report(2, is_closed=True), 1)
    assert progress.stragglers(NodeSpeeds()) == ()
