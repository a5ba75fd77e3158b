"""Each framework finds in its environment what it expects."""

from dataclasses import replace

from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.instructions import StartWorkers
from muster.model.job import Placement, Worker
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import CheckpointSpec, JobSpec, RoleSpec
from muster.worker.launch.command_lines import limits_line, shell_command
from muster.worker.launch.environment import WorkerPlace, environment, inherited, job_path
from muster.worker.launch.frameworks import MeetingPlace

GANG: Placement = (
    Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1)),
    Worker(rank=1, role="worker", node=NodeName("n1"), gpus=(2, 3)),
    Worker(rank=4, role="worker", node=NodeName("n2"), gpus=(0, 1)),
)
"""Rank 4 has joined after others left: its number in the gang is 2."""

PLACE = WorkerPlace(
    node=NodeName("n2"),
    meeting=MeetingPlace(host="127.0.0.1", port=20_001),
    token="abc",
    notice_path="/node/notice",
    ask_path="/node/ask",
    boards_path="/node/boards",
    hot_path="/hot",
    python_path="/node/train:/own",
)


def a_start(gang: Placement = GANG) -> StartWorkers:
    role = RoleSpec(name="worker", workers_min=2, workers_max=4, request=Request(gpu_milli=2000), run="x")
    spec = JobSpec(
        name="train",
        team=TeamPath("nlp"),
        tier=TierName("standard"),
        roles=(role,),
        env=(("A", "b"), ("MUSTER_ARRAY_INDEX", "7"), ("CUDA_VISIBLE_DEVICES", "5")),
        checkpoint=CheckpointSpec(path="s3://bucket/run"),
    )
    return StartWorkers(job=JobId("job-1"), attempt=2, generation=3, spec=spec, workers=gang, gang=gang, run="job-1-5f")


def test_a_worker_knows_what_it_is_and_where() -> None:
    found = environment(a_start(), GANG[2], PLACE)
    expected = {
        "A": "b",
        "MUSTER_JOB": "job-1",
        "MUSTER_ATTEMPT": "2",
        "MUSTER_RESTART": "1",
        "MUSTER_RUN_ID": "job-1-5f",
        "MUSTER_RANK": "4",
        "MUSTER_ROLE": "worker",
        "MUSTER_WORLD": "3",
        "MUSTER_NODE": "n2",
        "MUSTER_NODE_RANK": "1",
        "MUSTER_GPUS": "0,1",
        "MUSTER_ARRAY_INDEX": "7",
        "MUSTER_CHECKPOINT_PATH": "s3://bucket/run",
        "MUSTER_CHECKPOINT_KEEP": "3",
        "MUSTER_BOARDS": "/node/boards",
        "MUSTER_HOT": "/hot",
        "MUSTER_NEIGHBOUR": "n1",
        "PYTHONPATH": "/node/train:/own",
        "MUSTER_CHECKPOINT_NOTICE": "/node/notice",
        "MUSTER_CHECKPOINT_ASK": "/node/ask",
        "MUSTER_MASTER_ADDR": "127.0.0.1",
        "MUSTER_MASTER_PORT": "20001",
        "MUSTER_WORKER_TOKEN": "abc",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    assert {name: found[name] for name in expected} == expected


def test_a_first_attempt_has_nothing_to_resume_from() -> None:
    found = environment(a_start(), GANG[2], PLACE)
    assert not {"MUSTER_CHECKPOINT_STEP", "MUSTER_CHECKPOINT_LATEST"} & found.keys()


def test_the_checkpoint_to_resume_from_is_the_durable_one_if_it_is_whole_there() -> None:
    hot = evolve(a_start(), resume_step=1200)
    found = environment(hot, GANG[2], PLACE)
    assert found["MUSTER_CHECKPOINT_STEP"] == "1200"
    assert found["MUSTER_CHECKPOINT_LATEST"] == "/hot/n2/job-1-5f/step-000000001200"
    found = environment(evolve(hot, is_resume_durable=True), GANG[2], PLACE)
    assert found["MUSTER_CHECKPOINT_LATEST"] == "s3://bucket/run/step-000000001200"


def test_nodes_are_neighbours_in_a_ring_and_a_gang_on_one_node_has_none() -> None:
    gang = tuple(Worker(rank=rank, role="worker", node=NodeName(node)) for rank, node in enumerate("abbc"))
    found = [environment(a_start(gang), each, evolve_place(each.node)).get("MUSTER_NEIGHBOUR") for each in gang]
    assert found == ["b", "c", "c", "a"]
    alone = gang[1:3]
    assert "MUSTER_NEIGHBOUR" not in environment(a_start(alone), alone[0], evolve_place(NodeName("b")))


def evolve_place(node: NodeName) -> WorkerPlace:
    return replace(PLACE, node=node)


def test_the_job_files_own_path_comes_before_that_of_the_supervisor() -> None:
    start = a_start()
    assert job_path(start, {"PYTHONPATH": "/sup"}) == "/sup"
    own = evolve(start, spec=evolve(start.spec, env=(("PYTHONPATH", "/mine"),)))
    assert job_path(own, {"PYTHONPATH": "/sup"}) == "/mine"
    assert job_path(start, {}) == ""


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


def test_a_shell_enters_its_groups_before_anything_else() -> None:
    limits = limits_line(0o22, 1 << 20)
    command = shell_command(own="/o", folder="/a", limits=limits, has_terminal=False, groups=("/g/procs",))
    assert command[:2] == ["/bin/sh", "-c"]
    assert command[4:] == ["/o", "/a", "umask 0022 && ulimit -d 1024", "", "", "", "/g/procs"]
    assert limits_line(0o77, None) == "umask 0077"
