"""Several users can attach to an interactive job. It ends when no user was there for long enough."""

from contextlib import closing

import pytest

from muster.backends.local.attachment import Attachment
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.model.records import evolve
from muster.model.spec import Interactive, JobSpec
from tests.local.machine import Machine, a_spec


def interactive(run: str, *, idle_timeout_ms: int = 600_000) -> JobSpec:
    return evolve(a_spec(run), interactive=Interactive(idle_timeout_ms=idle_timeout_ms))


def until(attachment: Attachment, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        data = attachment.read()
        assert data, seen
        seen += data
    return seen


def test_what_is_typed_arrives_and_all_who_are_attached_see_the_answer(machine: Machine) -> None:
    machine.start(interactive("tty; read word; echo got $word; read size; stty size; read last"))
    machine.says("/dev/pts/")
    with closing(machine.backend.attach(JobId("job-1"))) as first:
        with closing(machine.backend.attach(JobId("job-1"))) as second:
            until(second, b"/dev/pts/")  # what was there before
            first.type(b"hello\n")
            for attachment in (first, second):
                until(attachment, b"got hello")
            second.resize(33, 111)
            second.type(b"\n")
            until(first, b"33 111")
        first.type(b"\n")
        assert machine.exit_of().exit_code == 0
        while first.read():
            pass
        assert first.over == "the worker has ended"
    assert "got hello" in machine.log()


def test_an_interactive_shell_that_is_not_used_is_ended_and_says_so(machine: Machine) -> None:
    machine.start(interactive("sh -i", idle_timeout_ms=300))
    exited = machine.exit_of()
    assert (exited.exit_code, exited.told, exited.timed_out) == (0, True, False)
    assert "nobody typed" in machine.log()


def test_a_job_without_a_terminal_cannot_be_attached_to(machine: Machine) -> None:
    with pytest.raises(NotFound):
        machine.backend.attach(JobId("job-9"))
    machine.start("sleep 60")
    machine.is_up()
    with closing(machine.backend.attach(JobId("job-1"))) as attachment:
        assert attachment.read() == b""
        assert "terminal" in attachment.over
    machine.kill()
    machine.exit_of()
