"""Which running jobs make room for a gang that lacks GPUs.

    proposals        a place for a gang and who leaves it: carried out, and whether it pays
    preemption       one pipeline for tiers, reclaim and turns

Who may be asked:

    victims          running jobs that could leave, and what that costs
    shrinking        workers that elastic jobs could give up
    reclaim_rights   what teams may take back
    turns            jobs of the own tier with a worse place
    fair_position    how the progress of a job compares with what it is due
    last_resort      a guarantee taken back when nothing else is enough

Who leaves:

    candidates       victims by node, and what would be free without them
    victim_rights    which jobs may be asked, and by which right
    departures       what comes free without another eviction
    horizon_rooms    the same with candidates, also in front of promises
    timely_gangs     gangs that reservations do not keep away, because they are gone before
    room_search      the worst leave first
    victim_search    the cheapest leave
    victim_tally     victims that may leave together
    victim_pruning   victims that turn out not to be needed stay
"""
