"""The fault campaign: the production engine in small worlds full of faults, checked after every event.

    campaign __main__             `check_schedule(seed)`, `check_crowd(seed)`, and the command line for many seeds
    random_cluster workload       a small random cluster with its rules, and random jobs
    schedule                      everything that comes from outside, drawn from one seed
    crowd                         the same for schedules in which many jobs wait for few GPUs
    trial                         one schedule under way
    fault_actions                 what is done to jobs, nodes, the log and the engine
    training_faults               what is done to checkpoints
    reservation_faults            what operators set aside and empty
    verdict_faults                slow ranks, hangs, and probes of nodes that flap
    backends                      backends under test, which know the truth
    process_backend gang_backend  the tested backends: process by process, and whole gangs
    faulty_link                   the connection, which loses, repeats and delays messages
    faulty_log                    the log, which refuses writes, loses its answer or is moved away
    state_invariants              what must be true at each moment
    transition_invariants         what must be true from one moment to the next
    spare_invariants              what must be true of nodes that are kept free
    seat_invariants               what must be true of nodes that jobs want, refuse, or have to themselves
    rank_invariants               what must be true of the ranks of a gang
    checkpoint_invariants         what records say of checkpoints, against what was really saved
    wait_invariants               how long a job may wait in a crowd
    refolding                     what the log folds to, against the state of the engine
    partial_gangs                 how long a part of a gang may outlive the rest
    failover                      schedules in which control planes that share a database are lost and replaced
    simulated_plane               one of them: the production engine and lease, stopped anywhere
    simulated_database            the lease, the log and the nodes that they share
    violations                    what was found wrong

`python -m muster.sim.campaign 0..300` runs schedules and prints what was found.
"""

from muster.sim.campaign.campaign import check_crowd, check_schedule
from muster.sim.campaign.failover import check_failover
from muster.sim.campaign.violations import Violations

__all__ = ["Violations", "check_crowd", "check_failover", "check_schedule"]
