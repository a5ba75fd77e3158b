"""What was concluded about a running job: which of its ranks are slow, and whether it stands still."""

from muster.model.ids import NodeName
from muster.model.records import Record


class Straggler(Record, frozen=True, kw_only=True):
    """A rank that is persistently slower than those that do the same work."""

    rank: int
    """The rank of the framework: one for each process."""
    worker: int
    """The rank of the worker that the process belongs to."""
    node: NodeName
    gpus: tuple[int, ...] = ()
    """The devices that it uses, as far as that is known: its own, or all of its worker."""
    slowdown_milli: int
    """Its busy time over that of its peers, in thousandths."""
    since_ms: int
    steps: int = 0
    """In how many steps this was seen before it was said."""
    usual_milli: int = 0
    """The same ratio for its node in earlier attempts; 0 when none is known."""


class Hang(Record, frozen=True, kw_only=True):
    """No rank has made a step for much longer than a step takes."""

    since_ms: int
    """When the last step was seen."""
    ranks: tuple[int, ...]
    """Those that the others wait for; all when that cannot be told."""
    nodes: tuple[NodeName, ...] = ()
    """Where these are; empty when it cannot be told which ranks are to blame."""
    step: int = 0
    """The last step that any rank has made."""
