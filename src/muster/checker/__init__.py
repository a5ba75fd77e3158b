"""`violations(scenario, plan)`: everything in a plan that no plan may do, checked a second time in a simple way.

    facts            the scenario and the plan, indexed for the rules
    checking         all rules, one after another
    lists            nothing is planned twice or forgotten
    seats room       every gang is whole and in an allowed place, and no GPU is given out twice
    limits promises  quotas, and promised starts
    reservations     who may be on nodes that are set aside
    evictions moves  which jobs may be told to leave, and which may move

Knows the model but not how plans are made, so that a mistake there is not repeated here. Slow on purpose: sums are
computed again wherever they are needed.
"""

from muster.checker.checking import violations

__all__ = ["violations"]
