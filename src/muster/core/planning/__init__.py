"""`plan(snapshot, now_ms) -> Plan`: what starts, what is evicted, what is promised, and why the rest waits.

    cycle         one plan, tier by tier: placing, promising, displacing, rearranging
    draft         the plan while it is made: what is free, used and promised so far
    placing       where a gang goes
    promising     when it will start, and whether an older promise can be renewed
    displacing    which running jobs make room for it
    rearranging   running jobs move or grow, once all waiting jobs were looked at
    by_rank       plans of policies that preempt inside a tier
    next_cycle    when to plan again although nothing happens
    standstill    when a plan is not needed

Imports point from `cycle` to `draft` along that sentence, and never back.
"""

from muster.core.planning.cycle import plan

__all__ = ["plan"]
