"""A program of mpi4py sums over all processes of its gang."""

import sys
from pathlib import Path

from muster.model.spec import Launch
from tests.launchers.gangs import a_gang, begin, codes, output
from tests.local.machine import Machine, a_spec

SUMS = """
from mpi4py import MPI
everyone = MPI.COMM_WORLD
total = everyone.allreduce(everyone.rank + 1)
lines = everyone.gather(f"{everyone.rank} of {everyone.size} sums to {total}")
if everyone.rank == 0:
    print("\\n".join(lines))
"""


def test_processes_of_all_workers_sum_together(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(SUMS)
    gang = a_gang("n1", "n1", "n2", gpus=2)
    begin(machine, a_spec(f"{sys.executable} {tmp_path}/sums.py", launch=Launch.MPI), gang)
    assert codes(machine, 3) == {0: 0, 1: 0, 2: 0}, output(machine, 0)
    lines = [line for line in output(machine, 0).splitlines() if "sums" in line]
    assert lines == [f"{rank} of 6 sums to 21" for rank in range(6)]
