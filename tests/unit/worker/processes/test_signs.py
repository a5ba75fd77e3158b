"""Whose a process is, by any one sign; a number that is used again is no sign."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.processes import ProcessEntry, entry
from muster.worker.launch.environment import TOKEN_VARIABLE
from muster.worker.processes.marks import inherited, mark_of
from muster.worker.processes.signs import Signs, borne_by

TOKEN = "0123456789abcdef"


def found(pid: int) -> ProcessEntry:
    there = entry(pid)
    assert there is not None
    return there


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process that leads a session and belongs to no worker."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process.pid
        process.kill()


def is_of(signs: Signs, pid: int) -> bool:
    """As if the process were not this one's child: a successor is not its parent."""
    there = found(pid)
    far = ProcessEntry(
        pid=pid, parent=1, group=there.group, session=there.session, state="S", start_ticks=there.start_ticks
    )
    return signs.are_on(far, borne_by(pid))


def test_a_token_or_a_mark_is_enough() -> None:
    for variables, mark in (({TOKEN_VARIABLE: TOKEN}, 0), ({}, mark_of(TOKEN))):
        with inherited(mark or mark_of("1")), subprocess.Popen(["sleep", "60"], env={**os.environ, **variables}) as it:
            while not Path(f"/proc/{it.pid}/environ").read_bytes():
                pass  # the kernel has begun the program, and not yet laid out what it finds
            assert is_of(Signs(token=TOKEN, main=None), it.pid)
            assert not is_of(Signs(token="fedcba9876543210", main=None), it.pid)
            it.kill()


def test_the_session_of_a_first_process_that_lives_is_enough(stranger: int) -> None:
    assert is_of(Signs(token=TOKEN, main=stranger, start_ticks=found(stranger).start_ticks), stranger)


def test_a_number_that_another_session_has_by_now_is_no_sign(stranger: int) -> None:
    assert not is_of(Signs(token=TOKEN, main=stranger, start_ticks=found(stranger).start_ticks - 1), stranger)


def test_a_session_without_its_leader_whose_members_never_had_a_mark_is_no_sign(stranger: int) -> None:
    there = found(stranger)
    orphan = ProcessEntry(
        pid=stranger, parent=1, group=1 << 30, session=1 << 30, state="S", start_ticks=there.start_ticks
    )
    assert not Signs(token=TOKEN, main=1 << 30, start_ticks=5).are_on(orphan, borne_by(stranger))


def test_an_orphan_of_ones_own_is_known_by_its_session_in_any_case(stranger: int) -> None:
    assert Signs(token=TOKEN, main=stranger).are_on(found(stranger), borne_by(stranger))
