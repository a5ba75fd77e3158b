"""Free states: what a node has left, interned, so that nodes with equal free capacity are computed only once.

A cluster of thousands of nodes has few distinct free states. What fits into a state, and how much filling it harms the
gangs that the cluster could still place, is computed once per (state, ask) and then looked up by number.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muster.core.cluster.node_filter import NodeFilter
from muster.core.cluster.tenancy import CLOSED, ORDINARY, Tenancy, kinds_in
from muster.model.ids import GpuType, PoolName
from muster.model.resources import GPU_MILLI

NO_BOUND = 1 << 30
"""More workers than any gang has. A resource that an ask does not need limits the ask to this number."""


class Hardware(NamedTuple):
    """The part of a free state that does not change while jobs come and go."""

    gpu_type: GpuType
    pool: PoolName
    usable: bool
    suspect: bool
    reserved: bool
    price_milli: int
    gpus: int
    """Working GPUs only."""


class FreeState(NamedTuple):
    """What is left on a node, without saying which node or which devices."""

    hardware: int
    whole: int
    """GPUs that no job uses."""
    partial: tuple[int, ...]
    """Free thousandths of each shared GPU, ascending."""
    cpu_milli: int
    memory_bytes: int
    disk_bytes: int
    tenants: int = 0
    """The mask of the kinds of tenants that the node has."""

    @property
    def free_milli(self) -> int:
        """Free GPU thousandths. What a sole tenant leaves unused is free for no job."""
        return 0 if self.tenants & CLOSED else self.whole * GPU_MILLI + sum(self.partial)


Remains = tuple[int, int, tuple[int, ...], int, int, int, int]
"""A free state as a plain tuple. Making a tuple with named fields would cost more than the lookup itself."""


class Ask(NamedTuple):
    """What one worker needs and where it may go: the unit in which fit is looked up."""

    gpu_milli: int
    gpu_type: GpuType | None
    """None only when the ask has no GPU."""
    cpu_milli: int
    memory_bytes: int
    disk_bytes: int
    pools: tuple[PoolName, ...]
    takes_suspects: bool = True
    """Whether the worker may go to nodes that failed recently."""
    takes_shared: bool = True
    """Whether the worker may go to nodes on which other jobs use a GPU."""
    tenancy: Tenancy = ORDINARY
    where: NodeFilter | None = None
    """The nodes that the worker may go to; None for all. What fits into a state does not depend on it."""
    is_spread: bool = False
    """Whether a node takes only one worker of the gang."""

    @property
    def devices(self) -> int:
        """How many GPU devices one worker touches."""
        return -(-self.gpu_milli // GPU_MILLI)


Rank = tuple[bool, bool, int, int, int]
"""How good a node is for a worker; smaller is better. Fields: suspect, reserved, harm, GPUs left over, price."""


FillRank = tuple[bool, bool, int, int, int]
"""How good a node is to fill up; smaller is better. Fields: suspect, reserved, harm and GPUs left over per worker,
GPUs free now, price."""


class ReferenceShape(NamedTuple):
    """A worker that the cluster should still be able to place, and how much that matters."""

    gpu_milli: int
    gpu_type: GpuType | None
    cpu_milli: int
    memory_bytes: int
    weight: int


class FreeStates:
    """All free states seen so far, and what is known of each. Shared by every fork of a capacity."""

    def __init__(self) -> None:
        self.states: list[FreeState] = []
        self.free_milli: list[int] = []
        """Free GPU thousandths of each state."""
        self._number: dict[Remains, int] = {}
        self._content: list[tuple[object, ...]] = []
        """The content of each state. Ties are broken by content, never by which state was seen first."""
        self.hardware: list[Hardware] = []
        self.has_suspects = False
        """True while a node is suspect. Placement then first tries without suspect nodes."""
        self._hardware_number: dict[Hardware, int] = {}
        self._devices: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, tuple[int, ...]]] = {}
        self._slots: dict[Ask, list[int]] = {}
        self._ranked: dict[tuple[Ask, int], _Ranking] = {}
        self._reference_shapes: tuple[ReferenceShape, ...] = ()
        self._stranded: dict[int, int] = {}
        self._fill: dict[tuple[Ask, int], FillRank] = {}
        self.changes = 0
        """Counts changes of nodes in all capacities that share these states (`Capacity.stamps`)."""

    def number_of_hardware(self, hardware: Hardware) -> int:
        """The number of this hardware, new or known."""
        known = self._hardware_number.get(hardware)
        if known is None:
            known = self._hardware_number[hardware] = len(self.hardware)
            self.hardware.append(hardware)
            self.has_suspects = self.has_suspects or hardware.suspect
        return known

    def number(self, state: Remains) -> int:
        """The number of this state, new or known."""
        known = self._number.get(state)
        if known is None:
            known = self._number[state] = len(self.states)
            made = FreeState(*state)
            self.states.append(made)
            self.free_milli.append(made.free_milli)
            self._content.append((*self.hardware[state[0]], *state[1:]))
        return known

    def devices(self, usable: tuple[int, ...], used: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """How many devices are wholly free, and the free parts of the shared ones, ascending."""
        key = (usable, used)
        known = self._devices.get(key)
        if known is None:
            free = [total - taken for total, taken in zip(usable, used, strict=True)]
            partial = tuple(sorted(left for left in free if 0 < left < GPU_MILLI))
            known = self._devices[key] = (free.count(GPU_MILLI), partial)
        return known

    def slots(self, ask: Ask) -> list[int]:
        """How many workers of this ask fit into each state, by state number."""
        table = self._slots.get(ask)
        if table is None:
            table = self._slots[ask] = []
        for state in self.states[len(table) :]:
            table.append(self._fit(ask, state))
        return table

    def _fit(self, ask: Ask, state: FreeState) -> int:
        hardware = self.hardware[state.hardware]
        if not hardware.usable or hardware.pool not in ask.pools or (hardware.suspect and not ask.takes_suspects):
            return 0
        if state.tenants & ask.tenancy.refuses or (state.whole < hardware.gpus and not ask.takes_shared):
            return 0
        fits = 1 if ask.is_spread else NO_BOUND
        if ask.gpu_milli:
            if hardware.gpu_type != ask.gpu_type:
                return 0
            fits = min(fits, _gpu_fit(ask.gpu_milli, state.whole, state.partial))
        if ask.cpu_milli:
            fits = min(fits, state.cpu_milli // ask.cpu_milli)
        if ask.memory_bytes:
            fits = min(fits, state.memory_bytes // ask.memory_bytes)
        if ask.disk_bytes:
            fits = min(fits, state.disk_bytes // ask.disk_bytes)
        return max(fits, 0)

    def measure_by(self, reference_shapes: Sequence[ReferenceShape]) -> None:
        """Set the reference shapes that harm is measured by. Rankings by older shapes are forgotten."""
        wanted = tuple(reference_shapes)
        if wanted != self._reference_shapes:
            self._reference_shapes = wanted
            self._stranded.clear()
            self._ranked.clear()
            self._fill.clear()

    def ranked(self, ask: Ask, workers: int) -> list[tuple[Rank, tuple[object, ...], int]]:
        """The states that can take `workers` of this ask at once, best first, as (rank, content, state number)."""
        key = (ask, workers)
        ranking = self._ranked.get(key)
        if ranking is None:
            ranking = self._ranked[key] = _Ranking()
        if ranking.seen < len(self.states):
            slots = self.slots(ask)
            fresh = [
                (self.rank(ask, workers, number), self._content[number], number)
                for number in range(ranking.seen, len(self.states))
                if slots[number] >= workers
            ]
            ranking.seen = len(self.states)
            if fresh:
                ranking.order.extend(fresh)
                ranking.order.sort()
        return ranking.order

    def rank(self, ask: Ask, workers: int, number: int) -> Rank:
        """How good a state is for `workers` of this ask."""
        state = self.states[number]
        hardware = self.hardware[state.hardware]
        after = remains(state, ask, workers)
        harm = self._stranded_milli(after) - self._stranded_of(number)
        left_milli = after.whole * GPU_MILLI + sum(after.partial)
        return (hardware.suspect, hardware.reserved, harm, left_milli, hardware.price_milli)

    def fill_rank(self, ask: Ask, number: int) -> FillRank:
        """How good a state is to fill up with workers of this ask, per worker; smaller is better."""
        key = (ask, number)
        known = self._fill.get(key)
        if known is None:
            workers = self.slots(ask)[number]
            suspect, reserved, harm, left_milli, price_milli = self.rank(ask, workers, number)
            state = self.states[number]
            free_milli = state.free_milli
            harm_each = (harm + left_milli) // max(workers, 1)
            known = self._fill[key] = (suspect, reserved, harm_each, free_milli, price_milli)
        return known

    def _stranded_of(self, number: int) -> int:
        known = self._stranded.get(number)
        if known is None:
            known = self._stranded[number] = self._stranded_milli(self.states[number])
        return known

    def _stranded_milli(self, state: FreeState) -> int:
        """Free GPU thousandths that the reference shapes could not use, weighted: the fragmentation measure of FGD."""
        free_milli = state.free_milli
        if not free_milli:
            return 0
        gpu_type = self.hardware[state.hardware].gpu_type
        total = 0
        for mark in self._reference_shapes:
            if mark.gpu_type is None or mark.gpu_type == gpu_type:
                total += mark.weight * _unusable_milli(mark, state, free_milli)
        return total


class _Ranking:
    """A sorted list of states, and how many states it has looked at so far."""

    __slots__ = ("order", "seen")

    def __init__(self) -> None:
        self.order: list[tuple[Rank, tuple[object, ...], int]] = []
        self.seen = 0


def _gpu_fit(gpu_milli: int, whole: int, partial: tuple[int, ...]) -> int:
    """How many workers of this size fit on the free GPUs of one node."""
    if gpu_milli >= GPU_MILLI:
        return whole // (gpu_milli // GPU_MILLI)
    return whole * (GPU_MILLI // gpu_milli) + sum(free // gpu_milli for free in partial)


def _unusable_milli(mark: ReferenceShape, state: FreeState, free_milli: int) -> int:
    """How much of the free GPU capacity of a state a worker like this could never use."""
    if (
        _gpu_fit(mark.gpu_milli, state.whole, state.partial) == 0
        or state.cpu_milli < mark.cpu_milli
        or state.memory_bytes < mark.memory_bytes
    ):
        return free_milli
    if mark.gpu_milli >= GPU_MILLI:
        return sum(state.partial)
    return sum(free for free in state.partial if free < mark.gpu_milli)


def remains(state: FreeState, ask: Ask, workers: int) -> FreeState:
    """What is left of a state after `workers` of this ask were put into it. The caller knows that they fit."""
    whole, partial = state.whole, state.partial
    if ask.gpu_milli >= GPU_MILLI:
        whole -= workers * ask.devices
    elif ask.gpu_milli:
        whole, partial = _share(whole, partial, ask.gpu_milli, workers)
    return FreeState(
        state.hardware,
        whole,
        partial,
        state.cpu_milli - workers * ask.cpu_milli,
        state.memory_bytes - workers * ask.memory_bytes,
        state.disk_bytes - workers * ask.disk_bytes,
        state.tenants | kinds_in(ask.tenancy.adds),
    )


def _share(whole: int, partial: tuple[int, ...], gpu_milli: int, workers: int) -> tuple[int, tuple[int, ...]]:
    """Put fractional workers on the fullest shared GPUs with enough room. Use a free GPU only when there is none."""
    free = sorted(partial)
    for _ in range(workers):
        index = next((i for i, left in enumerate(free) if left >= gpu_milli), None)
        if index is None:
            whole -= 1
            free.append(GPU_MILLI)
            index = len(free) - 1
        free[index] -= gpu_milli
        free.sort()
    return whole, tuple(left for left in free if left)
