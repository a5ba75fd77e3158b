"""A driver of a Ray cluster, which does what Muster's server asks of it: lines of JSON in, a line of JSON out for each.

    python driver_program.py     the first line says where the cluster is, every other line is a call

It needs Ray and the standard library. It ends when its input does, also while Ray does not answer. An answer is
`{"answer": …}`, `{"refused": why}`, or `{"silent": why}` when Ray could not be asked.
"""

import base64
import hashlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.backends.ray.on_ray import keeper
else:
    import keeper  # beside this file, in a Python that has nothing of Muster

NAMESPACE = "muster"
HEAD_S = 3.0
"""How long the head may take to accept a connection."""

ANSWER_S = 3.0
"""How long keepers are waited for. One that has not answered by then is not waited for again until it has."""

MADE_S = 20.0
"""How long a keeper may take to begin. Then Ray has given its devices to others, and it is made anew."""

SETTLE_S = 2.0
"""For how long Ray may still count devices of a keeper that is gone."""

GROW_S = 10.0
"""How old a keeper is at least before it is made anew, to have devices that others have given back."""

BEGIN_S = 12.0
"""How long a request waits for the keepers of its nodes. The server gives a call 20 s."""

Message = dict[str, Any]


class CannotAsk(Exception):
    """Ray cannot be asked."""


class NotPossible(Exception):
    """Ray could be asked, and it is not possible."""


@dataclass
class Kept:
    """The keeper of a node, as far as this driver knows."""

    actor: Any
    since_s: float
    asked: Any = None
    """A question that it has not answered yet."""
    asked_s: float = 0.0
    answer: Message | None = None
    """What it said last; None while it has said nothing."""
    problem: str = ""


