"""The per-job controller: what an event makes of a job, and what must be done about it.

    transitions          from an event to what it makes of a job: the door to this package
    waiting              whether a job may start: dependencies, its turn in an array, a user's hold
    dependencies arrays  jobs that wait for others, and arrays of tasks
    seats                which workers sit where, and which come and go in a resize
    gang                 its workers come up, save, exit, are resized, vanish with their node
    checkpoints          what to resume from, how often to save
    updating             what it asked for is different from now on
    stopping             cancelled, evicted, out of time, broken: told to leave, and killed when it does not
    endings              an attempt is over: done, tried again, or given up
    timing               when the job next needs to be woken
    desired              what a backend should be doing, for when it may not have heard
    found_gangs          workers of a job that its record does not know

`transition` is total: every event in every state has an outcome. Stale events change nothing, and a final state never
changes. Nothing here knows a clock, a backend or another job.
"""

from muster.core.lifecycle.desired import desired_commands, desired_kill
from muster.core.lifecycle.found_gangs import unknown_workers
from muster.core.lifecycle.seats import occupied
from muster.core.lifecycle.timing import due_ms
from muster.core.lifecycle.transitions import created, transition

__all__ = ["created", "desired_commands", "desired_kill", "due_ms", "occupied", "transition", "unknown_workers"]
