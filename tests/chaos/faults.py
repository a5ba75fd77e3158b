"""One small function for each kind of fault: it strikes, and says how it is mended.

A function returns None when there was nothing to strike. Faults of single processes are here; those that need an
operator, who moves databases and starts other servers, are in `surgeries`.
"""

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import processes
from tests.chaos.cluster import Cluster, Supervisor
from tests.chaos.database import Postgres
from tests.chaos.evidence import Evidence, Violation
from tests.chaos.ledger import Run, Watcher

SQLITE, POSTGRES = "sqlite", "postgresql"
STEPS_S = (-3600, -60, 90, 3600)
"""How far the clock is set: a daylight saving time that was applied by hand, and what a time server corrects."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """Where a trial happens."""

    folder: Path
    cluster: Cluster
    watcher: Watcher
    evidence: Evidence
    postgres: Postgres | None = None
    downs: int = 0
    """Faults that keep the control plane down at present; without any it is started again when it has ended."""

    def found(self, rule: str, told: str) -> None:
        """Write down a broken promise that was seen on the spot."""
        self.evidence.found.append(Violation(rule=rule, told=told))

    def send(self, pid: int, ticks: int, number: int) -> bool:
        """Signal a process of this trial."""
        return processes.send(pid, ticks, self.cluster.mark, number)


def _nothing() -> None:
    """What needs no mending."""


@dataclass(slots=True, kw_only=True)
class Hit:
    """A fault that struck."""

    detail: str = ""
    mend: Callable[[], None] = _nothing
    nodes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


Strike = Callable[[Stage, int, float], Hit | None]
"""Given the stage, a number to choose by, and how long it lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is known of a kind of fault."""

    name: str
    strike: Strike
    hold_s: tuple[float, float] = (0.0, 0.0)
    databases: tuple[str, ...] = (SQLITE, POSTGRES)
    rewrites: bool = False
    """True when it takes history back or hands nodes over: once in a trial is enough."""
    needs_disk: bool = False
    needs_clock: bool = False

    def suits(self, database: str) -> bool:
        """True when it can strike a cluster with this database, on this machine."""
        can_mount = not self.needs_disk or os.geteuid() == 0
        return database in self.databases and can_mount and (not self.needs_clock or shutil.which("cc") is not None)


KINDS: dict[str, Kind] = {}
"""All kinds by name."""


def register(kind: Kind) -> None:
    """Make a kind known."""
    KINDS[kind.name] = kind


def control_kill(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The control plane dies, and comes back after a while."""
    if not stage.cluster.kill_control():
        return None
    stage.downs += 1

    def mend() -> None:
        stage.downs -= 1

    return Hit(detail=f"down for {hold_s:.1f} s", mend=mend)


def control_stop(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The control plane hangs, and goes on as if nothing had been."""
    control = stage.cluster.control
    if control is None or not stage.cluster.signal_control(signal.SIGSTOP):
        return None

    def mend() -> None:
        if control.poll() is None:
            control.send_signal(signal.SIGCONT)

    return Hit(detail=f"hangs for {hold_s:.1f} s", mend=mend)


def supervisor_kill(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """A supervisor dies, and its workers stay."""
    found = _supervisor(stage, pick)
    if found is None or not stage.send(found.pid, found.ticks, signal.SIGKILL):
        return None
    return Hit(detail=found.node, nodes=(found.node,))


def supervisor_stop(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """A supervisor hangs, and goes on."""
    found = _supervisor(stage, pick)
    if found is None or not stage.send(found.pid, found.ticks, signal.SIGSTOP):
        return None
    return Hit(
        detail=f"{found.node} for {hold_s:.1f} s",
        nodes=(found.node,),
        mend=lambda: _send_on(stage, found.pid, found.ticks),
    )


def worker_kill(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """A worker dies, as one that ran out of memory."""
    found = _worker(stage, pick)
    if found is None or not stage.send(found.pid, found.ticks, signal.SIGKILL):
        return None
    return Hit(detail=found.name, labels=(found.label,))


def worker_stop(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """A worker hangs, and goes on."""
    found = _worker(stage, pick)
    if found is None or not stage.send(found.pid, found.ticks, signal.SIGSTOP):
        return None
    return Hit(detail=f"{found.name} for {hold_s:.1f} s", mend=lambda: _send_on(stage, found.pid, found.ticks))


def database_kill(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The database server dies, and is started again."""
    postgres = stage.postgres
    assert postgres is not None
    postgres.kill()
    return Hit(detail=f"down for {hold_s:.1f} s", mend=postgres.start)


def backend_kill(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """One process of the database server dies, which makes it drop all connections and recover."""
    assert stage.postgres is not None
    return Hit() if stage.postgres.kill_backend(pick) else None


def database_stop(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The database server hangs, and goes on."""
    postgres = stage.postgres
    assert postgres is not None
    postgres.signal_all(signal.SIGSTOP)
    return Hit(detail=f"hangs for {hold_s:.1f} s", mend=lambda: postgres.signal_all(signal.SIGCONT))


def clock_step(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The clock of the machine is set, for control plane and supervisors."""
    offset_s = STEPS_S[pick % len(STEPS_S)]
    stage.cluster.step_clock(offset_s)
    return Hit(detail=f"by {offset_s:+d} s")


def disk_full(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The disk of the home is full for a while."""
    ballast = stage.cluster.home / "ballast"
    if not os.path.ismount(stage.cluster.home):
        return None
    with suppress(OSError), ballast.open("wb", buffering=0) as stream:
        for size in (1 << 20, 1 << 12):
            with suppress(OSError):
                while stream.write(bytes(size)) == size:
                    pass
    return Hit(detail=f"for {hold_s:.1f} s", mend=lambda: ballast.unlink(missing_ok=True))


def _supervisor(stage: Stage, pick: int) -> Supervisor | None:
    """One of those that look after a worker at present, if there is one: there is more to break."""
    busy = {run.node for run in stage.watcher.living()}
    living = stage.cluster.supervisors()
    chosen = [each for each in living if each.node in busy] or living
    return chosen[pick % len(chosen)] if chosen else None


def _worker(stage: Stage, pick: int) -> Run | None:
    living = stage.watcher.living()
    return living[pick % len(living)] if living else None


def _send_on(stage: Stage, pid: int, ticks: int) -> None:
    stage.send(pid, ticks, signal.SIGCONT)


for _kind in (
    Kind(name="control-kill", strike=control_kill, hold_s=(0.3, 9.0)),
    Kind(name="control-stop", strike=control_stop, hold_s=(2.0, 25.0)),
    Kind(name="supervisor-kill", strike=supervisor_kill, hold_s=(0.0, 0.0)),
    Kind(name="supervisor-stop", strike=supervisor_stop, hold_s=(1.0, 20.0)),
    Kind(name="worker-kill", strike=worker_kill),
    Kind(name="worker-stop", strike=worker_stop, hold_s=(1.0, 10.0)),
    Kind(name="database-kill", strike=database_kill, hold_s=(0.5, 6.0), databases=(POSTGRES,)),
    Kind(name="backend-kill", strike=backend_kill, databases=(POSTGRES,)),
    Kind(name="database-stop", strike=database_stop, hold_s=(1.5, 12.0), databases=(POSTGRES,)),
    Kind(name="clock-step", strike=clock_step, needs_clock=True),
    Kind(name="disk-full", strike=disk_full, hold_s=(2.0, 6.0), needs_disk=True),
):
    register(_kind)
