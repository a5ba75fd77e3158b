"""A saved state of a training run, as the control plane knows it: which step, whether it is whole, and where it is."""

from muster.model.records import Record


class Checkpoint(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One checkpoint of a job."""

    step: int
    attempt: int
    """The attempt that saved it. A later attempt that comes to the same step saves it anew."""
    world: int
    """How many ranks save a part of it."""
    saved_ms: int
    """When its first part was reported: the work before that need not be done again."""
    ranks: tuple[int, ...] = ()
    """The ranks whose parts are saved, while some are missing; empty once it is complete."""
    is_complete: bool = False
    bytes: int = 0
    cost_ms: int = 0
    """How long training stood still for it, on the rank where that took longest."""
    is_durable: bool = False
    """True once it is whole in durable storage as well."""
    problem: str = ""
    """Why it cannot be restored, if a rank has tried in vain."""
