"""How fast a gang of 64 workers is up through Muster on Ray, and through Ray alone.

Run `python -m benchmarks.ray_start`. Both take turns on the same Ray, which this starts with virtual nodes on this
machine. The time is from the request until the last worker has made its mark. Through Muster, each worker is a shell
that makes a file. Through Ray alone, each is an actor in a placement group, as trainings have them, and a method makes
the file; the driver is connected already. Tasks are shown as well: they need no processes of their own once Ray has
some.

Ray alone gets CPUs, because Muster's keepers hold the GPUs. It makes no difference to how fast Ray starts processes.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.conftest import Shell
from tests.ray_cluster import ADDRESS, RayCluster, ray_python, running_ray

WORKERS, TRIALS, WARM_UP = 64, 3, 1
LIMIT_S = 300.0

CONFIGURATION = """
[server]
port = 0
[[engines]]
name = "ray"
kind = "ray"
address = "{address}"
driver = "{driver}"
python = "{python}"
"""

ALONE = """
import pathlib, sys
import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy as InGroup

ray.init("ADDRESS", log_to_driver=False, logging_level="ERROR")

class Worker:
    def mark(self, path):
        pathlib.Path(path).touch()

def mark(path):
    pathlib.Path(path).touch()

print("ready", flush=True)
for line in sys.stdin:
    kind, folder = line.split()
    group = placement_group([{"CPU": 0.25}] * WORKERS)
    ray.get(group.ready())
    def at(number):
        return dict(num_cpus=0.25, scheduling_strategy=InGroup(group, placement_group_bundle_index=number))
    paths = [f"{folder}/{number}" for number in range(WORKERS)]
    if kind == "actors":
        actors = [ray.remote(Worker).options(**at(number)).remote() for number in range(WORKERS)]
        ray.get([actor.mark.remote(path) for actor, path in zip(actors, paths)])
        print("done", flush=True)
        for actor in actors:
            ray.kill(actor)
    else:
        ray.get([ray.remote(mark).options(**at(number)).remote(path) for number, path in enumerate(paths)])
        print("done", flush=True)
    remove_placement_group(group)
    print("removed", flush=True)
"""


def main() -> None:
    """Print the times, and what Muster adds."""
    nodes = os.cpu_count() or 1
    print(f"{nodes} nodes, {WORKERS} workers")
    times: dict[str, list[float]] = {"actors of Ray alone": [], "tasks of Ray alone": [], "Muster on Ray": []}
    with tempfile.TemporaryDirectory() as folder, running_ray(nodes, gpus=-(-WORKERS // nodes)) as cluster:
        _measure(cluster, Path(folder), times)
    for name, measured in times.items():
        low, high = min(measured), max(measured)
        print(f"{name:24}{statistics.median(measured):8.2f} s  median of {len(measured)}, {low:.2f} to {high:.2f}")
    actors, _, through = (statistics.median(measured) for measured in times.values())
    print(f"{'what Muster adds':24}{through / actors - 1:8.0%}    to actors, at the median")


def _measure(cluster: RayCluster, folder: Path, times: dict[str, list[float]]) -> None:
    with cluster.inside(), _server(folder, cluster) as shell, _driver() as alone:
        for trial in range(TRIALS + WARM_UP):
            for name, measured in times.items():
                marks = folder / f"{name.split()[0]}-{trial}"
                marks.mkdir()
                took_s = _through_s(shell, marks) if "Muster" in name else _alone_s(alone, name.split()[0], marks)
                if trial >= WARM_UP:
                    measured.append(took_s)


@contextmanager
def _server(folder: Path, cluster: RayCluster) -> Iterator[Shell]:
    shell = Shell(home=folder / "home", folder=folder)
    shell.home.mkdir(mode=0o700)
    file = folder / "muster.toml"
    file.write_text(CONFIGURATION.format(address=ADDRESS, driver=cluster.python, python=sys.executable), "utf-8")
    done = shell.run("up", "-d", "--config", str(file))
    assert done.returncode == 0, done.stderr
    try:
        yield shell
    finally:
        shell.run("down", "--jobs")


@contextmanager
def _driver() -> Iterator["subprocess.Popen[str]"]:
    """A program of Ray that is connected, and starts gangs when it is told to."""
    text = ALONE.replace("ADDRESS", ADDRESS).replace("WORKERS", str(WORKERS))
    command = [str(ray_python()), "-c", text]
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=quiet, text=True) as driver:
        assert driver.stdin is not None
        _await(driver, "ready")
        yield driver
        driver.stdin.close()


def _alone_s(driver: "subprocess.Popen[str]", kind: str, marks: Path) -> float:
    assert driver.stdin is not None
    began_s = time.monotonic()
    driver.stdin.write(f"{kind} {marks}\n")
    driver.stdin.flush()
    took_s = _until_marked(marks, began_s)
    _await(driver, "removed")
    return took_s


def _through_s(shell: Shell, marks: Path) -> float:
    """The same gang as a job of Muster."""
    job = {"name": "start", "workers": WORKERS, "resources": {"gpus": 1}, "run": f"touch {marks}/$MUSTER_RANK"}
    began_s = time.monotonic()
    name = shell.says("submit", "-", "-q", input=json.dumps(job)).strip()
    took_s = _until_marked(marks, began_s)
    while not shell.is_in(name, "succeeded"):
        time.sleep(0.1)
    return took_s


def _until_marked(marks: Path, began_s: float) -> float:
    while len(list(marks.iterdir())) < WORKERS:
        assert time.monotonic() < began_s + LIMIT_S, f"only {len(list(marks.iterdir()))} have started"
        time.sleep(0.005)
    return time.monotonic() - began_s


def _await(driver: "subprocess.Popen[str]", word: str) -> None:
    assert driver.stdout is not None
    for line in driver.stdout:
        if line.strip() == word:
            return
    raise AssertionError(f"the driver of Ray has ended before it was {word}")


if __name__ == "__main__":
    main()
