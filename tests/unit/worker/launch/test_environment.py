"""Each framework finds in its environment what it expects."""

import pytest

from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.instructions import StartWorkers
from muster.model.job import Placement, Worker
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import CheckpointSpec, JobSpec, Launch, RoleSpec
from muster.worker.launch.command_lines import limits_line, run_line, shell_command
from muster.worker.launch.environment import WorkerPlace, environment, hostfile, inherited

GANG: Placement = (
    Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1)),
    Worker(rank=1, role="worker", node=NodeName("n1"), gpus=(2, 3)),
    Worker(rank=4, role="worker", node=NodeName("n2"), gpus=(0, 1)),
)
"""Rank 4 has joined after others left: its number in the gang is 2."""

PLACE = WorkerPlace(
    node=NodeName("n2"),
    master_host="127.0.0.1",
    master_port=20_001,
    token="abc",
    notice_path="/node/notice",
    ask_path="/node/ask",
    hostfile_path="/node/hosts",
)


def a_start(launch: Launch = Launch.PLAIN, run: str = "python train.py", gang: Placement = GANG) -> StartWorkers:
    role = RoleSpec(name="worker", workers_min=2, workers_max=4, request=Request(gpu_milli=2000), run=run)
    spec = JobSpec(
        name="train",
        team=TeamPath("nlp"),
        tier=TierName("standard"),
        roles=(role,),
        launch=launch,
        env=(("A", "b"), ("MUSTER_ARRAY_INDEX", "7"), ("CUDA_VISIBLE_DEVICES", "5")),
        checkpoint=CheckpointSpec(path="s3://bucket/run"),
    )
    return StartWorkers(job=JobId("job-1"), attempt=2, generation=3, spec=spec, workers=gang, gang=gang)


def test_a_worker_knows_what_it_is_and_where() -> None:
    found = environment(a_start(), GANG[2], PLACE)
    expected = {
        "A": "b",
        "MUSTER_JOB": "job-1",
        "MUSTER_ATTEMPT": "2",
        "MUSTER_RANK": "4",
        "MUSTER_ROLE": "worker",
        "MUSTER_WORLD": "3",
        "MUSTER_NODE": "n2",
        "MUSTER_NODE_RANK": "1",
        "MUSTER_GPUS": "0,1",
        "MUSTER_ARRAY_INDEX": "7",
        "MUSTER_CHECKPOINT_PATH": "s3://bucket/run",
        "MUSTER_CHECKPOINT_NOTICE": "/node/notice",
        "MUSTER_CHECKPOINT_ASK": "/node/ask",
        "MUSTER_MASTER_ADDR": "127.0.0.1",
        "MUSTER_MASTER_PORT": "20001",
        "MUSTER_WORKER_TOKEN": "abc",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    assert {name: found[name] for name in expected} == expected


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
            },
        ),
        (
            Launch.JAX,
            {"JAX_COORDINATOR_ADDRESS": "127.0.0.1:20001", "JAX_NUM_PROCESSES": "3", "JAX_PROCESS_ID": "2"},
        ),
        (
            Launch.MPI,
            {
                "OMPI_COMM_WORLD_RANK": "2",
                "OMPI_COMM_WORLD_SIZE": "3",
                "OMPI_COMM_WORLD_LOCAL_RANK": "0",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
                "MUSTER_HOSTFILE": "/node/hosts",
            },
        ),
        (Launch.TORCHFT, {"REPLICA_GROUP_ID": "2", "NUM_REPLICA_GROUPS": "3"}),
    ],
)
def test_each_framework_finds_its_own_names(launch: Launch, expected: dict[str, str]) -> None:
    found = environment(a_start(launch), GANG[2], PLACE)
    assert {name: found[name] for name in expected} == expected
    assert ("RANK" in found) is (launch is Launch.PLAIN)


def test_a_worker_without_gpus_sees_none_and_one_with_a_share_knows_it() -> None:
    none = evolve(GANG[0], gpus=())
    assert environment(a_start(), none, PLACE)["CUDA_VISIBLE_DEVICES"] == ""
    shared = evolve(GANG[0], gpus=(3,), share_milli=250)
    found = environment(a_start(), shared, PLACE)
    assert (found["CUDA_VISIBLE_DEVICES"], found["MUSTER_GPU_SHARE"]) == ("3", "0.250")


def test_tokens_and_passwords_of_the_control_plane_are_not_passed_on() -> None:
    secret = dict.fromkeys(("MUSTER_TOKEN", "MUSTER_DATABASE", "MUSTER_WORKER_TOKEN", "MUSTER_HOME"), "x")
    own = {"PATH": "/bin", "MUSTER_URL": "z", **secret}
    assert inherited(own) == {"PATH": "/bin", "MUSTER_URL": "z"}


def test_a_hostfile_counts_slots_by_address() -> None:
    assert hostfile(a_start(), {NodeName("n1"): "10.0.0.1"}) == "10.0.0.1 slots=4\nn2 slots=2\n"


FLAGS = "--nnodes 3 --node-rank 2 --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 20001"


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("python train.py --lr 0.1", f"torchrun {FLAGS} train.py --lr 0.1"),
        ("python3.11 -u ./a/train.py", f"torchrun {FLAGS} ./a/train.py"),
        ("python -m package.train --x 'a b'", f"torchrun {FLAGS} -m package.train --x 'a b'"),
        ("LEVEL=2 python train.py", f"LEVEL=2 torchrun {FLAGS} train.py"),
        ("train.py", f"torchrun {FLAGS} train.py"),
        ("torchrun train.py", "torchrun train.py"),
        ("python -m torch.distributed.run train.py", "python -m torch.distributed.run train.py"),
        ("python prepare.py && python train.py", "python prepare.py && python train.py"),
        ("python train.py\npython test.py", "python train.py\npython test.py"),
        ("accelerate launch train.py", "accelerate launch train.py"),
        ("bash run.sh", "bash run.sh"),
    ],
)
def test_torchrun_is_put_around_one_python_program_only(run: str, expected: str) -> None:
    assert run_line(a_start(Launch.TORCHRUN, run), GANG[2], PLACE) == expected
    assert run_line(a_start(Launch.PLAIN, run), GANG[2], PLACE) == run


def test_a_shell_enters_its_groups_before_anything_else() -> None:
    limits = limits_line(0o22, 1 << 20)
    command = shell_command(own="/o", folder="/a", limits=limits, has_terminal=False, groups=("/g/procs",))
    assert command[:2] == ["/bin/sh", "-c"]
    assert command[4:] == ["/o", "/a", "umask 0022 && ulimit -d 1024", "", "/g/procs"]
    assert limits_line(0o77, None) == "umask 0077"
