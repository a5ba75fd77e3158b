"""How long a command takes from the prompt to its answer: JSON lines. Run with `make bench`.

A real server on loopback knows a few jobs. Each command is a process of its own, as at a prompt. The best of some runs
counts, as wall time, as processor time, and as a ratio to `python -c pass`, which a busy machine changes least.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.core import report
from tests.crash.server import Server

JOBS = 20
RUNS = 15
AIM_MS = 300
"""What a person may wait for an answer without noticing that a program was started."""

PROGRAM = (sys.executable, "-c", "from muster.cli.main import main; main()")
COMMANDS = (
    ("--version",),
    ("--help",),
    ("ps",),
    ("ps", "-o", "json"),
    ("show", "job-1"),
    ("show", "job-1", "-o", "json"),
    ("nodes",),
    ("submit", "job.yaml", "-q"),
    ("why", "job-2"),
    ("config", "diff", "muster.toml"),
)
OF_SLURM = (sys.executable, "-m", "muster.slurm")
SLURM_COMMANDS = (
    ("squeue",),
    ("sinfo",),
    ("sacct",),
    ("sbatch", "--parsable", "job.sh"),
    ("scontrol", "show", "job", "2"),
)


def best_ms(command: tuple[str, ...], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """The shortest wall time and the least processor time of a command."""
    walls, cpus = [], []
    for _ in range(RUNS):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        walls.append(time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * min(walls), 1000 * min(cpus)


def main() -> None:
    """Measure every command."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        folder = Path(name)
        (folder / "job.yaml").write_text("name: bench\nrun: 'true'\nresources: {gpus: 8}\n")
        (folder / "job.sh").write_text("#!/bin/sh\n#SBATCH --gpus=8\ntrue\n")
        (folder / "muster.toml").write_text("[local]\nnodes = '1x8'\n")
        environment = {**os.environ, "MUSTER_HOME": name}
        with Server(folder, nodes="1x8") as server:
            client = server.start()
            for _ in range(JOBS):
                client.submit({"name": "bench", "resources": {"gpus": 8}, "run": "sleep 1000"})
            least_wall_ms, least_cpu_ms = best_ms((sys.executable, "-c", "pass"), folder, environment)
            report("python -c pass", wall_ms=least_wall_ms, cpu_ms=least_cpu_ms)
            ours = [("muster", (*PROGRAM, *words), words) for words in COMMANDS]
            of_slurm = [("slurm:", (*OF_SLURM, *words), words) for words in SLURM_COMMANDS]
            for named, command, words in (*ours, *of_slurm):
                wall_ms, cpu_ms = best_ms(command, folder, environment)
                ratio = round(wall_ms / least_wall_ms, 1)
                report(f"{named} {' '.join(words)}", wall_ms=wall_ms, cpu_ms=cpu_ms, ratio=ratio, aim_ms=AIM_MS)


if __name__ == "__main__":
    main()
