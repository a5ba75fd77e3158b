"""However a worker tries to leave something behind, its end is reported when all of it is gone."""

from pathlib import Path

import pytest

from muster.model.events import WorkersExited, WorkersStarted
from muster.worker.launch.runtime_folder import runtime_folder
from muster.worker.processes.process_table import everybody
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, eventually, is_alive

LOOP = "while :; do sleep 0.05; done"
"""A program that goes on; its children end soon after it."""


@pytest.fixture(params=["with groups", "without groups"])
def machine(request: pytest.FixtureRequest, make_machine: MakeMachine) -> Machine:
    """Trees are known in two ways, and both must find everything."""
    return make_machine(options=("--without-groups",) if request.param == "without groups" else ())


def pids_in(log: str) -> list[int]:
    return [int(word) for word in log.split() if word.isdigit()]


def has_home(pid: int, folder: bytes) -> bool:
    """True for a worker's process of the home to which this folder belongs."""
    try:
        return folder in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_a_worker_that_leaves_on_a_stop_is_reported_as_told(machine: Machine) -> None:
    machine.start(f"trap 'echo saving; exit 4' TERM; echo ready; {LOOP}")
    machine.says("ready")
    machine.stop()
    machine.stop()
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told, exited.generation) == (4, True, 2)
    assert machine.log().endswith("saving\n")


def test_a_program_may_save_itself_although_its_shell_has_died_of_the_signal(machine: Machine) -> None:
    program = f"trap 'sleep 0.3; echo saved; exit 0' TERM; echo ready; {LOOP}"
    machine.start(f'sh -c "{program}"; echo never')
    machine.says("ready")
    machine.stop()
    assert machine.exit_of().told
    assert machine.log().endswith("saved\n")


def test_a_worker_that_ignores_a_stop_is_killed_with_its_whole_tree(machine: Machine) -> None:
    machine.start(f"trap '' TERM; sh -c 'echo $$; {LOOP}' & echo $$ ready; {LOOP}")
    log = machine.says("ready")
    machine.stop()
    machine.kill()
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told) == (137, True)
    assert not [pid for pid in pids_in(log) if is_alive(pid)]


def test_grandchildren_in_sessions_of_their_own_are_killed(machine: Machine) -> None:
    machine.start(f"setsid sh -c 'setsid sh -c \"echo \\$\\$ ready; {LOOP}\" & echo $$; {LOOP}' & {LOOP}")
    log = machine.says("ready")
    eventually(lambda: len(pids_in(machine.log())) == 2)
    machine.kill()
    machine.exit_of()
    assert not [pid for pid in pids_in(machine.log()) if is_alive(pid)], log


def test_a_daemon_does_not_outlive_its_worker(machine: Machine) -> None:
    machine.start(
        f"(setsid sh -c 'echo $$ ready; trap \"\" TERM HUP; {LOOP}' &) ; until [ -e done ]; do sleep 0.01; done; exit 6"
    )
    log = machine.says("ready")
    (daemon,) = pids_in(log)
    assert is_alive(daemon)
    machine.kill()
    machine.exit_of()
    assert not is_alive(daemon)


def test_what_is_left_when_the_first_process_ends_by_itself_is_killed_before_the_exit_is_told(machine: Machine) -> None:
    machine.start(f"setsid sh -c 'echo $$; {LOOP}' & sh -c 'echo $$; {LOOP}' & sleep 0.2; exit 6")
    assert machine.exit_of().exit_code == 6
    pids = pids_in(machine.log())
    assert len(pids) == 2
    assert not [pid for pid in pids if is_alive(pid)]


def test_a_process_that_hides_its_mark_and_its_session_is_found_too(machine: Machine) -> None:
    machine.start(f"env -i setsid sh -c 'echo $$ ready; {LOOP}' & {LOOP}")
    (stray,) = pids_in(machine.says("ready"))
    machine.kill()
    machine.exit_of()
    eventually(lambda: not is_alive(stray))


