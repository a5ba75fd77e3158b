"""A Ray of its own for the tests: a head and several nodes on this machine, gone when they end.

Ray listens on all addresses of a machine. So it runs in a network namespace that has a loopback and nothing else, and a
test that talks to it enters that namespace: its thread, and all that it starts meanwhile.
"""

import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from tests.slurm_cluster import power_off

DEADLINE_S = 90
START_TRIES = 3
"""Now and then a raylet does not register with its head. Ray ends it after half a minute; then it is started again."""
GPUS = 8
ADDRESS = "127.0.0.1:6379"
STORE_BYTES = 80_000_000
CLONE_NEWNET = 0x40000000

VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "6",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
}
"""Nodes that do not answer are noticed within seconds."""


def ray_python() -> Path:
    """The Python that has Ray: that of the tests, or one in an environment of its own."""
    own = Path(__file__).parents[1] / ".venv-ray" / "bin" / "python"
    found = own if own.exists() else Path(sys.executable)
    assert (found.parent / "ray").exists(), "Ray is missing: make .venv-ray/.ready"
    return found


class Namespace:
    """A network of its own, which has a loopback and nothing else."""

    def __init__(self, name: str) -> None:
        self.name = name
        _ip("netns", "add", name)
        _ip("-n", name, "link", "set", "lo", "up")

    def add_address(self, address: str) -> None:
        """Give it one more address, which programs take for that of the machine. It leads nowhere."""
        _ip("-n", self.name, "address", "add", f"{address}/32", "dev", "lo")
        _ip("-n", self.name, "route", "add", "default", "dev", "lo", "src", address)

    def close(self) -> None:
        """End everything in it, and itself."""
        power_off(self.processes)
        _ip("netns", "delete", self.name)

    def rays(self) -> list[int]:
        """The processes of Ray in it."""
        return [
            each
            for each in self.processes()
            if b"/site-packages/ray/" in _command(each) or _command(each).startswith(b"ray::")
        ]

    def processes(self) -> list[int]:
        """Every process in the namespace, but not this one."""
        inside = os.stat(f"/run/netns/{self.name}").st_ino
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.stat(process / "ns" / "net").st_ino == inside and int(process.name) != os.getpid():
                    found.append(int(process.name))
        return found

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be in the namespace with this thread, and with all threads and processes that it starts."""
        with (
            Path("/proc/thread-self/ns/net").open() as outside,
            Path(f"/run/netns/{self.name}").open() as namespace,
        ):
            _enter(namespace.fileno())
            try:
                yield
            finally:
                _enter(outside.fileno())


class RayCluster:
    """A running Ray."""

    def __init__(self, folder: Path, namespace: Namespace, nodes: tuple[str, ...], labels: Mapping[str, str]) -> None:
        self.folder = folder
        self.namespace = namespace
        self.nodes = nodes
        self.gpus = GPUS
        self._labels = labels

    @property
    def scratch(self) -> Path:
        """The folder for temporary files on all nodes."""
        return self.folder / "tmp"

    @property
    def python(self) -> str:
        """What runs a program with Ray, for a key of the configuration."""
        return str(ray_python())

    def run(self, *words: str) -> str:
        """What a program with Ray prints, in the namespace."""
        done = self._run([str(ray_python()), *words])
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def start_head(self) -> None:
        """Start the head, which is a node without GPUs and takes no work."""
        # What the last head left. Ray takes one of another namespace, which has the same address, for this one.
        (self.folder / "ray_current_cluster").unlink(missing_ok=True)
        head = (
            "--head",
            "--port=6379",
            "--node-name=head",
            "--num-gpus=0",
            "--num-cpus=0",
            "--include-dashboard=false",
        )
        self._start(*head, f"--temp-dir={self.folder}")

    def start_node(self, node: str) -> None:
        """Start the raylet of a node."""
        kind = "accelerator_type:H100"
        labels = f"--labels=rack={self._labels.get(node, 'r1')},fast=yes"
        resources = f'--resources={{"{kind}": 1}}'
        self._start(
            f"--address={ADDRESS}", f"--node-name={node}", "--num-cpus=16", f"--num-gpus={self.gpus}", resources, labels
        )

    def raylet(self, node: str) -> int:
        """The process of a node's raylet."""
        found = self._raylets_of(node)
        assert len(found) == 1, (node, found)
        return found[0]

    def raylets(self) -> list[int]:
        """The processes of all nodes, that of the head among them."""
        return [each for each in self.namespace.processes() if _command(each).split(b"\0")[0].endswith(b"/raylet")]

    def kill_head(self) -> None:
        """Kill what keeps the state of the cluster, and the node of the head, at once."""
        for process in self.namespace.processes():
            if _is_head(process) or _is_raylet_of(process, "head"):
                os.kill(process, signal.SIGKILL)

    def repair(self) -> None:
        """Have all nodes again, without keepers and without anything of a test."""
        self.end_keepers()
        power_off(lambda: [each for node in self.nodes for each in self.processes_on(node)])
        for left in self.scratch.glob("muster-*"):
            if not left.name.endswith("-code"):  # what agents share is the same for the next test
                shutil.rmtree(left, ignore_errors=True)
        missing = [node for node in self.nodes if not self._raylets_of(node)]
        for node in missing if self._has_head else ():
            self.start_node(node)

    def switch_off(self, node: str) -> None:
        """A machine dies: its raylet, and all that was started there."""
        raylet = self.raylet(node)
        power_off(lambda: [*self.below(raylet), *self.processes_on(node)])

    def switch_on(self, node: str) -> None:
        """It is back."""
        self.start_node(node)

    def processes_on(self, node: str) -> list[int]:
        """The processes of allocations on a node."""
        return [each for each in self.namespace.processes() if _runs_for_muster_on(each, node)]

    def below(self, process: int) -> list[int]:
        """A process, and all that descend from it."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError, ValueError):
                parents[int(stat.parent.name)] = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
        found = {process}
        while more := {each for each, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found)

    def end_keeper(self, node: str) -> str | None:
        """Kill the keeper of a node; it, if there was one."""
        keepers = [each for each in self.below(self.raylet(node)) if b"ray::NodeKeeper" in _command(each)]
        for process in keepers:
            os.kill(process, signal.SIGKILL)
        return f"the keeper of {node}" if keepers else None

    def restart_raylet(self, node: str) -> str:
        """Kill the raylet of a node, and start one anew."""
        os.kill(self.raylet(node), signal.SIGKILL)
        self.wait(lambda: not self._raylets_of(node), f"the raylet of {node} is gone")
        self.start_node(node)
        return f"the raylet of {node}"

    @contextmanager
    def hanging_head(self) -> Iterator[None]:
        """What keeps the state of the cluster answers nobody meanwhile."""
        servers = [each for each in self.namespace.processes() if _is_head(each)]
        for process in servers:
            os.kill(process, signal.SIGSTOP)
        yield
        for process in servers:
            os.kill(process, signal.SIGCONT)

    def end_keepers(self) -> None:
        """Kill the keepers of all nodes, so that those of another Muster find free GPUs."""
        for process in self.namespace.processes():
            if b"ray::NodeKeeper" in _command(process):
                os.kill(process, signal.SIGKILL)

    def wait(self, look: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        give_up_s = time.monotonic() + DEADLINE_S
        while not look():
            assert time.monotonic() < give_up_s, f"in vain: {what}; see {self.folder}"
            time.sleep(0.05)

    def inside(self) -> AbstractContextManager[None]:
        """Be in the namespace with this thread, and with all threads and processes that it starts."""
        return self.namespace.inside()

    @property
    def _has_head(self) -> bool:
        return any(_is_head(each) for each in self.namespace.processes())

    def _raylets_of(self, node: str) -> list[int]:
        return [each for each in self.namespace.processes() if _is_raylet_of(each, node)]

    def _start(self, *options: str) -> None:
        common = ("--node-ip-address=127.0.0.1", f"--object-store-memory={STORE_BYTES}")
        command = [str(ray_python().parent / "ray"), "start", "--disable-usage-stats", *common, *options]
        for _ in range(START_TRIES):
            done = self._run(command)
            if done.returncode == 0:
                return
        raise AssertionError(done.stdout + done.stderr)

    def _run(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        # The daemons that it starts keep its output open.
        with tempfile.TemporaryFile("w+") as output:
            inside = ["nsenter", f"--net=/run/netns/{self.namespace.name}", *command]
            done = subprocess.run(
                inside,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                text=True,
                check=False,
                timeout=DEADLINE_S,
                env={**os.environ, **VARIABLES, "TMPDIR": str(self.scratch)},
                cwd="/",
            )
            output.seek(0)
            return subprocess.CompletedProcess(inside, done.returncode, output.read(), "")


@contextmanager
def running_ray(
    nodes: int = 2, *, first: int = 0, gpus: int = GPUS, racks: Mapping[str, str] | None = None
) -> Iterator[RayCluster]:
    """Start a cluster with a head and nodes `n0`, `n1`, …"""
    names = tuple(f"n{number}" for number in range(first, first + nodes))
    folder = Path(tempfile.mkdtemp(prefix="muster-ray-"))
    with ExitStack() as ending:
        ending.callback(shutil.rmtree, folder, ignore_errors=True)
        namespace = Namespace(f"muster-ray-{secrets.token_hex(3)}")
        ending.callback(namespace.close)
        cluster = RayCluster(folder, namespace, names, racks or {})
        cluster.gpus = gpus
        cluster.scratch.mkdir()
        cluster.start_head()
        for name in names:  # several at once take ten times as long
            cluster.start_node(name)
        yield cluster


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}: make services"


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot enter the namespace")


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _is_head(process: int) -> bool:
    return _command(process).split(b"\0")[0].endswith(b"/gcs_server")


def _is_raylet_of(process: int, node: str) -> bool:
    words = _command(process).split(b"\0")
    return words[0].endswith(b"/raylet") and f"--node-name={node}".encode() in words


def _runs_for_muster_on(process: int, node: str) -> bool:
    try:
        variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    home = next((each for each in variables if each.startswith(b"MUSTER_ALLOCATION_HOME=")), b"")
    return home.endswith(f"-{node}".encode()) or any(each == f"MUSTER_NODE={node}".encode() for each in variables)
