"""A worker in a container is a worker like any other, and what it needs of its node is there."""

import os
import sys
from pathlib import Path

from muster.model.events import StartFailed
from muster.model.records import evolve
from muster.model.reports import WorkersExited
from muster.model.resources import Request
from muster.model.spec import CheckpointSpec, Mount
from muster.worker.containers.settings import ContainerSettings
from muster.worker.worker_reports import CANNOT_RUN
from tests.containers.conftest import ContainerMachine, MakeMachine, in_image
from tests.containers.podman_store import Store

MEET = """
import os, socket, time
rank, address = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(address) as server:
        server.settimeout(20)
        other = server.accept()[0]
        print("heard", other.recv(9).decode())
else:
    for _ in range(400):
        try:
            socket.create_connection(address).send(b"rank 1")
            break
        except OSError:
            time.sleep(0.05)
raise SystemExit(3 * rank)
"""


def test_a_worker_runs_in_its_image_and_its_exit_code_is_reported(machine: ContainerMachine) -> None:
    machine.start(in_image("echo $MUSTER_JOB $MUSTER_RANK; echo oops >&2; test -e /work; exit $((6 + $?))"))
    assert machine.exit_of().exit_code == 7
    assert machine.log() == "job-1 0\noops\n"
    told = [type(event).__name__ for event in machine.events]
    assert sorted(told) == ["GangsFound", "RuntimeFound", "WorkersExited", "WorkersStarted"]


def test_a_gang_in_containers_meets_and_ends_with_its_code(make_machine: MakeMachine, python_image: str) -> None:
    machine = make_machine(nodes=("n1", "n2"))
    machine.start(in_image(f"python3 -c '{MEET}'", python_image), nodes=("n1", "n2"))
    machine.exit_of(count=2)
    codes = {event.ranks: event.exit_code for event in machine.events if isinstance(event, WorkersExited)}
    assert codes == {(0,): 0, (1,): 3}
    assert machine.log(rank=0) == "heard rank 1\n"


def test_setup_runs_in_the_container_of_each_worker(machine: ContainerMachine) -> None:
    spec = in_image("cat /made", setup="echo by $MUSTER_RANK >/made")
    machine.start(spec, nodes=("n1", "n1"))
    machine.exit_of(count=2)
    assert [machine.log(rank=rank) for rank in (0, 1)] == ["by 0\n", "by 1\n"]
    machine.start(in_image("echo run", setup="exit 9"), job="job-2")
    assert machine.exit_of(job="job-2").exit_code == 9
    assert machine.log(job="job-2") == ""


def test_it_runs_in_its_working_directory_or_where_the_image_says(machine: ContainerMachine, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    machine.start(in_image("pwd; echo here >made", workdir=str(work)))
    machine.exit_of()
    assert (machine.log(), (work / "made").read_text()) == (f"{work}\n", "here\n")
    machine.start(in_image("pwd"), job="job-2")
    machine.exit_of(job="job-2")
    assert machine.log(job="job-2") == "/\n"
    machine.start(in_image("pwd", workdir="/nowhere"), job="job-3")
    assert machine.exit_of(job="job-3").exit_code == 125
    assert (
        machine.log(job="job-3") == "muster: the working directory /nowhere is neither on the node nor in the image\n"
    )


def test_mounts_are_where_the_job_wants_them_and_some_can_only_be_read(
    machine: ContainerMachine, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "set").write_text("numbers\n")
    mounts = (
        Mount(source=str(data), target="/data", read_only=True),
        Mount(source=str(data), target="/data/again"),
        Mount(source=str(data / "set"), target="/etc/set"),
    )
    (data / "again").mkdir()
    machine.start(in_image("cat /data/set /etc/set; echo x >/data/again/new; echo x >/data/no; exit $?", mounts=mounts))
    assert machine.exit_of().exit_code == 2
    assert machine.log().startswith("numbers\nnumbers\n")
    assert sorted(os.listdir(data)) == ["again", "new", "set"]


def test_a_mount_that_is_not_there_is_said_before_anything_starts(machine: ContainerMachine) -> None:
    machine.start(in_image("echo no", mounts=(Mount(source="/no/data", target="/data"),)))
    end = machine.exit_of()
    assert end.exit_code == CANNOT_RUN
    assert end.problem.startswith("node n1 has no /no/data, which `mounts` names: make it there")
    assert machine.log() == f"muster: {end.problem}\n"


def test_checkpoints_in_a_folder_are_seen_and_the_folder_is_made(machine: ContainerMachine, tmp_path: Path) -> None:
    spec = in_image("echo $MUSTER_CHECKPOINT_PATH; touch $MUSTER_CHECKPOINT_PATH/one; touch $MUSTER_HOT/n1/two")
    folder = tmp_path / "deep" / "checkpoints"
    machine.start(evolve(spec, checkpoint=CheckpointSpec(path=str(folder))))
    assert machine.exit_of().exit_code == 0, machine.log()
    assert (machine.log(), os.listdir(folder)) == (f"{folder}\n", ["one"])


def test_python_of_the_image_finds_the_training_library(machine: ContainerMachine, python_image: str) -> None:
    run = "python3 -c 'import sys, muster.train; print(sys.prefix, muster.train.__file__)'"
    machine.start(in_image(run, python_image, env=(("PYTHONPATH", "/mine"),)))
    assert machine.exit_of().exit_code == 0, machine.log()
    prefix, file = machine.log().split()
    assert (prefix, file.endswith("muster/train/__init__.py")) == (sys.base_prefix, True)


def test_a_container_that_needs_more_memory_than_it_asked_for_is_ended_for_that(machine: ContainerMachine) -> None:
    spec = in_image("head -c 400m /dev/zero | tail -c 300m >/dev/null", request=Request(memory_bytes=64 << 20))
    machine.start(spec)
    end = machine.exit_of()
    assert (end.exit_code, end.oom) == (137, True), machine.log()


def test_an_image_without_a_shell_fails_the_job_and_its_output_says_why(
    machine: ContainerMachine, store: Store
) -> None:
    store.podman("image", "exists", "localhost/shell:1")
    machine.start(in_image("true", mounts=(Mount(source="/dev/null", target="/bin/sh"),)))
    assert machine.exit_of().exit_code in (126, 127)
    assert "sh" in machine.log()


def test_a_node_without_a_runtime_says_so_and_starts_nothing(make_machine: MakeMachine, store: Store) -> None:
    machine = make_machine(settings=ContainerSettings(runtime="enroot"))
    machine.start(in_image("true"))
    failed = machine.heard(StartFailed)
    assert failed.message.startswith("node n1 has no container runtime that works (enroot: ")
    assert failed.message.endswith("install podman there, or leave out `image`")
