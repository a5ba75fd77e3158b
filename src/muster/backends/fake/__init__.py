"""A simulated backend: gangs follow a script on a virtual clock that the caller moves.

    script                  how the workers of an attempt behave
    process                 one worker of one attempt, and what is known about a job
    pretended_nodes         what is asked of nodes besides commands
    backend                 the port
    checkpoint_files        which parts of checkpoints exist where, and which are intact
    training                the port with gangs that save by steps
    supervision supervised  supervisors that die, and the port with them

Deterministic: the same commands and the same moves of the clock give the same reports in the same order.
"""

from muster.backends.fake.backend import FakeBackend
from muster.backends.fake.script import KILLED, GangScript, ShardScript

__all__ = ["KILLED", "FakeBackend", "GangScript", "ShardScript"]
