"""Workers start where and as their file says, and what becomes of them is reported."""

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from muster.access.attempt_keyring import grant_job_access
from muster.attempt_token import attempt_token, secret_part
from muster.backends.local.logs import read_log
from muster.model.events import CheckpointSaved, RuntimeFound, StartFailed, WorkersStarted
from muster.model.ids import JobId
from muster.model.instructions import AskCheckpoint
from muster.model.node_limits import SCRIPT_VARIABLE_BYTES
from muster.model.spec import CheckpointSpec
from muster.worker.processes.process_table import descendants, everybody
from muster.worker.worker_reports import CANNOT_RUN
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, a_spec, eventually


def test_a_worker_runs_and_its_exit_code_is_reported(machine: Machine) -> None:
    machine.start("echo out; echo err >&2; exit 3")
    assert machine.exit_of().exit_code == 3
    assert machine.log() == "out\nerr\n"
    # What runs containers here is told when it was asked, however long that takes.
    told = [type(event).__name__ for event in machine.events if not isinstance(event, RuntimeFound)]
    assert told == ["GangsFound", "WorkersStarted", "WorkersExited"]


def test_a_worker_that_died_of_a_signal_is_reported_as_a_shell_would(machine: Machine) -> None:
    machine.start("kill -SEGV $$")
    assert machine.exit_of().exit_code == 128 + 11


def test_setup_comes_first_and_its_failure_is_the_workers(machine: Machine) -> None:
    machine.start(a_spec("echo run", setup="echo setup"))
    machine.exit_of()
    assert machine.log() == "setup\nrun\n"
    machine.start(a_spec("echo run", setup="echo broken; exit 7"), job="job-2")
    assert machine.exit_of(job="job-2").exit_code == 7
    assert machine.log(job="job-2") == "broken\n"


def test_a_worker_finds_itself_in_its_environment(machine: Machine) -> None:
    machine.start(
        a_spec("echo $MUSTER_JOB $MUSTER_RANK $MUSTER_NODE $A; pwd; ls /proc/self/fd | wc -w", env={"A": "b c"})
    )
    machine.exit_of()
    job, folder, files = machine.log().splitlines()
    assert job == "job-1 0 n1 b c"
    assert folder == os.path.realpath(os.path.expanduser("~"))
    assert int(files) == 4  # in, out, err, and the folder that is listed


def test_a_gang_meets_at_one_port_on_every_node(make_machine: MakeMachine) -> None:
    machine = make_machine(nodes=("n1", "n2"))
    machine.start("echo $MASTER_ADDR:$MASTER_PORT $RANK/$WORLD_SIZE", nodes=("n1", "n2"))
    machine.exit_of(count=2)
    first, second = (machine.log(rank=rank).split() for rank in (0, 1))
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("0/2", "1/2")


def test_a_very_long_command_runs_too(machine: Machine) -> None:
    machine.start(f": {'x' * 2 * SCRIPT_VARIABLE_BYTES}\necho it\\'s done")
    assert machine.exit_of().exit_code == 0
    assert machine.log() == "it's done\n"


def test_commands_are_not_among_the_arguments_that_every_user_may_read(machine: Machine) -> None:
    machine.start(a_spec("echo ready; : run-line; sleep 60; :", setup=": setup-line"))
    machine.says("ready")
    (seat,) = (entry for entry in machine.journal() if entry[0] == "alive")
    first = seat[3]
    assert isinstance(first, int)
    # The shell that waits, the one that runs the script, and sleep.
    eventually(lambda: len(descendants([first], everybody())) == 3)
    arguments = [Path(f"/proc/{each.pid}/cmdline").read_bytes() for each in descendants([first], everybody())]
    assert not [each for each in arguments if b"-line" in each]
    machine.kill()
    machine.exit_of()


def test_a_script_finds_itself_as_if_it_were_an_argument(machine: Machine) -> None:
    machine.start("echo $0 $#; cat; cat <<END\nhere\nEND\nset -e; trap 'echo bye' EXIT; false; echo never\n")
    assert machine.exit_of().exit_code == 1
    assert machine.log() == "/bin/sh 0\nhere\nbye\n"


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("exec sh -c 'exit 7'", 7),
        ("sh -c 'kill -TERM $$'", 143),
        ("kill -INT $$", 130),
        ("if", 2),
        ("no-such-one", 127),
    ],
)
def test_exit_codes_are_those_of_the_shell(machine: Machine, run: str, code: int) -> None:
    machine.start(run)
    assert machine.exit_of().exit_code == code


