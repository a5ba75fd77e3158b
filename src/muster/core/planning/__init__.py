"""`plan(snapshot, now_ms) -> Plan`: what starts, what yields, what is promised, and why the rest waits.

    cycle                              one plan, tier by tier
    draft                              the plan while it is made: what is free, used and promised so far

Where a gang goes:

    placing reference_shapes           the domain and the nodes, by the harm to the shapes that wait

What is promised:

    promises promise_renewal           the earliest start, and whether an older promise still stands
    horizons quota_forecast            what is free for jobs that end in time: of GPUs and of quota

Who makes room:

    preemption                         one pipeline for tiers, reclaim and turns
    victims claims search              who could leave, what teams may take back, and the cheapest set of victims
    departures                         what comes free without asking
    turns fair_position                whose turn is over, and who is ahead of what it is due
    last_resort                        a guarantee taken back when nothing else is enough
    victim_pruning                     victims that are not needed after all stay

What is done with the rest:

    consolidation upgrading gpu_swaps  jobs that can resume move
    resizing                           elastic jobs shrink and grow
    waking                             when to plan again although nothing happens
    by_rank rank_preemption            plans of policies that preempt inside a tier
"""

from muster.core.planning.cycle import plan

__all__ = ["plan"]
