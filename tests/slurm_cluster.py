"""A Slurm of its own for the tests: real daemons, several nodes on this machine, on loopback, gone when they end.

Only 127.0.0.1 is listened on. The daemons authenticate by a munge of their own, so a Slurm that this machine may belong
to is neither used nor disturbed.
"""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

DEADLINE_S = 60
GPUS = 8

CONFIGURATION = """
ClusterName=virtual
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5,ttl=60
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,bf_interval=2
ReturnToService=1
SlurmdTimeout=5
KillWait=2
MinJobAge=60
MpiDefault=none
TopologyPlugin=topology/{topology}
NodeName={nodes_named} NodeAddr=127.0.0.1 Port={ports} CPUs=64 RealMemory=65536 Gres=gpu:h100:{gpus} Feature=ib,fast
PartitionName=train Nodes={nodes_named} Default=YES MaxTime=INFINITE State=UP
"""

DAEMONS = ("munged", "slurmctld", "slurmd")


def find(program: str) -> str:
    """A daemon's path, also if the folder of daemons is not among those that are searched."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    assert found is not None, f"{program} is missing: make services"
    return found


class Cluster:
    """A running Slurm."""

    def __init__(self, folder: Path, nodes: tuple[str, ...]) -> None:
        self.folder = folder
        self.nodes = nodes
        self.configuration = folder / "slurm.conf"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def variables(self) -> dict[str, str]:
        """What tells Slurm's commands which cluster is meant."""
        return {**os.environ, "SLURM_CONF": str(self.configuration)}

    def run(self, *words: str) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=self.variables)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def start(self, name: str, *words: str, ready: Callable[[], bool] = lambda: True) -> None:
        """Start a daemon, and wait until it serves."""
        with (self.folder / f"{name}.output").open("ab") as output:
            # Told when this process dies, however that happens.
            command = ["setpriv", "--pdeathsig", "KILL", *words]
            self._daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.variables
            )
        self.wait(ready, f"{name} serves")

    def kill(self, name: str) -> None:
        """Kill a daemon at once."""
        if (daemon := self._daemons.pop(name, None)) is not None:
            daemon.kill()
            daemon.wait()

    def stop_controller(self) -> None:
        """End slurmctld, which saves its state."""
        daemon = self._daemons.pop("slurmctld")
        daemon.terminate()
        daemon.wait()

    def start_controller(self) -> None:
        """Start slurmctld, with what it has saved."""
        self.start("slurmctld", find("slurmctld"), "-D", ready=self._answers)

    def start_node(self, node: str) -> None:
        """Start the slurmd of a node, unless it runs."""
        if node not in self._daemons:
            self.start(node, find("slurmd"), "-D", "-N", node)

    def switch_off(self, node: str) -> None:
        """A machine dies: its slurmd, and every process of the steps that it runs."""
        self.kill(node)
        power_off(lambda: self.processes_on(node))

    def switch_on(self, node: str) -> None:
        """It is back, and takes work."""
        self.start_node(node)
        self.await_idle((node,))

    def processes_on(self, node: str) -> list[int]:
        """Every process of the steps that a node runs."""
        return [process for process in _left(self.folder) if _is_on(process, node)]

    def await_idle(self, nodes: Iterable[str] = ()) -> None:
        """Wait until nodes can take work."""
        named = ",".join(nodes or self.nodes)
        states = ("sinfo", "-h", "-n", named, "-N", "-o", "%t")
        self.wait(lambda: set(self.run(*states).split()) == {"idle"}, f"{named} are idle")

    def wait(self, look: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        give_up_s = time.monotonic() + DEADLINE_S
        while not look():
            assert time.monotonic() < give_up_s, f"in vain: {what}; see {self.folder}"
            time.sleep(0.02)

    def close(self) -> None:
        """End everything."""
        with suppress(AssertionError):
            self.run("scancel", "--full", "--signal=KILL", "--user", getpass.getuser())
        for name in reversed(tuple(self._daemons)):
            self.kill(name)
        for step in _left(self.folder):
            with suppress(OSError):
                os.kill(step, 9)

    def _answers(self) -> bool:
        done = subprocess.run(["scontrol", "ping"], capture_output=True, text=True, check=False, env=self.variables)
        return "UP" in done.stdout


@contextmanager
def running_cluster(
    nodes: int = 2, *, first: int = 0, gpus: int = GPUS, switches: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """Start a cluster of nodes `n0`, `n1`, …; `switches` are leaf switches with their nodes, below one root."""
    names = tuple(f"n{number}" for number in range(first, first + nodes))
    folder = Path(tempfile.mkdtemp(prefix="muster-slurm-"))
    with ExitStack() as ending:
        ending.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(folder, names)
        _configure(cluster, gpus, switches)
        ending.callback(cluster.close)
        _start_munge(cluster)
        cluster.start_controller()
        for name in names:
            cluster.start_node(name)
        cluster.await_idle()
        yield cluster


def _configure(cluster: Cluster, gpus: int, switches: Mapping[str, str] | None) -> None:
    folder, nodes = cluster.folder, cluster.nodes
    first = int(nodes[0].removeprefix("n"))
    ports = _free_ports(len(nodes) + 1)
    text = CONFIGURATION.format(
        host=socket.gethostname().split(".")[0],
        port=ports[0],
        user=getpass.getuser(),
        folder=folder,
        topology="none" if switches is None else "tree",
        nodes_named=f"n[{first}-{first + len(nodes) - 1}]",
        ports=",".join(map(str, ports[1:])) if len(nodes) == 1 else f"[{','.join(map(str, ports[1:]))}]",
        gpus=gpus,
    )
    (folder / "state").mkdir()
    for node in nodes:
        (folder / f"spool-{node}").mkdir()
    for gpu in range(gpus):
        # Slurm wants a file for each device, and opens none of them.
        (folder / f"gpu{gpu}").symlink_to("/dev/null")
    cluster.configuration.write_text(text, "utf-8")
    (folder / "gres.conf").write_text(f"AutoDetect=off\nName=gpu Type=h100 File={folder}/gpu[0-{gpus - 1}]\n", "utf-8")
    if switches is not None:
        lines = [f"SwitchName={switch} Nodes={below}" for switch, below in switches.items()]
        lines.append(f"SwitchName=root Switches={','.join(switches)}")
        (folder / "topology.conf").write_text("\n".join(lines) + "\n", "utf-8")


def _start_munge(cluster: Cluster) -> None:
    folder = cluster.folder
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(os.urandom(128))
    files = (f"--{what}-file={folder}/munge.{what}" for what in ("key", "log", "pid", "seed"))
    socket_file = folder / "munge.socket"
    words = (find("munged"), "--foreground", "--force", *files, f"--socket={socket_file}")
    cluster.start("munge", *words, ready=socket_file.exists)


def power_off(running: Callable[[], Iterable[int]]) -> None:
    """End processes as a machine without power does: none of them sees another end, and starts it again."""
    stopped: set[int] = set()
    while new := set(running()) - stopped:
        for process in new:
            _signal(process, signal.SIGSTOP)
        stopped |= new
    for process in stopped:
        _signal(process, signal.SIGKILL)


def _signal(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _is_on(process: int, node: str) -> bool:
    try:
        return f"SLURMD_NODENAME={node}\0".encode() in Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return False


def _free_ports(count: int) -> list[int]:
    """Ports that are free now."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _left(folder: Path) -> list[int]:
    """Processes that steps of this cluster left behind: slurmstepd and what it runs."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"SLURM_CONF={folder}/".encode() in environ.read_bytes() and int(environ.parent.name) != os.getpid():
                found.append(int(environ.parent.name))
    return found