def test_signals_to_its_own_group_do_not_end_a_worker_that_catches_them(machine: Machine) -> None:
    machine.start("trap 'echo caught' TERM USR1 HUP INT; kill -USR1 0; kill -HUP 0; kill -TERM 0; kill -INT 0; exit 3")
    assert machine.exit_of().exit_code == 3
    assert machine.log() == "caught\n" * 4


def test_a_worker_that_was_told_before_its_program_began_does_not_begin_it(machine: Machine) -> None:
    machine.start(
        a_spec("echo never", setup="trap '' TERM; echo ready; until [ -e $MUSTER_CHECKPOINT_ASK ]; do :; done")
    )
    machine.says("ready")
    machine.stop()
    (folder,) = machine.worker_folders()
    eventually((folder / "told").exists)
    (folder / "ask").touch()
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told) == (143, True)
    assert machine.log() == "ready\n"


def test_a_worker_is_told_of_no_file_in_the_home_and_may_leave_anything_in_its_own_folder(machine: Machine) -> None:
    machine.start(
        'env; echo; mkdir -p "${MUSTER_CHECKPOINT_NOTICE%/*}/a/b"; touch "${MUSTER_CHECKPOINT_NOTICE%/*}/a/b/c"'
    )
    machine.exit_of()
    assert str(machine.home) not in machine.log()
    assert "mkdir" not in machine.log()
    assert not machine.worker_folders()


def test_what_cannot_be_in_an_environment_is_a_failed_start(machine: Machine) -> None:
    machine.start(a_spec("true", env={"A": "x" * 200_000}))
    assert "cannot be started" in machine.heard(StartFailed).message


def test_a_worker_finds_the_server_and_a_token_of_its_attempt_which_no_file_keeps(machine: Machine) -> None:
    access = grant_job_access(machine.home, "http://127.0.0.1:1")
    job = machine.start('echo "$MUSTER_URL $MUSTER_TOKEN"; echo "$MUSTER_TOKEN" | rev')
    assert machine.exit_of().exit_code == 0
    token = attempt_token(access.key, job, 1, "")
    shown, backwards = machine.log().splitlines()
    assert shown == f"http://127.0.0.1:1 {token.removesuffix(secret_part(token))}***"
    assert backwards[::-1] == token
    kept = [path for path in machine.home.rglob("*") if path.is_file()]
    assert not [path for path in kept if token.encode() in path.read_bytes()]


def test_a_token_that_the_job_was_given_is_not_replaced(machine: Machine) -> None:
    grant_job_access(machine.home, "http://127.0.0.1:1")
    machine.start(a_spec('echo "$MUSTER_TOKEN"', env={"MUSTER_TOKEN": "mine"}))
    assert machine.exit_of().exit_code == 0
    assert machine.log() == "mine\n"


def test_a_signal_of_a_user_reaches_the_program_and_not_the_shell_around_it(machine: Machine) -> None:
    program = (
        "import signal; usr1 = {signal.SIGUSR1}; signal.pthread_sigmask(signal.SIG_BLOCK, usr1); "
        "print('ready', flush=True); print(signal.sigwait(usr1).name, flush=True)"
    )
    job = machine.start(f'{sys.executable} -c "{program}"; echo "the shell goes on"')
    machine.says("ready")
    machine.backend.signal(job, signal.SIGUSR1)
    assert machine.exit_of().exit_code == 0
    assert machine.log() == "ready\nSIGUSR1\nthe shell goes on\n"


def test_secrets_are_in_the_workers_environment_and_nowhere_else(machine: Machine) -> None:
    secret = machine.home / "secrets" / "nlp" / "HF_TOKEN"
    secret.parent.mkdir(parents=True)
    secret.write_text("hf-very-secret\n")
    secret.chmod(0o600)
    machine.start(a_spec('echo "[$HF_TOKEN]"; printf hf-very; sleep 0.05; echo -secret', secrets=("HF_TOKEN",)))
    assert machine.exit_of().exit_code == 0
    assert machine.log() == "[***]\n***\n"
    kept = [path for path in machine.home.rglob("*") if path.is_file() and path != secret]
    assert not [path for path in kept if b"hf-very-secret" in path.read_bytes()]


