"""One node of a Ray cluster, as processes of a worker: started by Ray's own program, ended with the worker.

Its files are in a folder of its own, because Ray's sockets need a short path. A folder that was left by a worker that
was killed is removed by the next one.
"""

import fcntl
import hashlib
import hmac
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

MISSING = (
    "launch: ray needs the program `ray` on the PATH of the job: pip install ray, in `setup` or where `run` finds it"
)

START_S = 120.0
"""How long a node may take to start. On a busy machine it takes ten seconds."""

END_S = 2.0
"""How long a node may take to end by itself."""

LEFT_S = 600.0
"""After how long the folder of a node that is gone may be removed. A younger one may be about to be locked."""

PAUSE_S = 0.05
SAID_LINES = 15
PREFIX = "muster-ray-"

OPTIONS = (
    "--disable-usage-stats",
    "--min-worker-port=0",
    "--max-worker-port=0",
    "--dashboard-agent-listen-port=0",
    "--block",
)
"""Ports are those that the kernel gives out. Ray's own choices are taken where two nodes share a machine."""

ON_LOOPBACK = """
import sys
from ray._private import ray_constants, services
from ray.scripts import scripts
services.get_node_ip_address = lambda address=None: "127.0.0.1"
ray_constants.ENABLE_RAY_CLUSTER = True
scripts.get_ray_client_dependency_error = lambda: "it would listen on a port that is not free"
sys.argv[0] = "ray"
scripts.main()
"""
"""Runs the program of Ray so that it stays on the loopback. It would take another address, and listen on all."""

STAYS_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What has Ray take the loopback for the address of this machine, as it does on a laptop."""


class NodeFailed(Exception):
    """It could not be started; the message says why."""


def find_ray() -> str | None:
    """Ray's program, if the job has one."""
    return shutil.which("ray")


class NodeOfGang:
    """A node of a Ray cluster. Leaving it as a context ends it."""

    def __init__(self, program: str, cpus: int) -> None:
        """`cpus` is how many it offers, 0 for as many as Ray finds."""
        self._program = program
        self._cpus = cpus
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = _own_folder()
        self._is_loopback = False

    def __enter__(self) -> "NodeOfGang":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def is_running(self) -> bool:
        """True until it has ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def access(self) -> dict[str, str]:
        """The variables of programs that use the cluster."""
        loopback = STAYS_ON_LOOPBACK if self._is_loopback else {}
        return {**_authentication(), **loopback, "RAY_USAGE_STATS_ENABLED": "0"}

    def start_head(self, host: str) -> str:
        """Start it as the head. Returns the address of the cluster. Raises `NodeFailed`."""
        address = socket_address(host)
        return self._start(address, "--head", "--port=0", "--include-dashboard=false")

    def join(self, head: str, own: str) -> None:
        """Start it as a node of that cluster; `own` is where the others reach it. Raises `NodeFailed`."""
        self._start(own, f"--address={head}")

    def end(self) -> None:
        """End everything of it, and remove its files."""
        if (process := self._process) is not None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(END_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, own: str, *options: str) -> str:
        self._is_loopback = own.startswith("127.")
        gpus = len([each for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each])
        words = [
            "start",
            f"--node-ip-address={own}",
            f"--num-gpus={gpus}",
            *([f"--num-cpus={self._cpus}"] if self._cpus else []),
            f"--temp-dir={self._folder}",
            *OPTIONS,
            *options,
        ]
        python = _python_of(self._program) if self._is_loopback else None
        command = [self._program, *words] if python is None else [python, "-c", ON_LOOPBACK, *words]
        said = self._folder / "said"
        with said.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, **self.access},
            )
        return self._started(self._folder / "ray_current_cluster", said)

    def _started(self, told: Path, said: Path) -> str:
        """The address of the cluster, which Ray writes down when the node serves."""
        give_up_s = time.monotonic() + START_S
        while not (told.exists() and told.stat().st_size):
            if not self.is_running or time.monotonic() > give_up_s:
                lines = said.read_text("utf-8", "replace").splitlines()[-SAID_LINES:]
                raise NodeFailed("\n".join(("its node of Ray could not be started:", *lines)))
            time.sleep(PAUSE_S)
        return told.read_text("utf-8").strip()


def socket_address(host: str) -> str:
    """The address that stands for a host; a name is looked up."""
    return socket.gethostbyname(host)


def _authentication() -> dict[str, str]:
    """What has Ray answer only those who know the token of the attempt. What the job says itself goes before it."""
    token = os.environ.get("MUSTER_TOKEN", "")
    if not token or "RAY_AUTH_MODE" in os.environ:
        return {}
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": hmac.new(token.encode(), b"ray", hashlib.sha256).hexdigest(),
    }


def _own_folder() -> Path:
    """A new folder, which is locked for as long as this process lives. Those whose process is gone are removed."""
    parent = Path("/tmp")
    for left in parent.glob(f"{PREFIX}{os.geteuid()}-*"):
        with suppress(OSError):
            found = left.lstat()
            is_left = found.st_uid == os.geteuid() and time.time() - found.st_mtime > LEFT_S
            if is_left and _is_locked(left):
                shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.geteuid()}-", dir=parent))
    _is_locked(made)
    return made


def _is_locked(folder: Path) -> bool:
    """True if this process could lock the folder. It keeps the lock until it ends."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    return True


def _python_of(program: str) -> str | None:
    """The interpreter that runs Ray's program, if its first line says so."""
    try:
        with open(program, "rb") as file:
            first = file.readline(4096).decode(errors="replace").strip()
    except OSError:
        return None
    words = first.removeprefix("#!").split()
    return words[0] if first.startswith("#!") and words and "python" in words[0] else None
