"""Each framework finds in its environment what it expects, and its launcher around the program of the job."""

import pytest

from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.instructions import StartWorkers
from muster.model.job import Placement, Worker
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import JobSpec, Launch, RoleSpec
from muster.worker.launch.frameworks import (
    MeetingPlace,
    default_variables,
    hostfile,
    launched,
    lighthouse_program,
    meeting_variables,
    needs_lighthouse,
    needs_store,
)

GANG: Placement = (
    Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1)),
    Worker(rank=1, role="worker", node=NodeName("n1"), gpus=(2, 3)),
    Worker(rank=4, role="worker", node=NodeName("n2"), gpus=(0, 1)),
)
"""Rank 4 has joined after others left: it is the third of the gang, and of three replica groups number 1."""

HERE = MeetingPlace(host="127.0.0.1", port=20_001, hostfile="/w/hosts", remote_shell="/bin/sh /w/remote_shell")
THERE = MeetingPlace(host="10.0.0.1", port=20_001)


def a_start(launch: Launch, run: str = "python train.py", *, workers: tuple[int, int] = (3, 3)) -> StartWorkers:
    role = RoleSpec(name="worker", workers_min=workers[0], workers_max=workers[1], request=Request(), run=run)
    spec = JobSpec(name="train", team=TeamPath("nlp"), tier=TierName("standard"), roles=(role,), launch=launch)
    return StartWorkers(job=JobId("job-1"), attempt=2, generation=3, spec=spec, workers=GANG, gang=GANG, run="job-1-5f")


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        (
            Launch.PLAIN,
            {
                "RANK": "2",
                "WORLD_SIZE": "3",
                "LOCAL_RANK": "0",
                "LOCAL_WORLD_SIZE": "1",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": "20001",
            },
        ),
        (
            Launch.TORCHRUN,
            {
                "PET_NNODES": "3",
                "PET_NODE_RANK": "2",
                "PET_NPROC_PER_NODE": "2",
                "PET_MASTER_ADDR": "127.0.0.1",
                "PET_MASTER_PORT": "20001",
                "PET_RDZV_ID": "job-1-5f-2",
                "PET_MAX_RESTARTS": "0",
            },
        ),
        (
            Launch.JAX,
            {
                "JAX_COORDINATOR_ADDRESS": "127.0.0.1:20001",
                "JAX_COORDINATOR_BIND_ADDRESS": "127.0.0.1:20001",
                "JAX_NUM_PROCESSES": "3",
                "JAX_PROCESS_ID": "2",
                "JAX_LOCAL_DEVICE_IDS": "0,1",
                "OMPI_COMM_WORLD_RANK": "2",
                "OMPI_COMM_WORLD_SIZE": "3",
            },
        ),
        (
            Launch.MPI,
            {
                "MUSTER_HOSTFILE": "/w/hosts",
                "OMPI_MCA_orte_default_hostfile": "/w/hosts",
                "OMPI_MCA_plm_rsh_agent": "/bin/sh /w/remote_shell",
            },
        ),
        (
            Launch.TORCHFT,
            {
                "REPLICA_GROUP_ID": "1",
                "NUM_REPLICA_GROUPS": "3",
                "TORCHFT_LIGHTHOUSE": "http://127.0.0.1:20001",
                "PET_NNODES": "1",
                "PET_NPROC_PER_NODE": "2",
                "PET_RDZV_ENDPOINT": "127.0.0.1:0",
            },
        ),
    ],
)
def test_each_framework_finds_its_own_names(launch: Launch, expected: dict[str, str]) -> None:
    found = meeting_variables(a_start(launch), GANG[2], HERE)
    assert {name: found[name] for name in expected} == expected
    assert ("RANK" in found) is (launch is Launch.PLAIN)


def test_an_elastic_gang_meets_at_a_store_outside_of_it_and_keeps_the_order_of_its_ranks() -> None:
    start = a_start(Launch.TORCHRUN, workers=(2, 4))
    assert needs_store(start.spec)
    assert not needs_store(a_start(Launch.TORCHRUN).spec)
    assert not needs_store(a_start(Launch.PLAIN, workers=(2, 4)).spec)
    found = meeting_variables(start, GANG[2], HERE)
    assert found["PET_NNODES"] == "2:4"
    assert (found["PET_RDZV_BACKEND"], found["PET_RDZV_ENDPOINT"]) == ("c10d", "127.0.0.1:20001")
    assert "is_host=0" in found["PET_RDZV_CONF"]
    assert "PET_NODE_RANK" not in found
    workers = [Worker(rank=rank, role="worker", node=NodeName("n1")) for rank in (0, 2, 9, 10, 99, 100, 1000)]
    addresses = [meeting_variables(start, each, HERE)["PET_LOCAL_ADDR"] for each in workers]
    assert addresses == sorted(addresses)
    assert "PET_LOCAL_ADDR" not in meeting_variables(start, GANG[2], THERE)


