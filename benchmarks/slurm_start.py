"""How fast a gang of 64 workers is up through Muster on Slurm, and through sbatch and srun alone.

Run `python -m benchmarks.slurm_start`. Both take turns on the same Slurm, which this starts with virtual nodes on this
machine. The time is from the request until the last worker has made its mark. Each worker is one process of a shell
that makes a file.

Every node starts an agent, which takes a tenth of a second of one core. Real nodes do that side by side. So what counts
is measured with as many nodes as this machine has cores; with eight nodes, agents wait for each other here.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.conftest import Shell
from tests.slurm_cluster import Cluster, running_cluster

WORKERS, TRIALS, WARM_UP = 64, 10, 2
LIMIT_S = 60.0

CONFIGURATION = """
[server]
port = 0
[[engines]]
name = "hpc"
kind = "slurm"
partition = "train"
config = "{slurm_conf}"
python = "{python}"
"""


def main() -> None:
    """Print both times, and what Muster adds, on as many nodes as there are cores and on eight."""
    for nodes in (os.cpu_count() or 1, 8):
        print(f"{nodes} nodes")
        _compare(nodes)


def _compare(nodes: int) -> None:
    with tempfile.TemporaryDirectory() as folder, running_cluster(nodes, gpus=-(-WORKERS // nodes)) as cluster:
        shell = _server(Path(folder), cluster)
        try:
            alone, through = [], []
            for trial in range(TRIALS + WARM_UP):
                first_s = _alone_s(cluster, Path(folder) / f"a{trial}")
                second_s = _through_s(shell, cluster, Path(folder) / f"b{trial}")
                if trial >= WARM_UP:
                    alone.append(first_s)
                    through.append(second_s)
        finally:
            shell.run("down", "--jobs")
    _print("sbatch and srun alone", alone)
    _print("Muster on Slurm", through)
    more = statistics.median(through) / statistics.median(alone) - 1
    print(f"{'what Muster adds':24}{more:8.0%}    at the median")


def _print(what: str, times: list[float]) -> None:
    print(f"{what:24}{statistics.median(times):8.2f} s  median of {len(times)}, {min(times):.2f} to {max(times):.2f}")


def _server(folder: Path, cluster: Cluster) -> Shell:
    shell = Shell(home=folder / "home", folder=folder)
    shell.home.mkdir(mode=0o700)
    file = folder / "muster.toml"
    file.write_text(CONFIGURATION.format(slurm_conf=cluster.configuration, python=sys.executable), "utf-8")
    done = shell.run("up", "-d", "--config", str(file))
    assert done.returncode == 0, done.stderr
    return shell


def _alone_s(cluster: Cluster, marks: Path) -> float:
    """One batch job that starts all workers as one step."""
    marks.mkdir()
    nodes = len(cluster.nodes)
    each = -(-WORKERS // nodes)
    step = f"srun --ntasks={WORKERS} sh -c 'touch {marks}/$SLURM_PROCID'"
    options = (f"--nodes={nodes}", f"--ntasks-per-node={each}", f"--gres=gpu:{each}", "--output=/dev/null")
    began_s = time.monotonic()
    cluster.run("sbatch", *options, "--wrap", step)
    return _until_marked(cluster, marks, began_s)


def _through_s(shell: Shell, cluster: Cluster, marks: Path) -> float:
    """The same gang as a job of Muster."""
    marks.mkdir()
    while "used by others" in shell.says("nodes", "-o", "json"):  # it has not seen yet that the other job is over
        time.sleep(0.1)
    job = {"name": "start", "workers": WORKERS, "resources": {"gpus": 1}, "run": f"touch {marks}/$MUSTER_RANK"}
    began_s = time.monotonic()
    shell.says("submit", "-", "-q", input=json.dumps(job))
    return _until_marked(cluster, marks, began_s)


def _until_marked(cluster: Cluster, marks: Path, began_s: float) -> float:
    while len(list(marks.iterdir())) < WORKERS:
        assert time.monotonic() < began_s + LIMIT_S, f"only {len(list(marks.iterdir()))} have started"
        time.sleep(0.005)
    took_s = time.monotonic() - began_s
    cluster.await_idle()
    return took_s


if __name__ == "__main__":
    main()
