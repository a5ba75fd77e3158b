"""The per-job controller: how an event changes a job, and what must be done about it.

    transitions          from an event to the changed job: the entry point of this package
    waiting              whether a job may start: dependencies, its turn in an array, a user's hold
    dependencies arrays  jobs that wait for other jobs, and arrays of tasks
    seats                which workers sit where, and which come and go in a resize
    gang                 its workers come up, save, exit, vanish with their node
    resizing             it goes on with more or fewer workers, in place or started again
    checkpoints          from saved parts to checkpoints, and what to resume from
    save_interval        how often to save
    verdicts             it has a slow rank, or stands still: noted, or started again
    requests updating    a user asked something of the job, or changed what it asks for
    stopping             cancelled, evicted, out of time, broken: told to leave, and killed if it does not
    endings              an attempt is over: the job is done, retried, or given up
    timing               when the job next needs to be woken
    desired              the commands to send again when a backend may have missed them
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
