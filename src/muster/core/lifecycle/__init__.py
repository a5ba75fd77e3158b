"""The per-job controller: what an event makes of a job, and what must be done about it.

    waiting      whether a job may start: dependencies, turns in an array, its user's wish
    seats        which workers sit where, and who comes and goes in a resize
    updating     what it asked for is different from now on
    astray       workers of its own that its record does not know of
    gang         its workers come up, save, exit, are resized, vanish with their node
    stopping     cancelled, evicted, out of time, broken: told to leave, and killed when it does not
    endings      an attempt is over: done, tried again, or given up
    timing       when the job next needs to be woken
    standing     what a backend should be doing, for when it may not have heard

`transition` is total: every event in every state has an outcome. Stale events change nothing, and a final state never
changes. Nothing here knows a clock, a backend or another job.
"""

from muster.core.lifecycle.astray import unknown_workers
from muster.core.lifecycle.seats import occupied
from muster.core.lifecycle.standing import standing_commands, standing_kill
from muster.core.lifecycle.timing import due_ms
from muster.core.lifecycle.transitions import created, transition

__all__ = ["created", "due_ms", "occupied", "standing_commands", "standing_kill", "transition", "unknown_workers"]
