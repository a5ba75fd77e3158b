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
    took_ms: int = 0
    """From its step until the last part was on disk; 0 when it is not known."""
    is_durable: bool = False
    """True once it is whole in durable storage as well."""
    problem: str = ""
    """Why it cannot be restored, if a rank has tried in vain."""
    is_removed: bool = False
    """True once a user has removed it. It is remembered for a while, so that a late report does not bring it back."""

    @property
    def is_good(self) -> bool:
        """True when a job can resume from it, as far as is known."""
        return self.is_complete and not self.problem and not self.is_removed
