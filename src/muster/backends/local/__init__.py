"""The local backend, for this machine: a detached supervisor for each of its nodes, and one thread that talks to them.

backend      the port: commands in, reports out
news         what was reported and nobody has recorded yet
link         one node's supervisor: found, started, talked to, replaced
whereabouts  where it is
starting     the command that starts it
patience     how long it is waited for
backlog      the commands that it has not acknowledged
greeting     what it says of itself
sweeping     what it left is ended in its place
ending       ended, with everything that it runs
ownership    whose nodes they are, by what is on disk
directory    which worker is on which node, and where gangs meet
attachment   somebody at the terminal of a worker
inventory    this machine as nodes
logs         what workers printed
"""

from muster.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
