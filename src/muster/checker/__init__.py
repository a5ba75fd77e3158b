"""`violations(scenario, plan)`: everything in a plan that no plan may do, worked out a second time, plainly.

    facts            the scenario and the plan, by what is asked of them
    checking         all rules, one after another
    lists            nothing is planned twice or forgotten
    seats room       every gang whole and where it may be, and no GPU given out twice
    limits promises  quotas, and promised starts
    evictions moves  who may be told to leave, and who may move

Knows the model and nothing of how plans are made, so that a mistake there is not made here as well. Slow on purpose:
sums are taken anew wherever they are needed.
"""

from muster.checker.checking import violations

__all__ = ["violations"]
