"""What can be varied from replay to replay."""

from enum import StrEnum


class Quantity(StrEnum):
    """By the name that a user writes and that figures have. Each is a whole amount, whatever other options say."""

    NODES = "nodes"
    ARRIVALS = "arrivals"
    """How many times as fast as in the trace jobs come."""
    RESTART_COST = "restart_cost"
    """In seconds."""
