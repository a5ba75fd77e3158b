"""A server over a real Ray with two racks. It and its test are in the namespace of Ray."""

import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.conftest import eventually
from tests.engines.server import OnEngine
from tests.ray_cluster import ADDRESS, RayCluster, ray_python

CONFIGURATION = """
[server]
port = PORT

[[engines]]
name = "ray"
kind = "ray"
address = "ADDRESS"
driver = "DRIVER"
python = "PYTHON"
output = "OUTPUT"
levels = {rack = "rack"}
"""

OTHERS = """
import ray, sys, time
ray.init("127.0.0.1:6379", log_to_driver=False, logging_level="ERROR")
class Other:
    pass
count, gpus = int(sys.argv[1]), int(sys.argv[2])
kept = [ray.remote(Other).options(num_gpus=gpus, num_cpus=0).remote() for _ in range(count)]
ray.get([each.__ray_ready__.remote() for each in kept])
print("there", flush=True)
sys.stdin.read()
"""


@dataclass(kw_only=True)
class OnRay(OnEngine):
    """A server, and the Ray below it."""

    cluster: RayCluster
    address: str = ADDRESS

    prints = "$(env | grep -c ^RAY_) of Ray"

    def configuration(self) -> str:
        text = CONFIGURATION.replace("ADDRESS", self.address).replace("DRIVER", self.cluster.python)
        return text.replace("OUTPUT", str(self.shell.folder))

    def runs(self) -> Collection[object]:
        return {script.parent.name.rpartition("-")[0] for script in self.cluster.scratch.glob("muster-*/run.sh")}

    def printed(self, job: str) -> str:
        assert [node for node in self.machines if self.cluster.processes_on(node)] == self.placed(job)
        return "0 of Ray"

    @contextmanager
    def others(self, gpus: int) -> Iterator[None]:
        command = [str(ray_python()), "-c", OTHERS, str(len(self.machines)), str(gpus)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as others:
            assert others.stdin is not None
            assert others.stdout is not None
            assert others.stdout.readline() == "there\n"
            yield
            others.stdin.close()

    @contextmanager
    def without(self, node: str) -> Iterator[None]:
        self.cluster.switch_off(node)
        try:
            yield
        finally:
            self.cluster.start_node(node)

    def await_nothing_left(self) -> None:
        eventually(lambda: not any(map(self.cluster.processes_on, self.machines)), what="nothing runs on any node")
        self.await_no_record()
        eventually(lambda: not list(self.cluster.scratch.glob("muster-*/run.sh")), what="no home is left")
