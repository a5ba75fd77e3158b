"""Where a gang goes: the smallest domain that fits, the fullest such domain, the least harm inside it.

A search changes nothing: it returns a seating, and the caller takes it. Ranks are numbered along the topology tree,
so neighbours in a ring are neighbours in the network.
"""

from bisect import bisect_left

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import Ask
from muster.core.cluster.gang import Choice, Gang, RolePart
from muster.core.cluster.node_use import Footprint, NodeUse, per_device
from muster.core.cluster.slots import SlotView
from muster.core.cluster.tenancy import SHARED, UNSEEN
from muster.model.job import Placement, Worker
from muster.model.limits import DOMAINS_TRIED
from muster.model.resources import GPU_MILLI

Seats = list[tuple[int, int]]
"""(node number, workers) pairs."""


class Seating:
    """A whole gang on exact devices, and what that occupies."""

    __slots__ = ("footprint", "workers")

    def __init__(self, workers: Placement, footprint: Footprint) -> None:
        self.workers = workers
        self.footprint = footprint


def place(capacity: Capacity, gang: Gang, choice: Choice, widest: int, first: tuple[int, ...] = ()) -> Seating | None:
    """Seat the whole gang inside one domain of the widest level or a smaller one; None when it does not fit.

    `first` are nodes to use before others, because surviving workers ran there. Gangs with several roles or with
    tensor-parallel groups ignore it. Suspect nodes are used only by a gang that fits nowhere without them.
    """
    if capacity.states.has_suspects:
        careful = choice._replace(asks=tuple(ask._replace(takes_suspects=False) for ask in choice.asks))
        seating = _place(capacity, gang, careful, widest, first)
        if seating is not None:
            return seating
    return _place(capacity, gang, choice, widest, first)


def _place(capacity: Capacity, gang: Gang, choice: Choice, widest: int, first: tuple[int, ...]) -> Seating | None:
    if len(gang.parts) > 1:
        return _place_roles(capacity, gang, choice, widest)
    part, ask = gang.parts[0], choice.asks[0]
    seats = _near(capacity, part, ask, widest, first) if first else None
    if seats is None:
        seats = _find_seats(capacity, part, ask, widest)
    if seats is None:
        return None
    workers, uses = seat(capacity, part, ask, seats, first_rank=0)
    return Seating(workers=tuple(workers), footprint=tuple(uses))


def fits(capacity: Capacity, gang: Gang, choice: Choice, widest: int) -> bool:
    """True when the gang could be seated. With one role, this is cheaper than seating it."""
    if len(gang.parts) > 1:
        return _place_roles(capacity, gang, choice, widest) is not None
    part, ask = gang.parts[0], choice.asks[0]
    if capacity.is_shelved and capacity.total_slots(ask) < part.workers:
        return False
    if widest == 0 and part.group == 1 and capacity.is_shelved:
        return True
    view = capacity.view(ask, part.group)
    needed = needed_in(view, part, widest)
    return any(count >= needed for count in view.counts(widest))


def _find_seats(capacity: Capacity, part: RolePart, ask: Ask, widest: int) -> Seats | None:
    node = one_node(capacity, ask, part.workers, 0, len(capacity.tree.nodes))
    if node is not None:
        return [(node, part.workers)]
    if capacity.total_slots(ask) < part.workers:
        return None
    view = capacity.view(ask, part.group)
    for level in range(capacity.tree.node_level - 1, widest - 1, -1):
        needed = needed_in(view, part, level)
        best = min(
            ((count, domain) for domain, count in enumerate(view.sums[level]) if count >= needed),
            default=None,
        )
        if best is not None:
            return sorted(_fill(capacity, view, level, best[1], needed, part.workers))
    return None


