"""What workers print is kept in bounded space and read by offsets that stay true."""

import os
from pathlib import Path

from muster.backends.local.logs import read_log
from muster.model.ids import JobId
from muster.model.node_limits import LOG_READ_BYTES, LOG_SEGMENT_BYTES, LOG_SEGMENTS
from muster.worker.output.segments import log_folder, segments_in
from tests.local.machine import Machine

JOB = JobId("job-1")


def resident_bytes(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_line_of_200_megabytes_streams_through_in_bounded_memory(machine: Machine) -> None:
    supervisor = machine.supervisor()
    before = resident_bytes(supervisor.pid)
    machine.start("head -c 200000000 /dev/zero | tr '\\0' x")
    machine.exit_of()
    assert resident_bytes(supervisor.pid) < before + (16 << 20)
    tail = read_log(machine.home, JOB, 1, 0, offset=-10, limit=100)
    assert (tail.data, tail.end, tail.is_complete) == (b"x" * 10, 200_000_000, True)


def test_old_output_is_dropped_and_offsets_go_on(machine: Machine) -> None:
    total = (LOG_SEGMENTS + 2) * LOG_SEGMENT_BYTES + 5
    machine.start(f"echo first; head -c {total - 6} /dev/zero")
    machine.exit_of()
    firsts = segments_in(log_folder(machine.home, JOB, 1, 0))
    assert (len(firsts), firsts[0]) == (LOG_SEGMENTS, 3 * LOG_SEGMENT_BYTES)
    part = read_log(machine.home, JOB, 1, 0, offset=100)
    assert part.start == firsts[0]
    assert (len(part.data), part.is_complete) == (LOG_READ_BYTES, False)
    assert read_log(machine.home, JOB, 1, 0, offset=-1).end == total


def test_a_log_can_be_followed_while_it_grows(machine: Machine) -> None:
    machine.start("for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.02; done")
    machine.is_up()
    text, offset, is_complete = b"", 0, False
    while not is_complete:
        machine.poll()
        part = read_log(machine.home, JOB, 1, 0, offset=offset)
        text, offset, is_complete = text + part.data, part.end, part.is_complete
    assert text.decode() == "".join(f"line {number}\n" for number in range(1, 10))
