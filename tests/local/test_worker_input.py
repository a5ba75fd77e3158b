"""What a worker reads: whoever follows its job sends it."""

from contextlib import closing

import pytest

from muster.backends.local.attachment import Attachment
from muster.model.ids import JobId
from muster.model.records import evolve
from muster.model.spec import JobSpec
from tests.local.machine import Machine, a_spec, eventually

JOB = JobId("job-1")


def a_reader(run: str, *, setup: str = "") -> JobSpec:
    return evolve(a_spec(run, setup=setup), stdin=True)


def the_end(attachment: Attachment) -> tuple[int | None, str]:
    """How the worker says that it needs nothing more."""
    with closing(attachment):
        assert attachment.read() == b""
        return attachment.exit_code, attachment.over


def test_the_first_worker_reads_what_is_sent_and_the_others_and_setup_read_nothing(machine: Machine) -> None:
    machine.start(a_reader("echo $MUSTER_RANK $(wc -c)", setup="cat"), nodes=("n1", "n1"))
    machine.is_up()
    attachment = machine.backend.attach(JOB)
    attachment.type(b"x" * 300_000)  # more than any buffer holds
    attachment.end_input()
    assert the_end(attachment) == (0, "the worker has everything")
    assert machine.exit_of(count=2).exit_code == 0
    assert machine.log() == "0 300000\n"
    assert machine.log(rank=1) == "1 0\n"


def test_a_worker_that_does_not_read_keeps_its_sender_waiting_and_ends_as_it_likes(machine: Machine) -> None:
    machine.start(a_reader("read word; echo got $word; sleep 0.2; exit 3"))
    machine.is_up()
    attachment = machine.backend.attach(JOB)
    attachment.type(b"hello\n" + b"x" * 200_000)
    assert the_end(attachment)[1] in ("the worker has ended", "the worker does not read any more")
    assert (machine.exit_of().exit_code, machine.log()) == (3, "got hello\n")


def test_what_a_sender_that_is_gone_has_sent_is_read_and_that_it_is_gone_is_said(machine: Machine) -> None:
    machine.start(a_reader("cat"))
    machine.is_up()
    attachment = machine.backend.attach(JOB)
    attachment.type(b"half")
    eventually(lambda: machine.log() == "half", what="the half that was sent")
    attachment.close()
    machine.exit_of()
    assert machine.log() == "half\n[muster: what it reads ended after 4 bytes, because its sender is gone]\n"


def test_there_is_one_sender(machine: Machine) -> None:
    machine.start(a_reader("cat"))
    machine.is_up()
    with closing(machine.backend.attach(JOB)) as first:
        first.type(b"a")
        eventually(lambda: machine.log() == "a", what="the first sender")
        assert the_end(machine.backend.attach(JOB)) == (
            None,
            "what the worker reads has come from another sender, or has ended",
        )
        first.end_input()
        assert machine.exit_of().exit_code == 0


@pytest.mark.parametrize("is_sent_to", [True, False])
def test_a_worker_does_not_wait_for_a_sender_that_never_comes(machine: Machine, is_sent_to: bool) -> None:
    spec = a_reader("cat; echo over")
    machine.start(spec if is_sent_to else evolve(spec, stdin=False))
    machine.is_up()
    if is_sent_to:
        attachment = machine.backend.attach(JOB)
        attachment.end_input()
        the_end(attachment)
    machine.exit_of()
    assert machine.log() == "over\n"
