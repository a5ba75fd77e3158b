"""The settings that are tried, one at a time around the present policy.

Only settings whose meaning an operator knows are tried, with few values each. The values are far apart: what a finer
step would gain on one history it would not gain on the next.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muster.model.policy import DAY_MS, HOUR_MS, MINUTE_MS, Order, Policy
from muster.model.records import evolve

Value = bool | int | Order
Change = tuple[str, Value]
"""A field of the policy and its new value."""


@dataclass(frozen=True, slots=True)
class Tunable:
    """A field of the policy that is tried with other values."""

    field: str
    values: tuple[Value, ...]
    matters: Callable[[Policy], bool] = lambda _: True
    """False for a policy under which the field changes no decision."""


def _preempts(policy: Policy) -> bool:
    return policy.preemption


TUNABLES = (
    Tunable("turns", (True, False), _preempts),
    Tunable("order", (Order.FAIR, Order.FIFO)),
    Tunable("hold_depth", (1, 4, 16)),
    Tunable("starvation_limit_ms", (6 * HOUR_MS, DAY_MS, 3 * DAY_MS)),
    Tunable("min_runtime_ms", (2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS), _preempts),
    Tunable("preemptions_per_team_hour", (30, 120, 480), _preempts),
    # Without backfill GPUs stay idle on every history. So it is tried where it is off, and stays where it is on.
    Tunable("backfill", (True,)),
)
"""In the order in which they are tried."""


def single_changes(present: Policy) -> list[Change]:
    """Every change of one setting that is tried, without those that leave the policy as it is."""
    return [
        (tunable.field, value)
        for tunable in TUNABLES
        if tunable.matters(present)
        for value in tunable.values
        if value != getattr(present, tunable.field)
    ]


def changed(present: Policy, changes: tuple[Change, ...]) -> Policy:
    """The present policy with these changes."""
    fields: dict[str, Any] = dict(changes)
    return evolve(present, **fields)


def replays_most(present: Policy) -> int:
    """The most replays that a search needs: the present policy, every change alone, combinations, and two to judge."""
    changes = single_changes(present)
    return 1 + len(changes) + len({field for field, _ in changes}) - 1 + 2