def needed_in(view: SlotView, part: RolePart, level: int) -> int:
    """What a domain of this level must have room for, in the unit the view counts there."""
    return -(-part.workers // part.group) if level <= view.group_level else part.workers


def one_node(capacity: Capacity, ask: Ask, workers: int, start: int, end: int) -> int | None:
    """The best single node in a range for this many workers: least harm, then the fullest domain around it."""
    for _, _, number in capacity.states.ranked(ask, workers):
        shelf = capacity.shelves.get(number)
        if shelf and ask.where is not None:
            shelf = [node for node in shelf if ask.where.allows[node]]
        if shelf:
            low, high = bisect_left(shelf, start), bisect_left(shelf, end)
            if low < high:
                return _in_fullest_domain(capacity, shelf, low, high)
    return None


def _in_fullest_domain(capacity: Capacity, shelf: list[int], low: int, high: int) -> int:
    """Of equal nodes, the one whose surroundings are used most, so that empty racks and blocks stay empty."""
    tree = capacity.tree
    for level in range(1, tree.node_level):
        if high - low == 1:
            break
        domain_of, ranges, free_milli = tree.domain_of[level], tree.ranges[level], capacity.free_milli[level]
        best: tuple[int, int, int] | None = None
        at = low
        while at < high:
            domain = domain_of[shelf[at]]
            after = bisect_left(shelf, ranges[domain][1], at, high)
            if best is None or free_milli[domain] < best[0]:
                best = (free_milli[domain], at, after)
            at = after
        if best is not None:
            low, high = best[1], best[2]
    return shelf[low]


def _fill(capacity: Capacity, view: SlotView, level: int, domain: int, units: int, workers: int) -> Seats:
    """Distribute workers over a domain that has room: over few sub-domains, and there over the nodes harmed least."""
    tree = capacity.tree
    if level == view.group_level:
        units = min(units * view.group, workers)
    if level == tree.node_level:
        return [(domain, units)]
    if level + 1 == tree.node_level:
        start, end = tree.ranges[level][domain]
        return _fill_nodes(capacity, view, start, end, units, workers)
    seats: Seats = []
    inner = [(view.sums[level + 1][child], child) for child in tree.children(level, domain)]
    unit_workers = view.group if level + 1 <= view.group_level else 1
    while units > 0:
        count, child = min((entry for entry in inner if entry[0] >= units), default=max(inner, key=_widest_first))
        inner.remove((count, child))
        share = min(count, units)
        seats += _fill(capacity, view, level + 1, child, share, min(share * unit_workers, workers))
        units -= share
        workers -= share * unit_workers
    return seats


def _widest_first(entry: tuple[int, int]) -> tuple[int, int]:
    return (entry[0], -entry[1])


def _fill_nodes(capacity: Capacity, view: SlotView, start: int, end: int, units: int, workers: int) -> Seats:
    """Fill nodes one by one, least harm first. Units are groups when a group stays inside a node."""
    per_unit = view.group if view.group_level == capacity.tree.node_level else 1
    open_nodes = [(node, count) for node, count in enumerate(view.nodes[start:end], start) if count]
    harm = capacity.states.fill_rank
    # Equal nodes are taken from the end. Gangs inside one node start at the front, so the two kinds keep apart.
    open_nodes.sort(key=lambda entry: (harm(view.ask, capacity.number[entry[0]]), -entry[0]))
    seats: Seats = []
    for node, count in open_nodes:
        share = min(count, units)
        seats.append((node, min(share * per_unit, workers)))
        units -= share
        workers -= share * per_unit
        if units <= 0:
            break
    return seats


def _near(capacity: Capacity, part: RolePart, ask: Ask, widest: int, first: tuple[int, ...]) -> Seats | None:
    """Seat a gang around the nodes where its workers survived: on these first, then as close by as possible."""
    if part.group > 1:
        return None
    view = capacity.view(ask)
    tree = capacity.tree
    for level in range(tree.node_level - 1, widest - 1, -1):
        domain = tree.domain_of[level][first[0]]
        start, end = tree.ranges[level][domain]
        if view.sums[level][domain] < part.workers:
            continue
        kept = [node for node in first if start <= node < end]
        seats: Seats = []
        left = part.workers
        for node in (*kept, *(node for node in range(start, end) if node not in kept)):
            share = min(view.nodes[node], left)
            if share:
                seats.append((node, share))
                left -= share
        return sorted(seats)
    return None


def seat(
    capacity: Capacity, part: RolePart, ask: Ask, seats: Seats, first_rank: int
) -> tuple[list[Worker], list[NodeUse]]:
    """Give exact devices to every worker of one role."""
    workers: list[Worker] = []
    uses: list[NodeUse] = []
    share = ask.gpu_milli if 0 < ask.gpu_milli < GPU_MILLI else None
    milli = GPU_MILLI if share is None else share
    rank = first_rank
    for node, count in seats:
        name = capacity.tree.nodes[node].name
        devices = capacity.devices_for(node, ask, count)
        for gpus in devices:
            workers.append(Worker(rank=rank, role=part.role, node=name, gpus=gpus, share_milli=share))
            rank += 1
        uses.append(
            NodeUse(
                node,
                per_device([(device, milli) for gpus in devices for device in gpus]),
                count * ask.cpu_milli,
                count * ask.memory_bytes,
                count * ask.disk_bytes,
                ask.tenancy,
            )
        )
    return workers, uses


def _place_roles(capacity: Capacity, gang: Gang, choice: Choice, widest: int) -> Seating | None:
    """Seat several roles in the smallest domain that takes them all, each seeing what the others took."""
    tree = capacity.tree
    for level in range(tree.node_level, widest - 1, -1):
        for domain in _domains_for_roles(capacity, gang, choice, level):
            seating = _roles_in(capacity, gang, choice, level, domain)
            if seating is not None:
                return seating
    return None


def _domains_for_roles(capacity: Capacity, gang: Gang, choice: Choice, level: int) -> list[int]:
    """Domains in which every role fits on its own, tightest first."""
    views = [capacity.view(ask, part.group) for part, ask in zip(gang.parts, choice.asks, strict=True)]
    count = len(capacity.tree.nodes) if level == capacity.tree.node_level else len(capacity.tree.ranges[level])
    room: list[tuple[int, int]] = []
    for domain in range(count):
        total = 0
        for part, view in zip(gang.parts, views, strict=True):
            counted = view.count(level, domain)
            if counted < needed_in(view, part, level):
                break
            total += counted
        else:
            room.append((total, domain))
    return [domain for _, domain in sorted(room)[:DOMAINS_TRIED]]


def _roles_in(capacity: Capacity, gang: Gang, choice: Choice, level: int, domain: int) -> Seating | None:
    """Seat all roles in one domain or none. Tries three orders: the scarcest, largest or smallest role first."""
    scarcity = [
        (capacity.view(ask, part.group).count(level, domain) * part.group // part.workers, index)
        for index, (part, ask) in enumerate(zip(gang.parts, choice.asks, strict=True))
    ]
    largest = sorted(range(len(gang.parts)), key=lambda i: (-choice.asks[i].gpu_milli, -choice.asks[i].cpu_milli, i))
    orders = ([index for _, index in sorted(scarcity)], largest, largest[::-1])
    for order in dict.fromkeys(tuple(order) for order in orders):
        seating = _roles_in_order(capacity, gang, choice, level, domain, order)
        if seating is not None:
            return seating
    return None


def _roles_in_order(
    capacity: Capacity, gang: Gang, choice: Choice, level: int, domain: int, order: tuple[int, ...]
) -> Seating | None:
    """Seat the roles one after another, each seeing what the others took. Leaves the capacity as it was."""
    ranks = [sum(part.workers for part in gang.parts[:index]) for index in range(len(gang.parts))]
    mark = capacity.mark()
    workers: list[Worker] = []
    uses: list[NodeUse] = []
    for index in order:
        part, ask = gang.parts[index], choice.asks[index]
        view = capacity.view(ask, part.group)
        needed = needed_in(view, part, level)
        if view.count(level, domain) < needed:
            capacity.rollback(mark)
            return None
        seats = sorted(_fill(capacity, view, level, domain, needed, part.workers))
        placed, used = seat(capacity, part, ask, seats, ranks[index])
        # A gang that wants its nodes for itself shares them among its roles.
        capacity.take(tuple(used) if not ask.tenancy.refuses & SHARED else tuple(map(_unseen, used)))
        workers += placed
        uses += used
    capacity.rollback(mark)
    return Seating(workers=tuple(sorted(workers, key=lambda worker: worker.rank)), footprint=merged(uses))


def merged(uses: list[NodeUse]) -> Footprint:
    """One entry per node, in node order."""
    by_node: dict[int, NodeUse] = {}
    for use in uses:
        known = by_node.get(use.node)
        by_node[use.node] = use if known is None else _sum(known, use)
    return tuple(use for _, use in sorted(by_node.items()))


def _sum(one: NodeUse, other: NodeUse) -> NodeUse:
    return NodeUse(
        one.node,
        per_device(one.devices + other.devices),
        one.cpu_milli + other.cpu_milli,
        one.memory_bytes + other.memory_bytes,
        one.disk_bytes + other.disk_bytes,
        one.tenancy,
    )


def _unseen(use: NodeUse) -> NodeUse:
    return NodeUse(use.node, use.devices, use.cpu_milli, use.memory_bytes, use.disk_bytes, UNSEEN)
