"""The quantities that can be varied from replay to replay."""

from enum import StrEnum


class Quantity(StrEnum):
    """The name that a user writes and that figures have. A value is the full amount and overrides other options."""

    NODES = "nodes"
    ARRIVALS = "arrivals"
    """How many times as fast as in the trace jobs arrive."""
    RESTART_COST = "restart_cost"
    """In seconds."""