def test_a_missing_secret_fails_the_worker_and_its_output_says_where_to_put_it(machine: Machine) -> None:
    machine.start(a_spec("true", secrets=("HF_TOKEN",)))
    assert machine.exit_of().exit_code == CANNOT_RUN
    assert "HF_TOKEN" in machine.log()
    assert "$MUSTER_HOME/secrets/nlp/pretraining/HF_TOKEN" in machine.log()
    assert str(machine.home) not in machine.log()


def test_a_saved_checkpoint_is_reported_before_the_exit(machine: Machine) -> None:
    machine.start(a_spec('echo "saved 250" >"$MUSTER_CHECKPOINT_NOTICE"', checkpoint=CheckpointSpec(path="file:///c")))
    exited = machine.exit_of()
    saved = machine.heard(CheckpointSaved)
    assert saved.cost_ms == 250
    assert machine.events.index(saved) < machine.events.index(exited)


def test_asking_for_a_checkpoint_touches_a_file_and_signals_only_a_worker_that_listens(machine: Machine) -> None:
    run = """
    trap 'echo saved >"$MUSTER_CHECKPOINT_NOTICE"; exit 5' USR1
    echo "listening SIGUSR1 $$" >"$MUSTER_CHECKPOINT_NOTICE"; echo ready
    while :; do sleep 0.01; done"""
    deaf = 'echo ready; until [ -e "$MUSTER_CHECKPOINT_ASK" ]; do sleep 0.01; done; echo asked'
    machine.start(run)
    machine.start(deaf, job="job-2")
    for job in ("job-1", "job-2"):
        machine.says("ready", job=job)
        machine.backend.send(AskCheckpoint(job=JobId(job), attempt=1, generation=2))
    assert machine.exit_of().exit_code == 5
    assert machine.heard(CheckpointSaved).job == "job-1"
    assert machine.exit_of(job="job-2").exit_code == 0
    assert machine.log(job="job-2") == "ready\nasked\n"


def test_everything_kept_is_for_its_owner_only(machine: Machine) -> None:
    machine.start("echo hello; echo ready; sleep 60")
    machine.says("ready")
    (own,) = machine.worker_folders()
    for path in (*machine.home.rglob("*"), *own.iterdir(), own, own.parent, own.parent.parent):
        is_closed = not stat.S_IMODE(path.lstat().st_mode) & 0o077
        assert is_closed or (path.is_dir() and path.is_relative_to(machine.home)), path
    machine.kill()
    machine.exit_of()
    assert not machine.worker_folders()


def test_a_home_may_lie_deeper_than_a_socket_can_be_named(make_machine: MakeMachine, tmp_path: Path) -> None:
    machine = make_machine(home=tmp_path / ("a" * 100) / ("b" * 100))
    machine.start("true")
    assert machine.exit_of().exit_code == 0


def test_odd_ids_lead_nowhere_else(machine: Machine) -> None:
    for job in ("../../escape", "a/b", "..", "ü" * 190):
        machine.start("echo hello", job=job)
        machine.exit_of(job=job)
        assert read_log(machine.home, JobId(job), 1, 0).data == b"hello\n"
    assert len(list((machine.home / "logs").iterdir())) == 4


def test_max_duration_is_kept_while_the_control_plane_is_away(machine: Machine) -> None:
    machine.start("trap 'echo told; exit 9' TERM; echo ready; while :; do sleep 0.01; done", max_duration_ms=100)
    machine.says("ready")
    machine.backend.close()
    machine.says("told")
    machine.backend = machine.connect()
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told, exited.timed_out) == (9, True, True)
    assert "maximum duration" in machine.log()


def test_that_a_limit_was_the_reason_survives_the_supervisor(machine: Machine) -> None:
    machine.start("trap 'echo told' TERM; echo ready; while :; do sleep 0.01; done", max_duration_ms=100)
    machine.says("ready")
    machine.poll()
    machine.backend.close()
    machine.says("told\n")  # by the worker; the supervisor's own note comes before anything is written down
    machine.kill_supervisor()
    machine.backend = machine.connect()
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told, exited.timed_out) == (137, True, True)


def test_a_command_for_a_gang_that_was_started_elsewhere_finds_it_after_a_restart(make_machine: MakeMachine) -> None:
    machine = make_machine(nodes=("n1", "n2"))
    machine.start("sleep 60", nodes=("n1", "n2"))
    machine.heard(WorkersStarted, count=2)
    machine.backend.close()
    machine.backend = machine.connect()
    machine.kill(0, 1, 2)
    machine.exit_of(count=2)
    assert machine.heard(StartFailed).ranks == (2,)
