"""Commands beside a worker: in its place, and gone with it."""

from contextlib import closing

import pytest

from muster.backends.base import Beside
from muster.backends.local.attachment import Attachment
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.model.node_limits import SIDE_COMMANDS_PER_WORKER
from muster.model.records import evolve
from tests.local.machine import Machine, a_spec, eventually, is_alive

JOB = JobId("job-1")


def beside(machine: Machine, line: str, *, rank: int = 0, has_terminal: bool = False) -> Attachment:
    return machine.backend.attach(JOB, Beside(rank=rank, line=line, has_terminal=has_terminal))


def all_of(attachment: Attachment) -> tuple[bytes, int | None]:
    """Everything that a command prints, and its exit code."""
    with closing(attachment):
        text = b""
        while data := attachment.read():
            text += data
        return text, attachment.exit_code


def _is_gone(pid: int) -> None:
    eventually(lambda: not is_alive(pid))


@pytest.fixture
def machine_with_a_job(machine: Machine) -> Machine:
    spec = evolve(a_spec("echo up; pwd; sleep 600"), env=(("WORD", "hello"),))
    machine.start(spec, nodes=("n1", "n1"))
    machine.is_up()
    machine.says("/")
    return machine


def test_it_has_the_environment_and_the_folder_of_its_worker(machine_with_a_job: Machine) -> None:
    said, code = all_of(beside(machine_with_a_job, "echo $WORD $MUSTER_RANK; echo oops >&2; pwd; exit 5", rank=1))
    word, rank, oops, folder = said.decode().split()
    assert (word, rank, oops, code) == ("hello", "1", "oops", 5)
    assert machine_with_a_job.log().split() == ["up", folder]


def test_it_reads_what_it_is_given_and_prints_more_than_any_buffer_holds(machine_with_a_job: Machine) -> None:
    attachment = beside(machine_with_a_job, "wc -c; seq 1 400000")
    attachment.type(b"x" * 300_000)
    attachment.end_input()
    said, code = all_of(attachment)
    first, *rest = said.split()
    assert (first, len(rest), rest[-1], code) == (b"300000", 400_000, b"400000", 0)


def test_a_signal_is_told_as_a_shell_would(machine_with_a_job: Machine) -> None:
    assert all_of(beside(machine_with_a_job, "kill -9 $$")) == (b"", 137)


def test_it_may_have_a_terminal(machine_with_a_job: Machine) -> None:
    attachment = beside(machine_with_a_job, "tty; read word; stty size; echo got $word", has_terminal=True)
    attachment.resize(33, 111)
    attachment.type(b"it\n")
    said, code = all_of(attachment)
    assert b"/dev/pts/" in said
    assert b"33 111" in said
    assert b"got it" in said
    assert code == 0


def test_what_it_printed_last_on_its_terminal_is_seen(machine_with_a_job: Machine) -> None:
    for numbers in (20_000, 40_000, 60_000):
        attachment = beside(machine_with_a_job, f"echo $$; exec seq 1 {numbers}", has_terminal=True)
        first = attachment.read()
        _is_gone(int(first.split()[0]))  # its end must not wait until all that it printed was read
        said, code = all_of(attachment)
        assert (said.split()[-1], code) == (str(numbers).encode(), 0)


def test_it_ends_with_its_worker_and_says_nothing_about_the_job(machine_with_a_job: Machine) -> None:
    with closing(beside(machine_with_a_job, "echo $$; exec sleep 600")) as attachment:
        pid = int(attachment.read())
        machine_with_a_job.kill()
        assert machine_with_a_job.exit_of().exit_code == 137
        while attachment.read():
            pass
        assert attachment.exit_code == 137
        assert not is_alive(pid)


def test_it_ends_when_nobody_is_there_any_more(machine_with_a_job: Machine) -> None:
    attachment = beside(machine_with_a_job, "echo $$; sleep 600")
    pid = int(attachment.read())
    attachment.close()
    _is_gone(pid)
    assert all_of(beside(machine_with_a_job, "echo the worker goes on")) == (b"the worker goes on\n", 0)


def test_only_so_many_run_beside_one_worker(machine_with_a_job: Machine) -> None:
    running = [beside(machine_with_a_job, "echo up; exec sleep 600") for _ in range(SIDE_COMMANDS_PER_WORKER)]
    for each in running:
        assert each.read() == b"up\n"
    refused = beside(machine_with_a_job, "true")
    assert all_of(refused) == (b"", None)
    assert "run beside this worker already" in refused.over
    assert all_of(beside(machine_with_a_job, "true", rank=1)) == (b"", 0)
    for each in running:
        each.close()


def test_it_needs_a_worker_that_runs(machine_with_a_job: Machine) -> None:
    with pytest.raises(NotFound):
        beside(machine_with_a_job, "true", rank=7)
    machine_with_a_job.kill()
    machine_with_a_job.exit_of()
    late = beside(machine_with_a_job, "true")
    assert all_of(late) == (b"", None)
    assert "no such worker" in late.over


def test_a_line_that_no_process_can_get_is_refused_and_the_worker_goes_on(machine_with_a_job: Machine) -> None:
    attachment = beside(machine_with_a_job, "echo a\0b")
    assert all_of(attachment) == (b"", None)
    assert attachment.over == "the command cannot be started: embedded null byte"
    assert all_of(beside(machine_with_a_job, "echo here")) == (b"here\n", 0)
