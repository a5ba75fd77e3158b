"""`violations(scenario, plan)`: everything in a plan that no plan may do, worked out a second time, plainly.

Knows the model and nothing of how plans are made, so that a mistake there is not made here as well. Slow on purpose:
sums are taken anew wherever they are needed.
"""

from muster.checker.checking import violations

__all__ = ["violations"]
