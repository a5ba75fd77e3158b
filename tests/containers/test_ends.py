"""However a container ends, its program is told as any other, and nothing of it is left behind."""

import os
import signal
import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from muster.backends.base import Beside
from muster.model.ids import JobId
from muster.model.records import evolve
from muster.model.spec import Interactive
from muster.processes import entry
from tests.containers.conftest import ContainerMachine, MakeMachine, in_image
from tests.containers.podman_store import Store
from tests.local.machine import eventually, is_alive
from tests.local.test_side_commands import all_of

SAVES = "trap 'echo saving; sleep 0.2; echo saved; exit 3' TERM; echo up; while :; do sleep 0.05; done"
STAYS = "trap '' TERM HUP; (trap '' TERM; exec sleep 600) & echo $! >{file}; echo $$ >>{file}; echo up; wait; wait"


def pids(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()]


def stays(tmp_path: Path) -> str:
    """A program that must be killed, with another process below it. It says which they are."""
    (tmp_path / "work").mkdir()
    return STAYS.format(file=tmp_path / "work" / "pids")


def test_a_program_that_is_told_to_leave_may_save_first(machine: ContainerMachine) -> None:
    machine.start(in_image(SAVES))
    machine.says("up")
    machine.stop()
    end = machine.exit_of()
    assert (end.told, end.exit_code) == (True, 3)
    assert [line for line in machine.log().splitlines() if line != "Terminated"] == ["up", "saving", "saved"]


def test_a_program_that_was_told_before_it_began_does_not_begin(machine: ContainerMachine) -> None:
    machine.start(in_image("echo begun", setup="echo setup; sleep 0.5"))
    machine.says("setup")
    machine.stop()
    assert machine.exit_of().told
    assert machine.log() == "setup\n"


def test_a_killed_container_is_gone_with_everything_in_it(
    machine: ContainerMachine, store: Store, tmp_path: Path
) -> None:
    machine.start(in_image(stays(tmp_path), workdir=str(tmp_path / "work")))
    machine.says("up")
    found = pids(tmp_path / "work" / "pids")
    (name,) = store.containers()
    assert name.startswith("muster-job-1-1-0-")
    machine.kill()
    assert machine.exit_of().exit_code == 137
    assert not any(map(is_alive, found))
    assert store.containers() == []


def test_what_a_program_leaves_in_the_background_ends_with_it(machine: ContainerMachine, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    machine.start(in_image("sleep 600 & echo $! >pids; exit 0", workdir=str(tmp_path / "work")))
    assert machine.exit_of().exit_code == 0
    assert not any(map(is_alive, pids(tmp_path / "work" / "pids")))


def test_the_next_supervisor_ends_what_a_killed_one_left(
    machine: ContainerMachine, store: Store, tmp_path: Path
) -> None:
    machine.start(in_image(stays(tmp_path), workdir=str(tmp_path / "work")))
    machine.says("up")
    found = pids(tmp_path / "work" / "pids")
    machine.kill_supervisor()
    assert machine.exit_of().exit_code == 137
    assert not any(map(is_alive, found))
    eventually(lambda: store.containers() == [], what="no containers")


def test_a_client_of_the_runtime_that_is_killed_takes_its_container_along(
    machine: ContainerMachine, tmp_path: Path
) -> None:
    machine.start(in_image(stays(tmp_path), workdir=str(tmp_path / "work")))
    machine.says("up")
    found = pids(tmp_path / "work" / "pids")
    os.kill(_client_of("muster-job-1-1-0-"), signal.SIGKILL)
    assert machine.exit_of().exit_code == 137
    assert not any(map(is_alive, found))


def test_a_container_ends_at_its_limit_when_no_control_plane_is_there(make_machine: MakeMachine) -> None:
    machine = make_machine()
    machine.start(in_image(SAVES), max_duration_ms=3_000)
    machine.says("up")
    machine.backend.close()
    machine.backend = machine.connect()
    end = machine.exit_of()
    assert (end.timed_out, end.exit_code) == (True, 3)


def test_signals_of_a_user_reach_the_program_and_not_its_shells(machine: ContainerMachine, python_image: str) -> None:
    program = "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: exit(5)); print(1, flush=True)"
    machine.start(in_image(f"python3 -c '{program}; time.sleep(60)'; exit $?", python_image))
    machine.says("1")
    machine.backend.signal(JobId("job-1"), signal.SIGUSR1)
    assert machine.exit_of().exit_code == 5


def test_nobody_sees_a_secret_from_outside(machine: ContainerMachine, store: Store) -> None:
    folder = machine.home / "secrets"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "KEY").write_text("hidden value")
    (folder / "KEY").chmod(0o600)
    spec = evolve(in_image('[ "$KEY" = "hidden value" ] && echo up; exec sleep 600'), secrets=("KEY",))
    machine.start(spec)
    machine.says("up")
    listed = subprocess.run(["ps", "axeww"], capture_output=True, text=True, check=True).stdout
    said = [line for line in listed.splitlines() if "hidden value" in line]
    assert [line.split()[4] for line in said] == ["sleep"]  # its own environment, which only its user may read
    assert "hidden value" not in store.podman("inspect", *store.containers())
    machine.kill()
    machine.exit_of()