@pytest.mark.parametrize(("launch", "workers"), [(Launch.TORCHRUN, 3), (Launch.TORCHRUN, 4), (Launch.TORCHFT, 3)])
def test_an_agent_of_any_pytorch_notices_within_a_moment_that_a_process_ended(launch: Launch, workers: int) -> None:
    found = meeting_variables(a_start(launch, workers=(3, workers)), GANG[0], HERE)
    assert float(found["PET_MONITOR_INTERVAL"]) <= 0.2


def test_what_only_holds_for_nodes_on_this_machine_is_not_said_of_others() -> None:
    spec = a_start(Launch.TORCHRUN).spec
    assert default_variables(spec, HERE) == {"GLOO_SOCKET_IFNAME": "lo"}
    assert default_variables(spec, THERE) == {}
    assert default_variables(a_start(Launch.JAX).spec, HERE) == {}
    assert "OMPI_MCA_oob_tcp_if_include" not in meeting_variables(a_start(Launch.MPI), GANG[0], THERE)
    assert "JAX_COORDINATOR_BIND_ADDRESS" not in meeting_variables(a_start(Launch.JAX), GANG[0], THERE)


def test_mpirun_is_allowed_to_run_as_root_only_where_the_worker_is_root() -> None:
    names = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}
    root = MeetingPlace(host="127.0.0.1", port=1, is_root=True)
    assert names <= meeting_variables(a_start(Launch.MPI), GANG[0], root).keys()
    assert not names & meeting_variables(a_start(Launch.MPI), GANG[0], HERE).keys()


def test_a_hostfile_names_each_worker_with_its_processes_in_the_order_of_ranks() -> None:
    assert hostfile(a_start(Launch.MPI)) == "worker-0 slots=2\nworker-1 slots=2\nworker-4 slots=2\n"


def test_a_lighthouse_is_looked_for_beside_the_interpreter_of_the_job() -> None:
    assert lighthouse_program(a_start(Launch.TORCHFT, "/opt/e/bin/python t.py").spec) == "/opt/e/bin/torchft_lighthouse"
    assert lighthouse_program(a_start(Launch.TORCHFT, "python t.py").spec) == "torchft_lighthouse"
    assert lighthouse_program(a_start(Launch.TORCHFT, "./run.sh | cat").spec) == "torchft_lighthouse"


def test_a_job_may_name_a_lighthouse_of_its_own() -> None:
    start = a_start(Launch.TORCHFT)
    assert needs_lighthouse(start.spec)
    own = evolve(start, spec=evolve(start.spec, env=(("TORCHFT_LIGHTHOUSE", "http://here:1"),)))
    assert not needs_lighthouse(own.spec)
    assert meeting_variables(own, GANG[0], HERE)["TORCHFT_LIGHTHOUSE"] == "http://here:1"


@pytest.mark.parametrize("launch", [Launch.TORCHRUN, Launch.TORCHFT])
@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("python train.py --x", "python -m torch.distributed.run --no-python python -u train.py --x"),
        ("/e/bin/python t.py", "/e/bin/python -m torch.distributed.run --no-python /e/bin/python -u t.py"),
        ("cd a && A=1 python -m t", "cd a && A=1 python -m torch.distributed.run --no-python python -u -m t"),
        ("./train.py", "torchrun ./train.py"),
        ("torchrun train.py", "torchrun train.py"),
        ("python a.py; python b.py", "python a.py; python b.py"),
    ],
)
def test_torchrun_is_put_around_one_python_program_only(launch: Launch, run: str, expected: str) -> None:
    assert launched(a_start(launch, run), GANG[2]) == expected
    assert launched(a_start(Launch.PLAIN, run), GANG[2]) == run


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("./prog --x", "mpirun ./prog --x"),
        ("python prog.py", "mpirun python prog.py"),
        ("cd a && A=1 ./prog", "cd a && mpirun env A=1 ./prog"),
        ("exec ./prog", "mpirun ./prog"),
        ("mpirun ./prog", "mpirun ./prog"),
        ("A=1 /usr/bin/mpiexec -n 2 ./prog", "A=1 /usr/bin/mpiexec -n 2 ./prog"),
        ("./a && ./b", "./a && ./b"),
        ("./mpirunner", "mpirun ./mpirunner"),
    ],
)
def test_mpirun_is_put_around_one_command_only(run: str, expected: str) -> None:
    assert launched(a_start(Launch.MPI, run), GANG[0]) == expected


def test_a_cluster_of_ray_has_no_address_before_its_head_is_up() -> None:
    assert meeting_variables(a_start(Launch.RAY), GANG[2], HERE) == {}
    assert launched(a_start(Launch.RAY, "python tune.py"), GANG[2]) == "python tune.py"
