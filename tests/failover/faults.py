"""What happens to a leader, and how the machine is made whole again."""

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from muster.model.errors import MusterError
from tests.failover.planes import Plane, Planes, await_so

SERVES_S = 15.0
"""How soon another control plane has to serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """What a fault did."""

    took_s: float
    """Until a leader accepted changes again."""
    has_moved: bool
    """Whether another control plane leads than before."""


def serves(planes: Planes, *candidates: Plane) -> bool:
    """True when one of these says that it leads, and accepts a change."""
    for plane in candidates:
        if plane.role() == "leader":
            with planes.client(plane) as client, suppress(MusterError):
                return bool(client.submit({"name": "probe", "run": "true"}).id)
    return False


def kill(planes: Planes, chance: random.Random) -> Struck:
    """The process of the leader is killed."""
    leader = planes.leader
    time.sleep(chance.random())
    leader.end()
    took_s = await_so(lambda: serves(planes, planes.other(leader)), "the other serves", SERVES_S)
    leader.start()
    return Struck(took_s=took_s, has_moved=True)


def stop(planes: Planes, chance: random.Random) -> Struck:
    """The leader is stopped in the middle of what it does, and woken when another leads."""
    leader = planes.leader
    time.sleep(chance.random())
    leader.signal(signal.SIGSTOP)
    try:
        took_s = await_so(lambda: serves(planes, planes.other(leader)), "the other serves", SERVES_S)
        time.sleep(3 * chance.random())
    finally:
        leader.signal(signal.SIGCONT)
    return Struck(took_s=took_s, has_moved=True)


def stop_briefly(planes: Planes, chance: random.Random) -> Struck:
    """The leader is stopped and woken about when its lease runs out, so that either may lead afterwards."""
    leader = planes.leader
    leader.signal(signal.SIGSTOP)
    time.sleep(4.5 + 3 * chance.random())
    leader.signal(signal.SIGCONT)
    took_s = await_so(lambda: serves(planes, *planes.planes), "one of both serves", SERVES_S)
    return Struck(took_s=took_s, has_moved=planes.leader is not leader)


def cut(planes: Planes, chance: random.Random) -> Struck:
    """The leader does not reach the database any more: its packets are dropped, or its connections are closed."""
    leader = planes.leader
    time.sleep(chance.random())
    leader.wire.tear() if chance.random() < 0.5 else leader.wire.hold()
    try:
        took_s = await_so(lambda: serves(planes, planes.other(leader)), "the other serves", SERVES_S)
        time.sleep(3 * chance.random())
    finally:
        leader.wire.mend()
    return Struck(took_s=took_s, has_moved=True)


def restart_database(planes: Planes, chance: random.Random) -> Struck:
    """The database server dies and is started again."""
    leader = planes.leader
    planes.postgres.kill()
    time.sleep(1 + 2 * chance.random())
    planes.postgres.start()
    took_s = await_so(lambda: serves(planes, *planes.planes), "one of both serves", SERVES_S)
    return Struck(took_s=took_s, has_moved=planes.leader is not leader)


def step_down(planes: Planes, chance: random.Random) -> Struck:
    """The leader is told to end."""
    leader = planes.leader
    time.sleep(chance.random())
    leader.signal(signal.SIGTERM)
    took_s = await_so(lambda: serves(planes, planes.other(leader)), "the other serves", SERVES_S)
    assert leader.process is not None
    assert leader.process.wait() == 0
    leader.start()
    return Struck(took_s=took_s, has_moved=True)


def hand_over(planes: Planes, chance: random.Random) -> Struck:
    """The standby is replaced by one that asks for the lead, as in an upgrade."""
    leader = planes.leader
    heir = planes.other(leader)
    heir.signal(signal.SIGTERM)
    assert heir.process is not None
    assert heir.process.wait() == 0
    time.sleep(chance.random())
    heir.start("--take-lead")
    took_s = await_so(lambda: serves(planes, heir), "the new one serves")
    return Struck(took_s=took_s, has_moved=True)


FAULTS: dict[str, Callable[[Planes, random.Random], Struck]] = {
    "kill": kill,
    "stop": stop,
    "cut": cut,
    "restart-database": restart_database,
    "stop-briefly": stop_briefly,
    "step-down": step_down,
    "hand-over": hand_over,
}

ORDER = ("kill", "stop", "cut", "restart-database", "stop", "cut", "stop-briefly", "step-down", "stop", "hand-over")
"""What strikes in turn: mostly what leaves a leader behind that does not know that it was replaced."""