class ConnectedCluster:
    """One Ray cluster."""

    def __init__(self, settings: Message) -> None:
        """Connect with it. Raises `CannotAsk`."""
        self._address = str(settings["address"])
        self._mark = str(settings["mark"])
        self._agent = base64.b64decode(settings["agent"])
        self._kept: dict[str, Kept] = {}
        self._missed_s: dict[str, float] = {}
        """Since when nodes have no keeper."""
        self._check_head()
        self._ray = _connected(self._address)
        source = Path(keeper.__file__).read_bytes()
        self._version = hashlib.sha256(source).hexdigest()[:16]
        self._ray.cloudpickle.register_pickle_by_value(keeper)

    def call(self, message: Message) -> Any:
        """Do what a line says."""
        self._check_head()
        if message["call"] == "look":
            return self.look()
        if message["call"] == "submit":
            return self.submit(message["orders"])
        return self.end(message["id"])

    def look(self) -> list[Message]:
        """All nodes that Ray knows, and what their keepers say."""
        nodes, free = self._ray.nodes(), _available()
        named: dict[str, Message] = {}
        for node in sorted(nodes, key=lambda each: (each["NodeID"] not in self._kept, str(each["NodeID"]))):
            if node["Alive"] and _takes_work(node):
                named.setdefault(_name(node), node)  # of two nodes with one name, one is used
        living = {node["NodeID"]: node for node in named.values()}
        for gone in self._kept.keys() - living.keys():
            del self._kept[gone]
        for name, node in living.items():
            if name not in self._kept:
                self._keep(name, node, _gpus(free.get(name, {})))
        self._ask(self._kept.values())
        for name, kept in tuple(self._kept.items()):
            self._renew(name, kept, _gpus(free.get(name, {})))
        told = (node for node in nodes if not node["Alive"] or _takes_work(node))
        return [self._told(node, _gpus(free.get(node["NodeID"], {}))) for node in told]

    def submit(self, orders: Message) -> None:
        """Have the keepers of some nodes begin an allocation, all of them or none."""
        actors = self._keepers_of(orders)
        agent = self._ray.put(self._agent)
        asked = {actors[name].begin.remote(order, agent): name for name, order in orders.items()}
        done, late = self._ray.wait(list(asked), num_returns=len(asked), timeout=ANSWER_S)
        problems = [f"{asked[each]}: {problem}" for each in done if (problem := self._problem(each))]
        if not problems and not late:
            return
        allocation = next(iter(orders.values()))["id"]
        for actor in actors.values():
            actor.end.remote(allocation)  # after the other call, also where that was not answered yet
        if problems:
            raise NotPossible("; ".join(problems))
        raise CannotAsk(f"{', '.join(sorted(asked[each] for each in late))} have not answered for {ANSWER_S:.0f} s")

    def end(self, allocation: str) -> None:
        """Have all keepers end an allocation. Those that hang do it when they are back."""
        asked = [kept.actor.end.remote(allocation) for kept in self._kept.values()]
        if asked:
            self._ray.wait(asked, num_returns=len(asked), timeout=ANSWER_S)

    def _keepers_of(self, orders: Message) -> dict[str, Any]:
        give_up_s = time.monotonic() + BEGIN_S
        while True:
            found = {
                name: kept.actor
                for node in self._ray.nodes()
                if node["Alive"] and (name := _name(node)) in orders
                if (kept := self._kept.get(node["NodeID"])) is not None and kept.answer is not None and not kept.problem
            }
            if len(found) == len(orders):
                return found
            if time.monotonic() > give_up_s:
                missing = ", ".join(sorted(orders.keys() - found.keys()))
                raise NotPossible(f"there is no keeper on {missing}: is it alive in Ray, and are its GPUs free there?")
            self.look()
            time.sleep(0.1)

    def _keep(self, node_id: str, node: Message, free: int) -> None:
        """Find the keeper of a node, or have one made with all devices that are free."""
        name, now_s = f"muster-{self._mark}-{node_id[:16]}", time.monotonic()
        try:
            self._kept[node_id] = Kept(actor=self._ray.get_actor(name, namespace=NAMESPACE), since_s=now_s)
            return
        except ValueError:
            missed_s = self._missed_s.setdefault(node_id, now_s)
        if free < _gpus(node["Resources"]) and now_s - missed_s < SETTLE_S:
            return  # Ray may not have noticed yet that the one before is gone
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 - after the connection

        made = self._ray.remote(NodeKeeper).options(
            name=name,
            namespace=NAMESPACE,
            lifetime="detached",
            num_cpus=0,
            num_gpus=free,
            max_restarts=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
        )
        with suppress(ValueError):  # another driver was faster
            actor = made.remote(f"{self._mark}-{_name(node)}", self._version)
            self._kept[node_id] = Kept(actor=actor, since_s=now_s)
            self._missed_s.pop(node_id, None)

    def _ask(self, all_kept: Iterable[Kept]) -> None:
        """Ask all keepers that owe no answer, and hear those that have answered."""
        fresh, asked = [], {}
        for kept in all_kept:
            if kept.asked is None:
                kept.asked, kept.asked_s = kept.actor.look.remote(), time.monotonic()
                fresh.append(kept.asked)
            asked[kept.asked] = kept
        for questions, wait_s in ((fresh, ANSWER_S), (list(asked), 0)):
            if questions:
                self._ray.wait(questions, num_returns=len(questions), timeout=wait_s)
        done = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)[0] if asked else []
        for each in done:
            asked[each].asked = None
            asked[each].problem = ""
            try:
                asked[each].answer = self._ray.get(each)
            except self._ray.exceptions.RayError as error:
                asked[each].answer = None
                asked[each].problem = _first_line(error)
        for kept in all_kept:
            if kept.asked is not None and kept.answer is not None:
                kept.problem = f"its keeper has not answered for {time.monotonic() - kept.asked_s:.0f} s"

    def _renew(self, node_id: str, kept: Kept, free: int) -> None:
        """Forget a keeper that is dead. End one that never began, is of another version, or could have more devices."""
        age_s, answer = time.monotonic() - kept.since_s, kept.answer
        is_dead = answer is None and kept.asked is None
        is_stuck = answer is None and age_s > MADE_S
        is_other = answer is not None and answer["version"] != self._version
        may_grow = answer is not None and answer["is_idle"] and free > 0 and age_s > GROW_S and kept.asked is None
        if is_stuck or is_other or may_grow:
            self._ray.kill(kept.actor, no_restart=True)
        if is_dead or is_stuck or is_other or may_grow:
            del self._kept[node_id]
            self._missed_s[node_id] = time.monotonic()

    def _told(self, node: Message, free: int) -> Message:
        kept = self._kept.get(node["NodeID"])
        return {
            "name": _name(node),
            "id": node["NodeID"],
            "alive": node["Alive"],
            "because": node["DeathReasonMessage"],
            "address": node["NodeManagerAddress"],
            "resources": node["Resources"],
            "labels": node["Labels"],
            "free_gpus": free,
            "keeper": None if kept is None or kept.problem else kept.answer,
            "problem": "" if kept is None else kept.problem,
        }

    def _problem(self, answer: Any) -> str:
        try:
            return str(self._ray.get(answer))
        except self._ray.exceptions.RayError as error:
            return _first_line(error)

    def _check_head(self) -> None:
        host, _, port = self._address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=HEAD_S).close()
        except OSError as error:
            raise CannotAsk(f"nothing answers at {self._address} ({error}): is Ray's head running there?") from None


