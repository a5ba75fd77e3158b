"""The fault campaign: the production engine in small worlds where everything goes wrong, checked after every event.

    campaign __main__              `check_schedule(seed)`, for one or many from the command line
    circumstances workload         a small random cluster with its rules, and random jobs
    schedule                       everything that comes from outside, drawn from one number
    trial                          one schedule under way
    fault_actions                  letting things happen
    backends                       backends under test, which know the truth
    process_backend gang_backend   process by process, and whole gangs
    faulty_link                    the connection, which loses, repeats and delays
    faulty_log                     the log, which refuses, loses its answer or is moved away
    present history partial_gangs  what must be true at every moment, from one to the next, and of parts of gangs
    violations                     what was found wrong

`python -m muster.sim.campaign 0..300` runs schedules and prints what was found.
"""

from muster.sim.campaign.campaign import check_schedule
from muster.sim.campaign.violations import Violations

__all__ = ["Violations", "check_schedule"]
