"""What is free, node by node, with cheap forks, marks and roll-backs.

A use may lie over another use that has not ended yet (a promise over a running job). Used amounts then add up, and the
free amount is what is left, never below zero. This module uses plain lists of integers and tuples instead of values
with named fields: every decision reads this structure, and profiling showed that it matters. What has another value on
nearly every node is in arrays, because a list of ten thousand different integers takes much longer to copy.
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import accumulate

from muster.core.cluster.free_states import Ask, FreeStates, Hardware
from muster.core.cluster.node_use import Footprint, NodeUse
from muster.core.cluster.slots import SlotView
from muster.core.cluster.tenancy import MOST_TENANTS, SHARED, kinds_in
from muster.core.cluster.tree import Tree
from muster.model.node import Node
from muster.model.policy import Pool
from muster.model.resources import GPU_MILLI

_Change = tuple[int, tuple[int, ...], int, int, int, int, int, int]


class Capacity:
    """The free capacity of every node and domain, and views of it by ask."""

    __slots__ = (
        "_cpu",
        "_disk",
        "_memory",
        "_tenants",
        "_totals",
        "_undo",
        "_used",
        "_views",
        "changed",
        "free_milli",
        "hardware",
        "is_shelved",
        "number",
        "shelves",
        "stamps",
        "states",
        "touched",
        "tree",
        "usable",
    )

    def __init__(self, tree: Tree, states: FreeStates) -> None:
        """Make an empty shell; use `of` or `fork`."""
        self.tree = tree
        self.states = states
        self.changed: list[int] = []
        """Nodes whose free state changed, in the order of the changes. Views catch up from this list."""
        self.touched: list[int] = []
        """Nodes on which anything changed, also uses beyond what the node has. Other forks catch up from this list."""
        self._undo: list[_Change] = []
        self._views: dict[tuple[Ask, int], SlotView] = {}
        self._totals: dict[Ask, tuple[int, int]] = {}
        self.is_shelved = True
        self.usable: list[tuple[int, ...]]
        self.hardware: list[int]
        self._used: list[tuple[int, ...]]
        self._cpu: array[int]
        self._memory: array[int]
        self._disk: array[int]
        self._tenants: list[int]
        self.number: list[int]
        self.stamps: array[int]
        """By node, the number of the change that made it what it is. Forks with the same stamp are equal there."""
        self.shelves: dict[int, list[int]]
        self.free_milli: list[list[int]]

    @classmethod
    def of(cls, tree: Tree, states: FreeStates, pools: dict[str, Pool]) -> "Capacity":
        """The capacity of a cluster on which everything is free."""
        made = cls(tree, states)
        made.usable = [_usable_devices(node) for node in tree.nodes]
        made.hardware = [states.number_of_hardware(_hardware(node, pools)) for node in tree.nodes]
        made._used = [(0,) * node.gpus for node in tree.nodes]
        made._cpu = array("q", [node.cpu_milli for node in tree.nodes])
        made._memory = array("q", [node.memory_bytes for node in tree.nodes])
        made._disk = array("q", [node.disk_bytes for node in tree.nodes])
        made._tenants = [0] * len(tree.nodes)
        made.number = [made._state_number(index) for index in range(len(tree.nodes))]
        made.stamps = array("q", [0] * len(tree.nodes))
        made._shelve_all()
        return made

    def _shelve_all(self) -> None:
        """Put all nodes onto the shelves of their states and sum up the domains."""
        self.is_shelved = True
        self.shelves = {}
        for index, number in enumerate(self.number):
            self.shelves.setdefault(number, []).append(index)
        free_of = {number: self._free_of(number) for number in self.shelves}
        free = list(accumulate([free_of[number] for number in self.number], initial=0))
        self.free_milli = [[free[end] - free[start] for start, end in ranges] for ranges in self.tree.ranges]

    def shelve_as(self, base: "Capacity") -> None:
        """Make the shelves and sums of a fork that has none. The base must be as it was when the fork was made."""
        after = [(index, self.number[index]) for index in dict.fromkeys(self.changed)]
        for index, _ in after:
            self.number[index] = base.number[index]
        self._copy_shelves(base)
        for index, number in after:
            self._shelve(index, number)

    def _copy_shelves(self, base: "Capacity") -> None:
        self.is_shelved = True
        self.shelves = {number: nodes.copy() for number, nodes in base.shelves.items() if nodes}
        self.free_milli = [level.copy() for level in base.free_milli]

    def fork(self, *, shelved: bool = True) -> "Capacity":
        """An independent copy. Views are not copied; they are made again when needed.

        A fork without shelves can count what fits, but cannot choose single nodes. Its changes cost half as much. Call
        `shelve_as` before placing anything on it.
        """
        made = Capacity(self.tree, self.states)
        made.usable = self.usable
        made.hardware = self.hardware
        made._used = self._used.copy()
        made._cpu = self._cpu[:]
        made._memory = self._memory[:]
        made._disk = self._disk[:]
        made._tenants = self._tenants.copy()
        made.number = self.number.copy()
        made.stamps = self.stamps[:]
        made.is_shelved = shelved
        if shelved:
            made._copy_shelves(self)
        return made

    def follow(self, other: "Capacity") -> None:
        """Take over what another fork knows of the hardware. Views are dropped when catching up would cost more."""
        self.usable, self.hardware = other.usable, other.hardware
        self.touched.clear()
        if len(self.changed) > len(self.number):
            self.settle()

    def reset_node(self, index: int, other: "Capacity") -> None:
        """Copy the state of one node from another fork."""
        self._used[index] = other._used[index]
        self._cpu[index] = other._cpu[index]
        self._memory[index] = other._memory[index]
        self._disk[index] = other._disk[index]
        self._tenants[index] = other._tenants[index]
        self.stamps[index] = other.stamps[index]
        self.touched.append(index)
        self._shelve(index, other.number[index])

    def replace_node(self, index: int, node: Node, pools: dict[str, Pool]) -> None:
        """Take over a node that changed in its health state, bad GPUs, CPUs, memory or disk (see `same_place`)."""
        before = self.tree.nodes[index]
        self.tree.nodes[index] = node
        self.usable = self.usable.copy()
        self.hardware = self.hardware.copy()
        self.usable[index] = _usable_devices(node)
        self.hardware[index] = self.states.number_of_hardware(_hardware(node, pools))
        self._set(
            index,
            self._used[index],
            self._cpu[index] + node.cpu_milli - before.cpu_milli,
            self._memory[index] + node.memory_bytes - before.memory_bytes,
            self._disk[index] + node.disk_bytes - before.disk_bytes,
            self._tenants[index],
        )
        self.states.has_suspects = any(self.states.hardware[kind].suspect for kind in self.hardware)
        self.settle()

    def take(self, footprint: Footprint) -> None:
        """Occupy what a job uses."""
        self._use(footprint, 1)

    def give(self, footprint: Footprint) -> None:
        """Free what a job used."""
        self._use(footprint, -1)

    def _use(self, footprint: Footprint, sign: int) -> None:
        for use in footprint:
            index, used = use.node, list(self._used[use.node])
            for device, milli in use.devices:
                used[device] += sign * milli
            self._set(
                index,
                tuple(used),
                self._cpu[index] - sign * use.cpu_milli,
                self._memory[index] - sign * use.memory_bytes,
                self._disk[index] - sign * use.disk_bytes,
                self._tenants[index] + sign * use.tenancy.adds,
            )

    def give_on(self, index: int, uses: Iterable[NodeUse]) -> None:
        """Free what several jobs use on one node, in one step."""
        used = list(self._used[index])
        cpu, memory, disk = self._cpu[index], self._memory[index], self._disk[index]
        tenants = self._tenants[index]
        for use in uses:
            for device, milli in use.devices:
                used[device] -= milli
            cpu, memory, disk = cpu + use.cpu_milli, memory + use.memory_bytes, disk + use.disk_bytes
            tenants -= use.tenancy.adds
        self._set(index, tuple(used), cpu, memory, disk, tenants)

    def mark(self) -> int:
        """A point to which `rollback` returns."""
        return len(self._undo)

    def rollback(self, mark: int) -> None:
        """Undo everything since the mark, newest first."""
        undo = self._undo
        while len(undo) > mark:
            index, used, cpu, memory, disk, tenants, stamp, number = undo.pop()
            self._used[index] = used
            self._cpu[index] = cpu
            self._memory[index] = memory
            self._disk[index] = disk
            self._tenants[index] = tenants
            self.stamps[index] = stamp
            self.touched.append(index)
            self._shelve(index, number)

    def forget_marks(self) -> None:
        """Drop the undo log and keep all changes."""
        self._undo.clear()

    def settle(self) -> None:
        """Keep all changes and drop all journals and views: for a long-lived capacity that nothing catches up from."""
        self._undo.clear()
        self._views.clear()
        self._totals.clear()
        self.changed.clear()
        self.touched.clear()

    def _set(self, index: int, used: tuple[int, ...], cpu: int, memory: int, disk: int, tenants: int) -> None:
        before = (self._used[index], self._cpu[index], self._memory[index], self._disk[index], self._tenants[index])
        self._undo.append((index, *before, self.stamps[index], self.number[index]))
        self._used[index] = used
        self._cpu[index] = cpu
        self._memory[index] = memory
        self._disk[index] = disk
        self._tenants[index] = tenants
        self.states.changes += 1
        self.stamps[index] = self.states.changes
        self.touched.append(index)
        self._shelve(index, self._state_number(index))

    def _state_number(self, index: int) -> int:
        whole, partial = self.states.devices(self.usable[index], self._used[index])
        cpu, memory, disk = self._cpu[index], self._memory[index], self._disk[index]
        tenants = self._tenants[index]
        return self.states.number(
            (
                self.hardware[index],
                whole,
                partial,
                max(0, cpu),
                max(0, memory),
                max(0, disk),
                min(tenants, SHARED) if tenants <= MOST_TENANTS else kinds_in(tenants),
            )
        )

    def _shelve(self, index: int, number: int) -> None:
        """Move a node to the shelf of its new state and update the sums of its domains."""
        before = self.number[index]
        if before == number:
            return
        self.number[index] = number
        self.changed.append(index)
        if not self.is_shelved:
            return
        shelf = self.shelves[before]
        del shelf[bisect_left(shelf, index)]
        insort(self.shelves.setdefault(number, []), index)
        delta = self._free_of(number) - self._free_of(before)
        if delta:
            for level, domain_of in enumerate(self.tree.domain_of):
                self.free_milli[level][domain_of[index]] += delta

    def _free_of(self, number: int) -> int:
        return self.states.free_milli[number]

    def view(self, ask: Ask, group: int = 1) -> SlotView:
        """An up-to-date view of how many workers of this ask (or groups of them) fit where."""
        key = (ask, group)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = SlotView(self, ask, group)
        else:
            view.catch_up()
        return view

    def devices_for(self, index: int, ask: Ask, workers: int) -> list[tuple[int, ...]]:
        """Which devices of a node each of `workers` of this ask gets. The caller knows that they fit. Takes nothing."""
        if not ask.gpu_milli:
            return [()] * workers
        free = [total - used for total, used in zip(self.usable[index], self._used[index], strict=True)]
        if ask.gpu_milli < GPU_MILLI:
            return [(_share_device(free, ask.gpu_milli),) for _ in range(workers)]
        whole = [device for device, left in enumerate(free) if left == GPU_MILLI]
        size = ask.devices
        return [tuple(whole[start : start + size]) for start in range(0, workers * size, size)]

    def total_slots(self, ask: Ask) -> int:
        """How many workers of this ask fit on all nodes together. Counted per state, so it is cheap."""
        known = self._totals.get(ask)
        if known is not None and known[0] == len(self.changed):
            return known[1]
        table = self.states.slots(ask)
        if ask.where is None:
            total = sum([table[number] * len(nodes) for number, nodes in self.shelves.items() if nodes])
        else:
            total = sum([table[self.number[node]] for node in ask.where.nodes])
        self._totals[ask] = (len(self.changed), total)
        return total

    def suits(self, asks: tuple[Ask, ...]) -> list[bool]:
        """For each node, whether its hardware could ever take a worker of one of these asks."""
        good = [
            any((not ask.gpu_milli or kind.gpu_type == ask.gpu_type) and kind.pool in ask.pools for ask in asks)
            for kind in self.states.hardware
        ]
        where = asks[0].where  # A job says once for all of its roles which nodes it accepts.
        if where is None:
            return [good[kind] for kind in self.hardware]
        return [is_allowed and good[kind] for is_allowed, kind in zip(where.allows, self.hardware, strict=True)]

    def free_on(self, index: int) -> int:
        """Free GPU thousandths of one node, whether or not its tenants let another job use them."""
        state = self.states.states[self.number[index]]
        return state.whole * GPU_MILLI + sum(state.partial)

    def free_milli_for(self, ask: Ask) -> int:
        """Free GPU thousandths of the ask's type on nodes that it may use, even where no worker fits into them.

        Next to ordinary tenants they count also for a job that wants nodes for itself: these tenants may leave.
        """
        total, where, refuses = 0, ask.where, ask.tenancy.refuses & ~SHARED
        for number, nodes in self.shelves.items():
            state = self.states.states[number]
            hardware = self.states.hardware[state.hardware]
            if not nodes or state.tenants & refuses:
                continue
            if hardware.usable and hardware.gpu_type == ask.gpu_type and hardware.pool in ask.pools:
                count = len(nodes) if where is None else sum(where.allows[node] for node in nodes)
                total += count * self._free_of(number)
        return total

    def holds(self, footprint: Footprint) -> bool:
        """True when the whole footprint is free now, on usable nodes."""
        for use in footprint:
            usable, used, index = self.usable[use.node], self._used[use.node], use.node
            if not self.states.hardware[self.hardware[index]].usable:
                return False
            if any(usable[device] - used[device] < milli for device, milli in use.devices):
                return False
            if (
                self._cpu[index] < use.cpu_milli
                or self._memory[index] < use.memory_bytes
                or self._disk[index] < use.disk_bytes
                or kinds_in(self._tenants[index]) & use.tenancy.refuses
            ):
                return False
        return True


def _share_device(free: list[int], gpu_milli: int) -> int:
    """The fullest device that still has room for this share. Subtracts the share from `free`."""
    device = min((left, device) for device, left in enumerate(free) if left >= gpu_milli)[1]
    free[device] -= gpu_milli
    return device


def _usable_devices(node: Node) -> tuple[int, ...]:
    return tuple(0 if device in node.bad_gpus else GPU_MILLI for device in range(node.gpus))


def _hardware(node: Node, pools: dict[str, Pool]) -> Hardware:
    pool = pools.get(node.pool)
    return Hardware(
        gpu_type=node.gpu_type,
        pool=node.pool,
        usable=node.state.takes_work,
        suspect=node.state == "suspect",
        reserved=pool is not None and pool.is_reserved,
        price_milli=pool.price_milli if pool is not None else GPU_MILLI,
        gpus=node.gpus - len(node.bad_gpus),
    )
