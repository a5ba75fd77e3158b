"""`nodes=60..100:10`: the same trace again and again, with another value of one quantity each time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from math import gcd
from typing import assert_never

from muster.formats.text.units import DURATION_MS_MAX, BadValue, duration_ms, duration_text
from muster.model.errors import InvalidInput
from muster.model.ids import NodeName
from muster.model.limits import NODES_PER_CLUSTER
from muster.model.node import ClusterSpec, Node
from muster.model.records import evolve
from muster.model.trace import Trace
from muster.sim.quantity import Quantity
from muster.sim.replay import Circumstances

STEPS = 100
"""The most steps: more points than a curve needs, and few enough to wait for."""

MOST = 10**9
"""The largest value of any quantity: far beyond any real use, and small enough to be exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that a replay needs besides the policy."""

    trace: Trace
    """As it is in its file. What is replayed is `arriving`."""
    arrivals: Decimal = Decimal(1)
    """How many times as fast as in the file jobs arrive."""
    cluster: ClusterSpec
    circumstances: Circumstances
    varied: tuple[Quantity, float] | None = None
    """The quantity that is varied, and its value here."""

    def __post_init__(self) -> None:
        """Refuse arrivals so slow that the last job would come later than the longest duration a file can have."""
        last_ms = max((job.submit_ms for job in self.trace.jobs), default=0)
        # Multiplied and not divided: a quotient may need more digits than a decimal has.
        if self.arrivals < 1 and last_ms > self.arrivals * DURATION_MS_MAX:
            raise InvalidInput(
                f"arrivals of {self.arrivals} are too slow: the last job would come later than "
                f"{duration_text(DURATION_MS_MAX)} after the first moment of the trace; take a larger number"
            )

    @property
    def arriving(self) -> Trace:
        """The trace with jobs that arrive as fast as `arrivals` says."""
        return self.trace if self.arrivals == 1 else scaled_arrivals(self.trace, self.arrivals)

    def amount(self, quantity: Quantity) -> float:
        """The value of a quantity in this setup."""
        match quantity:
            case Quantity.NODES:
                return len(self.cluster.nodes)
            case Quantity.ARRIVALS:
                return float(self.arrivals)
            case Quantity.RESTART_COST:
                return self.circumstances.habits.restart_cost_ms / 1000
            case _:
                assert_never(quantity)


def variations(text: str, setup: Setup) -> tuple[Setup, ...]:
    """The setups that `key=from..to:step` stands for, in order. Both ends are included."""
    key, _, span = (part.strip() for part in text.partition("="))
    try:
        quantity = Quantity(key.replace("-", "_"))
    except ValueError:
        raise InvalidInput(f"vary: {key!r} cannot be varied; choose from: {', '.join(Quantity)}") from None
    first, last, step = _span(quantity, span)
    return tuple(_varied(quantity, value, setup) for value in _steps(first, last, step))


def scaled_arrivals(trace: Trace, factor: Decimal) -> Trace:
    """The same jobs, arriving `factor` times as fast."""
    jobs = tuple(evolve(job, submit_ms=int(job.submit_ms / factor)) for job in trace.jobs)
    return evolve(trace, jobs=jobs)


def with_nodes(cluster: ClusterSpec, count: int) -> ClusterSpec:
    """The cluster with `count` nodes: the same part of each kind, spread evenly over the same places.

    The racks and all other domains stay, as long as there are nodes for them. Each has more or fewer nodes than before.
    Two of them that had equally many nodes of a kind differ by at most one afterwards.
    """
    if not 1 <= count <= NODES_PER_CLUSTER:
        raise InvalidInput(f"vary: nodes must be between 1 and {NODES_PER_CLUSTER}, not {count}")
    if count == len(cluster.nodes):
        return cluster
    kinds: dict[Node, list[Node]] = {}
    for node in cluster.nodes:
        kinds.setdefault(evolve(node, name=NodeName(""), domains=()), []).append(node)
    unit = len(cluster.nodes) // gcd(*(len(alike) for alike in kinds.values()))
    if count % unit:
        found = " and ".join(f"{len(alike)} {_kind_text(kind)}" for kind, alike in kinds.items())
        problem = f"the cluster has nodes of {len(kinds)} kinds ({found}), whose proportions {count} nodes cannot keep"
        raise InvalidInput(f"vary: {problem}; take multiples of {unit}")
    chosen = [node for alike in kinds.values() for node in _spread(alike, count * len(alike) // len(cluster.nodes))]
    nodes = tuple(evolve(node, name=NodeName(f"n{place}")) for place, node in enumerate(chosen, start=1))
    return evolve(cluster, nodes=nodes)


def _spread(alike: Sequence[Node], count: int) -> list[Node]:
    """`count` nodes in the order of their places. A node may be taken several times."""
    order = _in_turn(alike)
    places = list(dict.fromkeys(node.domains for node in alike))
    taken = [order[place % len(order)] for place in range(count)]
    return sorted(taken, key=lambda node: places.index(node.domains))


def _in_turn(nodes: Sequence[Node], level: int = 0) -> list[Node]:
    """The nodes in an order in which the domains of every level take turns, the outermost first."""
    if level == len(nodes[0].domains):
        return list(nodes)
    domains: dict[str, list[Node]] = {}
    for node in nodes:
        domains.setdefault(node.domains[level], []).append(node)
    rows = zip_longest(*(_in_turn(inside, level + 1) for inside in domains.values()))
    return [node for row in rows for node in row if node is not None]


def _kind_text(kind: Node) -> str:
    """What distinguishes a kind of nodes from others, as far as it fits into a sentence."""
    gpus = f"{kind.gpus} {kind.gpu_type}".strip()
    return f"with {gpus} GPUs in pool {kind.pool}, {kind.state}" + (" with bad GPUs" if kind.bad_gpus else "")


def _varied(quantity: Quantity, value: Decimal, setup: Setup) -> Setup:
    match quantity:
        case Quantity.NODES:
            varied = replace(setup, cluster=with_nodes(setup.cluster, int(value)))
        case Quantity.ARRIVALS:
            if value <= 0:
                raise InvalidInput(f"vary: arrivals must be above 0, not {value}: 2 lets jobs come twice as fast")
            varied = replace(setup, arrivals=value)
        case Quantity.RESTART_COST:
            given = setup.circumstances
            habits = replace(given.habits, restart_cost_ms=int(value * 1000))
            varied = replace(setup, circumstances=replace(given, habits=habits))
        case _:
            assert_never(quantity)
    return replace(varied, varied=(quantity, int(value) if value == int(value) else float(value)))


def _span(quantity: Quantity, span: str) -> tuple[Decimal, Decimal, Decimal]:
    """First, last and step of `60..100:10`. A single value stands for itself."""
    ends, _, step = span.partition(":")
    first, _, last = ends.partition("..")
    low = _number(quantity, first)
    high = _number(quantity, last) if last else low
    by = _number(quantity, step) if step else max(high - low, Decimal(1))
    if high < low or by <= 0:
        raise InvalidInput(f"vary: {quantity}={span} does not go upwards; write for example {_example(quantity)}")
    if high - low >= STEPS * by:
        raise InvalidInput(f"vary: {quantity}={span} has more than {STEPS} steps; take larger ones")
    return low, high, by


def _number(quantity: Quantity, text: str) -> Decimal:
    try:
        if quantity is Quantity.RESTART_COST:
            return Decimal(duration_ms(text)) / 1000
        value = Decimal(text)
    except (InvalidOperation, BadValue):
        raise InvalidInput(
            f"vary: {text!r} is not a value for {quantity}; write for example {_example(quantity)}"
        ) from None
    if not value.is_finite() or not -MOST <= value <= MOST or (quantity is Quantity.NODES and value != int(value)):
        raise InvalidInput(f"vary: {text!r} is not a value for {quantity}; write for example {_example(quantity)}")
    return value


def _example(quantity: Quantity) -> str:
    match quantity:
        case Quantity.NODES:
            span = "60..100:10"
        case Quantity.ARRIVALS:
            span = "0.5..2:0.5"
        case Quantity.RESTART_COST:
            span = f"0s..5m:{duration_text(60_000)}"
        case _:
            assert_never(quantity)
    return f"{quantity}={span}"


def _steps(first: Decimal, last: Decimal, step: Decimal) -> Iterator[Decimal]:
    # Multiplied and not added up: next to a large number a small step is rounded away, and the loop would never end.
    value = first
    for place in range(int((last - first) / step) + 1):
        value = first + place * step
        yield value
    if value < last:
        yield last
