"""How fast one supervisor starts workers, and how small it is.

Run `python -m benchmarks.supervisor`. It prints the time to serve, jobs per second for `true`, memory, the time from
sending a start until its exit is known, the time from a command to a process, and what it costs to watch the boards of
eight ranks that train.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from muster.backends.local.backend import LocalBackend
from muster.model.events import WorkersExited
from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.instructions import KillWorkers, StartWorkers
from muster.model.job import Worker
from muster.model.node import Node
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import JobSpec, RoleSpec
from muster.model.telemetry import RankProgress
from muster.worker.supervisor_address import supervisor_address

JOBS = 500
SINGLE_STARTS = 100
RANKS, WATCHED_S = 8, 20.0

NODE = NodeName("n1")
GANG = (Worker(rank=0, role="worker", node=NODE),)
SPEC = JobSpec(
    name="true",
    team=TeamPath("bench"),
    tier=TierName("standard"),
    roles=(RoleSpec(name="worker", workers_min=1, workers_max=1, request=Request(), run="true"),),
)


def main() -> None:
    """Print every figure."""
    with tempfile.TemporaryDirectory() as home:
        print(f"time to serve         {_start_ms(Path(home)):7.0f} ms")
        backend = LocalBackend(Path(home), [Node(name=NODE)])
        try:
            print(
                f"jobs per second       {JOBS / _seconds(backend, JOBS, 'many'):7.0f}    ({JOBS} x true, all at once)"
            )
            found = supervisor_address(Path(home) / "nodes" / NODE)
            pages = Path(f"/proc/{found.pid}/statm").read_text().split()[1] if found else "0"
            print(f"memory                {int(pages) * os.sysconf('SC_PAGE_SIZE') / (1 << 20):7.1f} MiB resident")
            times = sorted(_seconds(backend, 1, f"one-{number}") for number in range(SINGLE_STARTS))
            print(f"sent to exit known    {1000 * times[SINGLE_STARTS // 2]:7.1f} ms  (true, one at a time, p50)")
            starts = sorted(_launch_ms(Path(home)))
            print(f"command to process    {starts[len(starts) // 2]:7.1f} ms  (p50 of {len(starts)})")
            share = _boards_share(backend, Path(home))
            print(f"boards of {RANKS} ranks     {share:7.2%}    of a core, watched for {WATCHED_S:.0f} s")
        finally:
            backend.shutdown()


def _boards_share(backend: LocalBackend, home: Path) -> float:
    """The part of a core that the supervisor needs while ranks make a step every ten milliseconds."""
    run = f"exec {sys.executable} {Path(__file__).with_name('boards.py')} {RANKS}"
    spec = evolve(SPEC, roles=(evolve(SPEC.roles[0], run=run),))
    job = JobId("boards")
    backend.send(StartWorkers(job=job, attempt=1, generation=1, spec=spec, workers=GANG, gang=GANG))
    while len(_ranks_seen(backend)) < RANKS:
        time.sleep(1.5)
    found = supervisor_address(home / "nodes" / NODE)
    assert found is not None
    before_s, began_s = _processor_s(found.pid), time.perf_counter()
    time.sleep(WATCHED_S)
    share = (_processor_s(found.pid) - before_s) / (time.perf_counter() - began_s)
    backend.send(KillWorkers(job=job, attempt=1, generation=2, ranks=(0,)))
    return share


def _ranks_seen(backend: LocalBackend) -> set[int]:
    return {value.rank for value in backend.telemetry() if isinstance(value, RankProgress)}


def _processor_s(pid: int) -> float:
    """The processor time that a process has used. The scheduler counts it in nanoseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _start_ms(home: Path) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-m", "muster.worker", "--home", home, "--node", NODE], check=True)
    return (time.perf_counter() - begun) * 1000


def _seconds(backend: LocalBackend, jobs: int, name: str) -> float:
    """The time from sending this many starts until the last exit is known."""
    begun = time.perf_counter()
    for number in range(jobs):
        job = JobId(f"{name}-{number}")
        backend.send(StartWorkers(job=job, attempt=1, generation=1, spec=SPEC, workers=GANG, gang=GANG))
    ended = 0
    while ended < jobs:
        ended += sum(isinstance(event, WorkersExited) for event in backend.poll())
        backend.acknowledge()
        time.sleep(0.0005)
    return time.perf_counter() - begun


def _launch_ms(home: Path) -> list[float]:
    """The times from a command that was read to a started process, measured inside a process of its own."""
    script = Path(__file__).with_name("launches.py")
    command = [sys.executable, "-P", str(script), str(home / "inside"), str(SINGLE_STARTS)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(line) for line in said.splitlines()]


if __name__ == "__main__":
    main()