class NodeKeeper(keeper.AllocationKeeper):
    """A keeper with the devices that Ray has given to its actor."""

    def __init__(self, name: str, version: str) -> None:
        import ray  # noqa: PLC0415 - on the node

        names = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        numbers = [str(each) for each in ray.get_gpu_ids()]
        super().__init__(name, names if len(names) == len(numbers) and numbers else numbers)
        self._version = version
        self.keep()

    def look(self) -> Message:
        """What there is on this node, and which code says so."""
        return {**super().look(), "version": self._version, "is_idle": self.is_idle}


def _connected(address: str) -> Any:
    """Ray, connected with a cluster."""
    try:
        import ray  # noqa: PLC0415 - or else it is said that there is none
    except ImportError as error:
        raise CannotAsk(
            f"{sys.executable} has no Ray ({error}): install it there in the version of the cluster, or name another "
            "Python with the key `driver` of the engine"
        ) from None
    try:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # noqa: BLE001 - whatever it is, Ray cannot be asked
        raise CannotAsk(f"Ray at {address} does not take a driver from this machine: {_first_line(error)}") from None
    return ray


def _available() -> Message:
    """By node, what Ray has not given to anybody."""
    from ray._private import state  # noqa: PLC0415 - after the connection

    return dict(state.available_resources_per_node())


def _gpus(resources: Message) -> int:
    return int(resources.get("GPU", 0))


def _takes_work(node: Message) -> bool:
    """False for a head that is nothing but a head."""
    return bool(node["Resources"].get("CPU") or node["Resources"].get("GPU"))


def _name(node: Message) -> str:
    """What people have called a node, or else its host: Ray itself names nodes after their address."""
    named, address = node["NodeName"], node["NodeManagerAddress"]
    return str(named if named and named != address else node["NodeManagerHostname"] or address)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


def _lines() -> "SimpleQueue[str]":
    """What the server says, read on a thread of its own, so that the end of the server is seen while Ray hangs."""
    lines: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return lines


def main() -> None:
    """Answer until the server has ended, or the connection with Ray has."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints, too
    lines, cluster = _lines(), None
    while True:
        message = json.loads(lines.get())
        try:
            if cluster is None:
                cluster = ConnectedCluster(message)
                said: Message = {"answer": None}
            else:
                said = {"answer": cluster.call(message)}
        except CannotAsk as silent:
            said = {"silent": str(silent)}
        except NotPossible as refused:
            said = {"refused": str(refused)}
        except Exception as error:  # noqa: BLE001 - the server is told, and begins another driver
            said = {"silent": f"{type(error).__name__}: {_first_line(error)}", "is_over": True}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
