"""A process is ended by its pid and its start, and never another one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from muster.processes import Ending, end_process, end_processes, entry

SLEEPS = "import time; print('up', flush=True); time.sleep(100)"
IGNORES = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"


@contextmanager
def a_process(program: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that has come up, with the time of its start; it is gone afterwards."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        found = entry(process.pid)
        assert found is not None
        try:
            yield process, found.start_ticks
        finally:
            process.kill()


def test_a_process_that_is_told_to_end_leaves() -> None:
    with a_process(SLEEPS) as (process, ticks):
        assert end_process(process.pid, ticks, patience_s=60, then_kill=True) is Ending.LEFT
        assert process.wait() == -signal.SIGTERM
        assert end_process(process.pid, ticks, patience_s=0, then_kill=True) is Ending.LEFT


def test_a_process_that_got_the_pid_of_another_one_is_left_alone() -> None:
    with a_process(SLEEPS) as (process, ticks):
        assert end_process(process.pid, ticks - 1, patience_s=0, then_kill=True) is Ending.LEFT
        assert process.poll() is None


def test_a_process_that_stays_is_killed_only_where_that_is_wanted() -> None:
    with a_process(IGNORES) as (process, ticks):
        assert end_process(process.pid, ticks, patience_s=0.05, then_kill=False) is Ending.STAYS
        assert process.poll() is None
        assert end_process(process.pid, ticks, patience_s=0.05, then_kill=True) is Ending.KILLED
        assert process.wait() == -signal.SIGKILL


def test_a_process_that_hangs_keeps_no_other_from_ending() -> None:
    with a_process(SLEEPS) as (stopped, its_ticks), a_process(SLEEPS) as (other, ticks):
        os.kill(stopped.pid, signal.SIGSTOP)
        os.waitpid(stopped.pid, os.WUNTRACED)
        both = [(stopped.pid, its_ticks), (other.pid, ticks)]
        ended = end_processes(both, patience_s=0.5, then_kill=True)
        assert ended == {stopped.pid: Ending.KILLED, other.pid: Ending.LEFT}
        assert (stopped.wait(), other.wait()) == (-signal.SIGKILL, -signal.SIGTERM)
