"""Either side may die at any moment; the other goes on, and nothing is lost or run twice."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.backends.local.backend import LocalBackend
from muster.model.errors import InvariantViolated
from muster.model.events import (
    GangsFound,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ObservedEvent,
    RuntimeFound,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.machines.ownership import Leadership
from muster.processes import entry
from muster.worker.launch.runtime_folder import exit_record, hot_folder
from muster.worker.messages import line
from muster.worker.processes.process_table import boot_id
from muster.worker.service import address
from muster.worker.supervisor_address import supervisor_address
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, eventually, is_alive

GOES_ON = 'echo $$ ready; until [ -e "$MUSTER_CHECKPOINT_ASK" ]; do sleep 0.02; done; echo done; exit 5'

CONTROL_PLANE = """
import sys
from pathlib import Path
from muster.model.events import WorkersStarted
from tests.local.machine import Machine, eventually
machine = Machine(Path(sys.argv[1]))
machine.start(sys.argv[2])
eventually(lambda: any(isinstance(event, WorkersStarted) for event in machine.backend.poll()))
print("up", flush=True)
sys.stdin.read()
"""


def unrecorded(machine: Machine, count: int) -> list[ObservedEvent]:
    """So many events, polled and not acknowledged."""
    heard: list[ObservedEvent] = []

    def look() -> bool:
        heard.extend(event for event in machine.backend.poll() if not isinstance(event, GangsFound | RuntimeFound))
        return len(heard) >= count

    eventually(look)
    return heard


def reported(machine: Machine) -> list[ObservedEvent]:
    """What was heard of workers; what a node runs it says with every greeting."""
    return [event for event in machine.poll() if not isinstance(event, GangsFound | RuntimeFound)]


def let_go_on(machine: Machine) -> None:
    (folder,) = machine.worker_folders()
    (folder / "ask").touch()


def test_a_job_survives_a_control_plane_that_is_killed(make_machine: MakeMachine, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CONTROL_PLANE, str(tmp_path), GOES_ON]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as control_plane:
        assert control_plane.stdout is not None
        assert control_plane.stdout.readline() == b"up\n"
        supervisor = supervisor_address(tmp_path / "nodes" / "n1")
        control_plane.kill()
    machine = make_machine()
    machine.says("ready")
    machine.start(GOES_ON)
    assert machine.is_up().ranks == (0,)
    assert machine.supervisor() == supervisor
    let_go_on(machine)
    assert machine.exit_of().exit_code == 5
    assert machine.log().count("ready") == 1


@pytest.mark.parametrize("command", ["a limit", "a grace period"])
def test_limits_are_kept_while_a_control_plane_hangs_on_its_connection(machine: Machine, command: str) -> None:
    machine.start(
        f"trap 'echo told' TERM; echo $$ ready; {GOES_ON}",
        max_duration_ms=100 if command == "a limit" else None,
    )
    pid = int(machine.says("ready").split()[0])
    if command == "a grace period":
        machine.stop(grace_ms=50)
        machine.says("told")
    machine.backend.close()
    with silent_control_plane(machine):
        eventually(lambda: not is_alive(pid))
    machine.backend = machine.connect()
    assert machine.exit_of().timed_out is (command == "a limit")


@contextmanager
def silent_control_plane(machine: Machine) -> Iterator[None]:
    """One that has greeted, and says nothing more."""
    place = os.open(machine.home / "nodes" / "n1", os.O_PATH)
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(address(place))
        os.close(place)
        channel.sendall(line({"token": machine.supervisor().token, "as": "control"}))
        with channel.makefile() as lines:
            assert "hello" in json.loads(lines.readline())
            yield


def test_what_happened_while_no_control_plane_listened_is_told_until_it_is_recorded(machine: Machine) -> None:
    machine.start(GOES_ON)
    machine.says("ready")
    machine.backend.close()
    let_go_on(machine)
    machine.says("done")
    for _ in range(2):  # heard and not recorded, then heard again
        machine.backend = machine.connect()
        assert [type(event) for event in unrecorded(machine, 2)] == [WorkersStarted, WorkersExited]
        machine.backend.close()
    machine.backend = machine.connect()
    eventually(lambda: len(reported(machine)) == 2)
    eventually(lambda: ["acked", 2] in machine.journal())
    machine.backend.close()
    machine.backend = machine.connect()
    machine.start("echo next", job="job-2")
    machine.exit_of(job="job-2")
    assert len(reported(machine)) == 4


def test_a_supervisor_that_dies_is_noticed_and_replaced(machine: Machine) -> None:
    machine.start("trap '' TERM HUP; setsid sh -c 'echo $$; sleep 60' & echo $$ ready; sleep 60")
    log = machine.says("ready")
    eventually(lambda: len(machine.log().splitlines()) == 2)
    before = machine.kill_supervisor()
    assert machine.heard(NodeUnreachable).node == "n1"
    assert machine.heard(NodeReturned).node == "n1"
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told) == (137, False)
    assert not [int(word) for word in machine.log().split() if word.isdigit() and is_alive(int(word))], log
    assert machine.supervisor() != before
    machine.start("true", job="job-2")
    assert machine.exit_of(job="job-2").exit_code == 0


def test_a_successor_finds_a_process_that_hides_everything(machine: Machine) -> None:
    machine.start("(env -i PATH=$PATH setsid sh -c 'echo $$ ready; while :; do sleep 0.05; done' &); sleep 60")
    stray = int(machine.says("ready").split()[0])
    os.kill(machine.supervisor().pid, signal.SIGKILL)
    machine.exit_of()
    assert not is_alive(stray)


@pytest.mark.parametrize("leads", [True, False], ids=["its leader lives", "its leader is gone"])
def test_a_successor_finds_a_process_that_hides_everything_but_its_session(
    make_machine: MakeMachine, leads: bool
) -> None:
    machine = make_machine(options=("--without-groups",))
    hides = "env -i PATH=$PATH prlimit --rttime=1000:1000 sh -c 'echo $$ ready; while :; do sleep 0.05; done'"
    machine.start(f"({hides} &); sleep 60")
    stray = int(machine.says("ready").split()[0])
    first = eventually(lambda: [entry for entry in machine.journal() if entry[0] == "alive"])[0][3]
    assert isinstance(first, int)
    os.kill(machine.supervisor().pid, signal.SIGSTOP)
    if not leads:
        os.kill(first, signal.SIGKILL)
    os.kill(machine.supervisor().pid, signal.SIGKILL)
    machine.exit_of()
    assert not is_alive(stray)


def test_a_supervisor_that_died_while_no_control_plane_looked_is_noticed_too(machine: Machine) -> None:
    machine.start("echo ready; sleep 60")
    machine.says("ready")
    machine.poll()
    machine.backend.close()
    machine.kill_supervisor()
    machine.backend = machine.connect()
    machine.exit_of()
    kinds = [type(event) for event in machine.events]
    assert kinds.index(NodeUnreachable) < kinds.index(NodeReturned) < kinds.index(WorkersExited)


def test_where_no_successor_can_be_started_the_node_is_swept_by_its_journal(machine: Machine) -> None:
    machine.start("trap '' TERM HUP; setsid sh -c 'echo $$; sleep 60' & echo $$ ready; sleep 60")
    machine.says("ready")
    eventually(lambda: len(machine.log().splitlines()) == 2)
    pids = [int(word) for word in machine.log().split() if word.isdigit()]
    log = machine.home / "nodes" / "n1" / "supervisor.log"
    log.unlink()
    log.mkdir()
    machine.kill_supervisor()
    machine.heard(NodeLost)
    assert [pid for pid in pids if is_alive(pid)] == []
    assert not any(isinstance(event, NodeReturned) for event in machine.events)
    log.rmdir()
    machine.heard(NodeReturned)
    machine.start("true", job="job-2")
    assert machine.exit_of(job="job-2").exit_code == 0


def test_a_greeting_lists_gangs_with_their_places_and_their_job_files(machine: Machine) -> None:
    machine.start(GOES_ON)
    machine.says("ready")
    machine.backend.close()
    machine.backend = machine.connect()
    (gang,) = machine.heard(GangsFound).gangs
    assert (gang.job, gang.attempt, gang.generation) == ("job-1", 1, 1)
    assert [(worker.rank, worker.node, worker.role) for worker in gang.workers] == [(0, "n1", "worker")]
    assert gang.spec is not None
    assert gang.spec.roles[0].run == GOES_ON
    let_go_on(machine)
    machine.exit_of()
    machine.backend.close()
    machine.backend = machine.connect()
    later = machine.heard(GangsFound, count=2)
    assert (later.gangs, [each.job for each in later.seen]) == ((), ["job-1"])


def test_a_supervisor_keeps_the_limit_of_a_gang_that_the_control_plane_does_not_speak_of(machine: Machine) -> None:
    machine.start("trap '' TERM; echo $$ ready; sleep 60", max_duration_ms=1_000)
    pid = int(machine.says("ready").split()[0])
    machine.backend.close()
    machine.backend = machine.connect()
    assert machine.exit_of().timed_out
    assert not is_alive(pid)


def test_a_control_plane_of_an_older_epoch_is_refused_and_disturbs_no_worker(machine: Machine) -> None:
    machine.start(GOES_ON)
    machine.says("ready")
    machine.backend.close()
    newer = LocalBackend(machine.home, machine.nodes, leadership=Leadership(cluster="c1", epoch=7))
    eventually(newer.limits)
    for stale in (Leadership(cluster="c1", epoch=6), Leadership(cluster="c2", epoch=9)):
        older = LocalBackend(machine.home, machine.nodes, leadership=stale)
        with pytest.raises(InvariantViolated, match="does not obey"):
            eventually(older.poll)
        older.close()
    newer.close()
    machine.backend = LocalBackend(
        machine.home, machine.nodes, leadership=Leadership(cluster="c2", epoch=1, takes_over=True)
    )
    let_go_on(machine)
    assert machine.exit_of().exit_code == 5


@pytest.mark.parametrize("code", [0, 5])
def test_a_worker_that_finished_while_its_supervisor_hung_is_not_lost(machine: Machine, code: int) -> None:
    machine.start(f"setsid sleep 60 & echo $! $$ ready; {GOES_ON.replace('exit 5', f'exit {code}')}")
    left, pid = (int(word) for word in machine.says("ready").split()[:2])
    (folder,) = machine.worker_folders()
    hung = machine.supervisor()
    os.kill(hung.pid, signal.SIGSTOP)
    let_go_on(machine)
    eventually(lambda: exit_record(folder) == code)
    eventually(lambda: not is_alive(pid))
    os.kill(hung.pid, signal.SIGKILL)
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told) == (code, False)
    assert not is_alive(left)
    assert not folder.exists()
    assert "the last that it printed may be missing" in machine.log()


def test_a_worker_that_finished_is_told_before_the_node_is_lost_with_the_others(machine: Machine) -> None:
    machine.start("echo ready; sleep 60")
    machine.start("echo ready", job="job-2")
    machine.exit_of(job="job-2")
    machine.start(GOES_ON, job="job-3")
    for job in ("job-1", "job-3"):
        machine.says("ready", job=job)
    machine.poll()
    machine.backend.close()
    hung = machine.supervisor()
    os.kill(hung.pid, signal.SIGSTOP)
    for folder in machine.worker_folders():
        (folder / "ask").touch()
    eventually(lambda: [code for each in machine.worker_folders() if (code := exit_record(each)) is not None] == [5])
    os.kill(hung.pid, signal.SIGKILL)
    eventually(lambda: not is_alive(hung.pid))  # otherwise it may be reached once more, and be lost while it dies
    machine.backend = machine.connect()
    assert machine.exit_of().exit_code == 137
    told = [(type(event), getattr(event, "job", "")) for event in machine.events]
    assert (
        told.index((WorkersExited, "job-3")) < told.index((NodeUnreachable, "")) < told.index((WorkersExited, "job-1"))
    )


def test_a_supervisor_that_keeps_dying_is_started_again_and_again(machine: Machine) -> None:
    for count in (1, 2, 3):
        machine.kill_supervisor()
        machine.heard(NodeReturned, count=count)
    assert len([event for event in machine.events if isinstance(event, NodeUnreachable)]) == 3


@pytest.mark.parametrize("start_ticks", ["its own", "another's"])
def test_a_recycled_pid_is_never_taken_for_a_supervisor(
    make_machine: MakeMachine, tmp_path: Path, start_ticks: str
) -> None:
    with subprocess.Popen(["sleep", "60"]) as foreign:
        found = entry(foreign.pid)
        assert found is not None
        folder = tmp_path / "nodes" / "n1"
        folder.mkdir(parents=True)
        ticks = found.start_ticks - (start_ticks == "another's")
        (folder / "supervisor.json").write_text(
            json.dumps({"pid": foreign.pid, "start_ticks": ticks, "boot": boot_id(), "token": "guess"})
        )
        machine = make_machine()
        machine.start("true")
        assert machine.exit_of().exit_code == 0
        assert machine.supervisor().pid != foreign.pid
        assert foreign.poll() is None
        foreign.kill()


def test_a_stranger_without_the_token_is_sent_away(machine: Machine) -> None:
    found = machine.supervisor()
    script = f"""
