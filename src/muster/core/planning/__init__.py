"""`plan(snapshot, now_ms) -> Plan`: what starts, what is evicted, what is promised, and why the rest waits.

    cycle                                 one plan, tier by tier
    draft                                 the plan while it is made: what is free, used and promised so far

Where a gang goes:

    placement reference_shapes            the domain and nodes whose use harms waiting shapes least

What is promised:

    promises promise_renewal              the earliest start, and whether an older promise can be renewed
    horizons quota_forecast               GPUs that are open to jobs that end in time, and quota at a later time

Which jobs make room:

    proposals                             a place for a gang and who leaves it: carried out, and whether it pays
    preemption                            one pipeline for tiers, reclaim and turns
    victims reclaim_rights                possible victims, and what teams may take back
    candidates                            the victims of a gang by node, and what would be free without them
    room_search victim_search             room in the place of others: the worst leave first, or the cheapest
    departures                            what comes free without another eviction
    turns fair_position                   which jobs leave for others of their tier, and which are ahead of their share
    last_resort                           a guarantee taken back when nothing else is enough
    victim_pruning                        victims that turn out not to be needed stay

What else a plan does:

    consolidation upgrading gpu_swaps     jobs that can resume move
    resizing                              elastic jobs shrink and grow
    next_cycle standstill                 when to plan again although nothing happens, and when a plan is not needed
    by_rank                               plans of policies that preempt inside a tier
"""

from muster.core.planning.cycle import plan

__all__ = ["plan"]
