"""The fault campaign: the production engine in small worlds where everything goes wrong, checked after every event.

    circumstances  a small random cluster and its rules
    workload       random jobs, and how their processes behave
    schedule       everything that comes from outside, drawn from one number
    grounds        simulated backends that know the truth: `processes`, one by one, and whole `gangs`
    courier        the connection, which loses, repeats and delays
    faulty_log     the log, which refuses, loses its answer or is moved away
    present        what must be true at every moment
    history        what must hold from one moment to the next
    partial_gangs  how long a part of a gang may outlive the rest
    trial          one schedule under way
    deeds          letting things happen

`python -m muster.sim.campaign 0..300` runs schedules and prints what was found.
"""

from muster.sim.campaign.campaign import check_schedule
from muster.sim.campaign.violations import Violations

__all__ = ["Violations", "check_schedule"]
