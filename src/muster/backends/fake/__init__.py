"""A simulated backend: gangs follow a script on a virtual clock that the caller moves.

    script                  how the workers of an attempt behave
    process                 one worker of one attempt, and what is known about a job
    backend                 the port
    supervision supervised  supervisors that die, and the port with them

Deterministic: the same commands and the same moves of the clock give the same reports in the same order.
"""

from muster.backends.fake.backend import FakeBackend
from muster.backends.fake.script import KILLED, GangScript

__all__ = ["KILLED", "FakeBackend", "GangScript"]