LEAVES_ITS_GROUPS = "for group in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo 0 >$group; done"
CHANGES_ITS_LIMITS = "prlimit --pid $$ --rttime=1000000:1000000"


def escaping(*, also: str = ":") -> str:
    """A program that leaves a process behind which left its groups, its session, its parents and its environment."""
    stray = f"{{ {LEAVES_ITS_GROUPS}; {also}; }} 2>/dev/null; echo $$ ready; {LOOP}"
    return f"(env -i PATH=$PATH setsid sh -c '{stray}' &); {LOOP}"


def test_a_process_that_left_its_groups_and_hides_everything_is_known_while_others_run(machine: Machine) -> None:
    machine.start(f"echo ready; {LOOP}", job="job-2")
    machine.says("ready", job="job-2")
    machine.start(escaping())
    (stray,) = pids_in(machine.says("ready"))
    machine.kill()
    machine.exit_of()
    assert not is_alive(stray)
    assert not [event for event in machine.poll() if isinstance(event, WorkersExited) and event.job == "job-2"]


def test_a_process_that_changed_its_limits_too_is_ended_when_all_older_jobs_have_ended(machine: Machine) -> None:
    machine.start(f"echo ready; {LOOP}", job="job-0")
    machine.says("ready", job="job-0")
    machine.start(escaping(also=CHANGES_ITS_LIMITS))
    (stray,) = pids_in(machine.says("ready"))
    machine.start(f"echo ready; {LOOP}", job="job-2")
    machine.says("ready", job="job-2")
    machine.kill()
    machine.exit_of()
    assert is_alive(stray)  # it could be of job-0, which is older
    machine.kill(job="job-0")
    machine.exit_of(job="job-0")
    eventually(lambda: not is_alive(stray))
    assert not [event for event in machine.poll() if isinstance(event, WorkersExited) and event.job == "job-2"]


def test_a_newer_attempt_starts_when_the_older_is_gone(machine: Machine) -> None:
    machine.start(f"trap '' TERM; echo $$ ready; {LOOP}")
    (older,) = pids_in(machine.says("ready"))
    look = f"grep -s '^State:' /proc/{older}/status | grep -qv Z && echo alive || echo gone"
    machine.start(look, attempt=2, generation=4)
    exited = machine.exit_of()
    assert (exited.attempt, exited.exit_code) == (2, 0)
    assert machine.log(attempt=2) == "gone\n"
    assert [event.attempt for event in machine.events if isinstance(event, WorkersStarted)] == [1, 2]


def test_a_start_that_waits_for_an_older_attempt_can_be_called_off(machine: Machine) -> None:
    machine.start(f"trap '' TERM; echo ready; {LOOP}")
    machine.says("ready")
    machine.start("echo never", attempt=2, generation=4)
    machine.kill(attempt=2, generation=5)
    exited = machine.exit_of()
    assert (exited.attempt, exited.told, exited.generation) == (2, True, 5)
    assert [event.attempt for event in machine.events if isinstance(event, WorkersExited)] == [2]


def test_a_tree_that_keeps_forking_is_ended(machine: Machine) -> None:
    chain = "link() { sleep 0.01; link & }; link & link & link & link &"
    machine.start(f"echo $$ ready; {chain} {LOOP}")
    machine.says("ready")
    machine.kill()
    machine.exit_of()
    mark = str(runtime_folder(machine.home)).encode()
    assert not [each for each in everybody().values() if each.is_alive and has_home(each.pid, mark)]


def test_others_are_not_harmed(machine: Machine) -> None:
    machine.start(f"echo ready; {LOOP}")
    machine.start('echo ready; until [ -e "$MUSTER_CHECKPOINT_ASK" ]; do sleep 0.05; done', job="job-2")
    machine.says("ready")
    machine.says("ready", job="job-2")
    machine.kill()
    machine.exit_of()
    (folder,) = machine.worker_folders()
    (folder / "ask").touch()
    assert machine.exit_of(job="job-2").exit_code == 0
