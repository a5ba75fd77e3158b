"""The local backend, for this machine: a detached supervisor for each of its nodes, and one thread that talks to them.

backend                        the port: commands in, reports out
directory ports                which worker is on which node, and where gangs meet
link                           one node's supervisor: found, started, talked to, replaced
whereabouts starting greeting  where it is, the command that starts it, and what it says of itself
patience backlog               how long it is waited for, and the commands it has not acknowledged
news                           what was reported and is not recorded yet
sweeping ending                what it left is ended in its place, or everything with it
ownership taking_charge        whose nodes they are, and whether a control plane may lead them
inventory                      this machine as nodes
attachment                     a person at the terminal of a worker
logs pruning                   what workers printed, for readers, and how old output makes room
"""

from muster.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
