"""A command for a gang reaches the nodes that it means, and those that must know of it."""

from muster.backends.local.worker_routing import FORMER_ATTEMPTS, NodeCommand, WorkerRouting
from muster.model.events import WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause
from muster.model.node_limits import SUPERVISOR_ENDED_JOBS
from muster.model.records import evolve
from tests.unit.core.lifecycle.builders import JOB, a_gang, a_spec


def a_directory() -> WorkerRouting:
    return WorkerRouting(lambda _job, attempt, taken: 100 * attempt + len(taken))


def start(*, attempt: int = 1, generation: int = 1, size: int = 2, job: JobId = JOB) -> StartWorkers:
    gang = a_gang(size)
    return StartWorkers(job=job, attempt=attempt, generation=generation, spec=a_spec(), workers=gang, gang=gang)


def stop(*ranks: int, generation: int = 2) -> SignalStop:
    return SignalStop(job=JOB, attempt=1, generation=generation, ranks=ranks, grace_ms=1, cause=Cause.CANCELLED)


def ranks(errands: list[NodeCommand]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for errand in errands:
        match errand.command:
            case StartWorkers(workers=workers):
                found[errand.node] = tuple(worker.rank for worker in workers)
            case SignalStop(ranks=named) | KillWorkers(ranks=named):
                found[errand.node] = named
            case AskCheckpoint():
                found[errand.node] = ()
    return found


def test_each_node_hears_its_part_and_the_same_port() -> None:
    directory = a_directory()
    errands = directory.route(start())
    assert ranks(errands) == {"n0": (0,), "n1": (1,)}
    assert {errand.port for errand in errands} == {100}
    assert ranks(directory.route(stop(1))) == {"n0": (), "n1": (1,)}
    assert ranks(directory.route(AskCheckpoint(job=JOB, attempt=1, generation=3))) == {"n0": (), "n1": ()}
    assert directory.node_of(JOB) == "n0"
    assert directory.node_of(JOB, 1) == "n1"
    assert directory.node_of(JobId("other")) is None


def test_ranks_of_which_nothing_is_known_are_named() -> None:
    directory = a_directory()
    assert directory.unplaced(stop(0, 1)) == (0, 1)
    directory.route(start())
    assert directory.unplaced(stop(0, 5)) == (5,)
    assert directory.unplaced(start()) == ()
    assert directory.unplaced(evolve(stop(0), attempt=2)) == (0,)


def test_an_older_command_is_known_for_one() -> None:
    directory = a_directory()
    directory.route(start(generation=4))
    assert directory.is_older(stop(0, generation=3))
    assert not directory.is_older(stop(0, generation=4))


def test_nodes_of_an_older_attempt_hear_of_the_newer() -> None:
    directory = a_directory()
    directory.route(start())
    assert ranks(directory.route(start(attempt=2, generation=3, size=1))) == {"n0": (0,), "n1": ()}
    assert ranks(directory.route(evolve(stop(0, generation=4), attempt=2))) == {"n0": (0,)}


def test_a_command_for_an_older_attempt_goes_to_where_its_workers_were() -> None:
    directory = a_directory()
    directory.route(start())
    directory.route(start(attempt=2, generation=3))
    kill = KillWorkers(job=JOB, attempt=1, generation=4, ranks=(0, 1, 7))
    assert directory.is_of_older_attempt(kill)
    assert directory.unplaced(kill) == (7,)
    assert ranks(directory.route(kill)) == {"n0": (0,), "n1": (1,)}
    assert ranks(directory.route(start(generation=4))) == {"n0": (0,), "n1": (1,)}
    assert directory.node_of(JOB) == "n0"
    assert ranks(directory.route(evolve(stop(0, generation=4), attempt=2))) == {"n0": (0,), "n1": ()}


def test_what_a_node_says_of_workers_that_have_not_gone_is_learnt() -> None:
    directory = a_directory()
    directory.learn(NodeName("n2"), JOB, 2, 7, 555, [0])
    directory.learn_doomed(NodeName("n1"), JOB, 1, 3)
    kill = KillWorkers(job=JOB, attempt=1, generation=8, ranks=(0, 3))
    assert directory.unplaced(kill) == (0,)
    assert ranks(directory.route(kill)) == {"n1": (3,)}


def test_where_workers_were_is_known_of_the_last_attempts_only() -> None:
    directory = a_directory()
    for attempt in range(1, 20):
        directory.route(start(attempt=attempt, generation=attempt))
    kills = {each: KillWorkers(job=JOB, attempt=each, generation=50, ranks=(0,)) for each in (1, 18)}
    assert {each: directory.unplaced(kill) for each, kill in kills.items()} == {1: (0,), 18: ()}
    assert len(directory._listings[JOB].former) <= 2 * (FORMER_ATTEMPTS + 1)


def test_what_nodes_say_is_learnt_and_the_newest_attempt_counts() -> None:
    directory = a_directory()
    directory.learn(NodeName("n2"), JOB, 2, 7, 555, [0])
    directory.learn(NodeName("n1"), JOB, 1, 3, 444, [0, 1])
    assert directory.is_older(stop(0, generation=6))
    errands = directory.route(evolve(stop(0, generation=8), attempt=2))
    assert ranks(errands) == {"n2": (0,), "n1": ()}
    assert errands[0].port == 555


def test_jobs_that_are_over_are_forgotten_when_there_are_many() -> None:
    directory = a_directory()
    for number in range(2 * SUPERVISOR_ENDED_JOBS + 1):
        job = JobId(f"job-{number}")
        directory.route(start(size=1, job=job))
        if number:
            directory.heard(WorkersExited(at_ms=0, job=job, attempt=1, generation=1, ranks=(0,), exit_code=0))
    assert directory.node_of(JobId("job-0")) == "n0"
    assert directory.node_of(JobId("job-1")) is None


def test_an_attempt_runs_until_its_workers_have_ended_or_its_nodes_are_swept() -> None:
    directory = a_directory()
    assert not directory.is_running(JOB, 1)
    directory.route(start(size=2))
    assert directory.is_running(JOB, 1)
    assert not directory.is_running(JOB, 2)
    directory.heard(WorkersExited(at_ms=0, job=JOB, attempt=1, generation=1, ranks=(0,), exit_code=0))
    assert directory.is_running(JOB, 1)
    node = directory.node_of(JOB, 1)
    assert node is not None
    directory.swept(node)
    assert not directory.is_running(JOB, 1)
    directory.route(start(size=2, generation=2))
    assert directory.is_running(JOB, 1)
