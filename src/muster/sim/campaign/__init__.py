"""The fault campaign: the production engine in small worlds full of faults, checked after every event.

    campaign __main__              `check_schedule(seed)`, and the command line for one or many seeds
    circumstances workload         a small random cluster with its rules, and random jobs
    schedule                       everything that comes from outside, drawn from one seed
    trial                          one schedule under way
    fault_actions                  what users, operators and faults do to a trial
    backends                       what the tested backends have in common: they know the truth
    process_backend gang_backend   the tested backends: process by process, and whole gangs
    faulty_link                    the connection, which loses, repeats and delays messages
    faulty_log                     the log, which refuses writes, loses its answer or is moved away
    present history partial_gangs  what must be true at each moment, between moments, and of partial gangs
    violations                     what was found wrong

`python -m muster.sim.campaign 0..300` runs schedules and prints what was found.
"""

from muster.sim.campaign.campaign import check_schedule
from muster.sim.campaign.violations import Violations

__all__ = ["Violations", "check_schedule"]
