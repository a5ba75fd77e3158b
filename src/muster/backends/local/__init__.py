"""The local backend: a detached supervisor for each node of this machine, and one thread that talks to them.

backend                                the port: commands in, reports out
worker_routing ports                   which worker is on which node, and where gangs meet
rendezvous_services rendezvous_keeper  what gangs meet at that must outlive their nodes, and what keeps it running
link                                   one node's supervisor: found, started, talked to, replaced
supervisor_address starting handshake  where it is, the command that starts it, and what it says about itself
silence_limit backlog                  how long to wait for it, and the commands it has not acknowledged
training_talk                          what is said about training: agreements, stacks, runs that are over
agreements                             lets the ranks of a gang save or leave at the same step
stack_questions                        asks nodes where the processes of a job are
report_queue                           reports that were not polled yet
sweeping ending                        end what a dead supervisor left, or supervisors with everything they run
ownership takeover                     who owns the nodes, and whether a control plane may lead them
inventory                              this machine as nodes
attachment                             a user at the terminal of a worker
job_files                              what jobs left on this machine:
logs pruning                           what workers printed, and how old output is dropped
metrics_files checkpoint_errands       what trainings measured of themselves, and what is in the storage of a run
"""

from muster.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
