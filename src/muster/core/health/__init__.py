"""From what nodes measure to verdicts on nodes and GPUs.

limits    for each signal, what is too much, and what is well again
tracks    the last values of one thing, and whether it is well, suspect or bad
course    what becomes of one node: suspect, draining, drained, probation, ready
guarding  never more out of service at once than the operator allows
verdicts  how a verdict and what an operator has decided go together

A thing that is bad comes back only after it has been well inside the limits for a while. Whatever was taken out more
often takes longer to come back.
"""

from muster.core.health.course import Finding, HealthPolicy, LastTest, NodeCase, Wish, wish
from muster.core.health.guarding import guarded
from muster.core.health.limits import LIMITS, Limit, Severity, budget_readings
from muster.core.health.tracks import Track
from muster.core.health.verdicts import as_judged, takes_out

__all__ = [
    "LIMITS",
    "Finding",
    "HealthPolicy",
    "LastTest",
    "Limit",
    "NodeCase",
    "Severity",
    "Track",
    "Wish",
    "as_judged",
    "budget_readings",
    "guarded",
    "takes_out",
    "wish",
]
