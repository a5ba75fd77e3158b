"""How much a gang lacks: too few GPUs are free, enough that do not lie together, or too little beside them."""

from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import Ask
from muster.core.cluster.gang import Gang
from muster.core.cluster.tenancy import CLOSED, SHARED
from muster.core.planning.placing.placement import fits
from muster.model.plan import Reason, ReasonCode
from muster.model.resources import GPU_MILLI, gpus_text, typed_gpus_text

BESIDE_GPUS = "beside_gpus"
"""The rule of a gang that lacks CPUs, memory or disk beside GPUs that are free."""


def shortage(
    free: Capacity, later: Capacity, unreserved: Capacity, gang: Gang, level: int, *, tells_reserved: bool
) -> Reason:
    """What a gang lacks that does not fit. `later` is `free` without what it must leave to others before its end.

    `unreserved` is `free` without what it must leave to reservations, which counts unless another reason tells of them.
    Only GPUs on nodes that it may use count as free.
    """
    shortages = []
    for at, choice in enumerate(gang.choices):
        amounts = dict(choice.demand)
        missing_of = [
            (amounts[ask.gpu_type] - free.free_milli_for(ask), number)
            for number, ask in enumerate(choice.asks)
            if ask.gpu_type is not None
        ]
        if missing_of:
            shortages.append((*max(missing_of), at))
    if not shortages:
        return _NO_CPUS
    # Of choices that lack the same, the one in more pools knows more of what is free.
    missing, number, at = min(shortages, key=lambda lack: (lack[0], -len(gang.choices[lack[2]].asks[lack[1]].pools)))
    ask = gang.choices[at].asks[number]
    wanted = sum(milli for gpu_type, milli in gang.choices[at].demand if gpu_type == ask.gpu_type)
    if missing <= 0:
        lacks_cpus = any(fits(free, bare, choice, level) for bare in (_gpus_only(gang),) for choice in bare.choices)
        where = "the nodes they are on lack the CPUs, memory or disk it asks for" if lacks_cpus else ""
        where = where or _not_together(free, ask, gang.parts[number].workers)
        return _scattered(free, ask, wanted - missing, where, lacks_cpus=lacks_cpus)
    left = wanted - missing
    reserved = left - unreserved.free_milli_for(ask)
    promised = max(left - reserved - later.free_milli_for(ask), 0)
    return _too_few(free, ask, _Lack(wanted, missing, promised, reserved if tells_reserved else 0))


class _Lack(NamedTuple):
    """How much a gang wants and how much of it is not free, and what of the free GPUs is kept for others."""

    wanted: int
    missing: int
    promised: int
    reserved: int


def _too_few(free: Capacity, ask: Ask, lack: _Lack) -> Reason:
    left, kind = lack.wanted - lack.missing, str(ask.gpu_type)
    kept = [(lack.promised, "promised to others"), (lack.reserved, "set aside by reservations")]
    return Reason(
        code=ReasonCode.CAPACITY,
        message=f"needs {typed_gpus_text(lack.wanted, kind)}, {gpus_text(left)} {_are(left)} free"
        + "".join(f" and {gpus_text(milli)} of these {what}" for milli, what in kept if milli > 0)
        + _closed_to_it(free, ask),
        would_help=f"{_more(lack.missing + lack.promised + lack.reserved, kind)} coming free",
    )


def _scattered(free: Capacity, ask: Ask, left: int, where: str, *, lacks_cpus: bool) -> Reason:
    return Reason(
        code=ReasonCode.FRAGMENTED,
        rule=BESIDE_GPUS if lacks_cpus else "",
        message=f"{typed_gpus_text(left, str(ask.gpu_type))} {_are(left)} free, but {where}{_closed_to_it(free, ask)}",
        would_help="fewer CPUs, less memory or disk per worker"
        if lacks_cpus
        else "smaller workers, or whole nodes coming free",
    )


def _not_together(free: Capacity, ask: Ask, workers: int) -> str:
    """Why free GPUs do not help: no node has enough for one worker, or too few nodes have, or they are far apart."""
    most, slots = _most_on_a_node(free, ask), free.total_slots(ask)
    who = "it needs" if workers == 1 else "each of its workers needs"
    if most < ask.gpu_milli:
        at_most = f"at most {gpus_text(most)} {_are(most)} free on one node"
        return f"no node has the {gpus_text(ask.gpu_milli)} that {who}: {at_most}"
    if slots < workers:
        room = f"only {slots} of its {workers} workers" if slots else "none of its workers"
        return f"there is room for {room}, as each needs {gpus_text(ask.gpu_milli)} on one node"
    return "not where its workers find enough of them together"


def _most_on_a_node(free: Capacity, ask: Ask) -> int:
    """The most GPU thousandths that are free on one node which the ask may use; whole GPUs if it wants whole ones."""
    most, where, refuses = 0, ask.where, ask.tenancy.refuses & ~SHARED
    for number, nodes in free.shelves.items():
        state = free.states.states[number]
        hardware = free.states.hardware[state.hardware]
        is_right = hardware.usable and hardware.gpu_type == ask.gpu_type and hardware.pool in ask.pools
        if (
            nodes
            and is_right
            and not state.tenants & refuses
            and (where is None or any(map(where.allows.__getitem__, nodes)))
        ):
            shares = 0 if ask.gpu_milli >= GPU_MILLI else max(state.partial, default=0)
            most = max(most, state.whole * GPU_MILLI, shares)
    return most


def _closed_to_it(free: Capacity, ask: Ask) -> str:
    """How many more GPUs of the type its pools have free on nodes that it may not use, and why not; or nothing."""
    whys: dict[str, None] = {}
    total = 0
    for number, nodes in free.shelves.items():
        state = free.states.states[number]
        hardware = free.states.hardware[state.hardware]
        milli = state.whole * GPU_MILLI + sum(state.partial)
        if not milli or not hardware.usable or hardware.gpu_type != ask.gpu_type or hardware.pool not in ask.pools:
            continue
        refused = state.tenants & ask.tenancy.refuses & ~SHARED
        unwanted = 0 if ask.where is None else sum(not ask.where.allows[node] for node in nodes)
        if unwanted:
            whys["it does not accept"] = None
        if refused and unwanted < len(nodes):
            whys["a job has for itself" if refused & CLOSED else "are set aside for others"] = None
        total += milli * (len(nodes) if refused else unwanted)
    if not total:
        return ""
    return f"; {gpus_text(total)} more {_are(total)} free on nodes that {' or that '.join(sorted(whys))}"


def _are(milli: int) -> str:
    return "is" if milli == GPU_MILLI else "are"


def _gpus_only(gang: Gang) -> Gang:
    """The same gang asking for nothing but GPUs."""
    return gang._replace(
        choices=tuple(
            choice._replace(asks=tuple(ask._replace(cpu_milli=0, memory_bytes=0, disk_bytes=0) for ask in choice.asks))
            for choice in gang.choices
        )
    )


def _more(milli: int, kind: str) -> str:
    amount, _, what = typed_gpus_text(milli, kind).partition(" ")
    return f"{amount} more {what}"


_NO_CPUS = Reason(
    code=ReasonCode.CAPACITY,
    message="no node that it may use has enough free CPUs, memory or disk",
    would_help="smaller workers, or jobs on these nodes ending",
)