@pytest.mark.parametrize("has_terminal", [False, True])
def test_a_command_beside_a_worker_runs_in_its_container(machine: ContainerMachine, has_terminal: bool) -> None:
    machine.start(in_image("echo here >/made; echo up; exec sleep 600", env=(("WORD", "hello"),)))
    machine.says("up")
    line = "read word; cat /made; echo $WORD $MUSTER_RANK $word; exit 4"
    attachment = machine.backend.attach(JobId("job-1"), Beside(rank=0, line=line, has_terminal=has_terminal))
    attachment.type(b"typed\n")
    said, code = all_of(attachment)
    assert (said.split()[-4:], code) == ([b"here", b"hello", b"0", b"typed"], 4)
    machine.kill()
    machine.exit_of()


def test_a_command_beside_a_worker_ends_when_nobody_watches_any_more(machine: ContainerMachine) -> None:
    machine.start(in_image("echo up; exec sleep 600"))
    machine.says("up")
    for line in ("echo $$; exec sleep 600", "trap '' TERM; echo $$; while :; do sleep 1; done"):
        attachment = machine.backend.attach(JobId("job-1"), Beside(rank=0, line=line, has_terminal=False))
        pid = int(attachment.read())
        attachment.close()
        eventually(partial(_is_gone, pid), what="the end of the command")
    machine.kill()
    machine.exit_of()


def test_a_job_may_have_a_terminal_in_its_container(machine: ContainerMachine) -> None:
    spec = evolve(in_image("read word; echo got $word; exit 6"), interactive=Interactive(idle_timeout_ms=60_000))
    machine.start(spec)
    machine.is_up()
    with closing(machine.backend.attach(JobId("job-1"))) as attachment:
        attachment.type(b"it\n")
        assert machine.exit_of().exit_code == 6
    assert "got it" in machine.log()


def test_an_interactive_job_in_a_container_is_ended_with_what_it_runs(machine: ContainerMachine) -> None:
    spec = evolve(in_image("echo up; exec /bin/sh"), interactive=Interactive(idle_timeout_ms=60_000))
    machine.start(spec)
    machine.says("up")
    machine.stop()
    assert machine.exit_of().told


def test_ranks_in_containers_write_their_stacks_when_asked(machine: ContainerMachine, python_image: str) -> None:
    program = "import time; from muster.train import Checkpointer; c = Checkpointer(); c.step(1, {}); time.sleep(600)"
    spec = in_image(f"python3 -c '{program}'", python_image)
    machine.start(spec)
    eventually(lambda: machine.poll() and machine.backend.stacks(JobId("job-1"), 2.0), what="stacks")
    machine.kill()
    machine.exit_of()


def _is_gone(pid: int) -> bool:
    return not is_alive(pid)


def _client_of(name: str) -> int:
    """The process that waits for a container."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        found = entry(int(folder.name))
        if words[0] == b"podman" and any(word.startswith(f"--name={name}".encode()) for word in words) and found:
            return found.pid
    raise AssertionError(f"no client of {name}")