import os, socket
os.chdir({str(machine.home / "nodes" / "n1")!r})
channel = socket.socket(socket.AF_UNIX)
channel.connect("socket")
channel.sendall(b'{{"token": "{"0" * 32}", "as": "control"}}\\n')
print(channel.makefile().read())
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == {"error": "a wrong token"}
    assert is_alive(found.pid)


def test_only_one_supervisor_has_a_node(machine: Machine) -> None:
    machine.supervisor()
    command = [sys.executable, "-m", "muster.worker", "--home", str(machine.home), "--node", "n1"]
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 3
    assert "already" in second.stderr


def test_a_node_that_is_no_longer_there_is_ended_and_its_workers_are_denied(make_machine: MakeMachine) -> None:
    machine = make_machine(nodes=("n1", "n2"))
    machine.start("echo $$ ready; sleep 60", nodes=("n2",))
    pid = int(machine.says("ready").split()[0])
    machine.backend.close()
    machine.nodes = machine.nodes[:1]
    machine.backend = machine.connect()
    assert not is_alive(pid)
    machine.start("echo $$ ready; sleep 60", nodes=("n2",))
    assert "n2 is no node" in machine.heard(StartFailed).message
    machine.kill()
    assert machine.heard(StartFailed, count=2).generation == 3


def test_a_supervisor_that_ends_leaves_no_empty_folders_for_checkpoints_and_images(machine: Machine) -> None:
    scratch = hot_folder(machine.home, os.environ).parent
    machine.start("exec sleep 60")
    eventually((scratch / "images").is_dir, what="it has looked for container runtimes")
    machine.backend.shutdown()
    assert not scratch.exists()


def test_ending_a_supervisor_ends_its_workers(machine: Machine) -> None:
    machine.start("trap '' TERM; echo $$ ready; while :; do sleep 0.05; done")
    pid = int(machine.says("ready").split()[0])
    os.kill(machine.supervisor().pid, signal.SIGTERM)
    machine.heard(NodeUnreachable)
    assert not is_alive(pid)
    assert machine.exit_of().told


def test_a_damaged_journal_costs_its_damaged_lines_only(machine: Machine) -> None:
    machine.start("echo $$ ready; sleep 60")
    pid = int(machine.says("ready").split()[0])
    machine.poll()
    machine.backend.close()
    folder = machine.home / "nodes" / "n1"
    machine.kill_supervisor()
    with (folder / "journal").open("ab") as journal:
        journal.write(b"\xff no entry\n")
    machine.backend = machine.connect()
    assert machine.exit_of().exit_code == 137
    assert not is_alive(pid)
    assert "of the journal were damaged" in (folder / "supervisor.log").read_text()
