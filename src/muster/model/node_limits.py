"""The limits of what runs on a node: supervisors, their workers, and what those print. Each with its reason."""

WORKER_PROCESSES = 16_384
"""Processes and threads of one worker, where the kernel can count them: sixty loaders with a thread per core of a large
machine, and half of what a kernel has by default, so that a program that forks without end harms nobody else."""

ABSENCE_MARGIN_MS = 5_000
"""How long after a limit a supervisor acts on it by itself: whoever else may act comes first."""

CONTROL_PING_MS = 1_500
"""How often a control plane shows each supervisor that it is alive, when it has nothing else to say."""

CONTROL_SILENCE_MS = 5_000
"""A control plane that says nothing for so long counts as away, also while it is connected: it hangs. It missed three
pings, and a supervisor that thinks so wrongly only keeps limits that are over. Pings say the same of a writer that has
not turned for so long."""

BACKEND_NEWS = 20_000
"""Reports that nobody has recorded yet, before no more are taken from supervisors, which keep them: the ends of the
largest cluster's jobs all at once. More come only while nothing can be written."""

LOG_SEGMENT_BYTES = 8 << 20
"""One file of a worker's output: small enough to drop the oldest without losing much, large enough to be few."""

LOG_SEGMENTS = 64
"""Files kept of one worker: half a gigabyte, days of a chatty training run; older output is dropped."""

LOG_TAIL_BYTES = 256 << 10
"""What a worker may keep of its output at least, also when the disk is nearly full: the end, where errors stand."""

LOGS_JOB_BYTES = 2 << 30
"""Output kept of all workers that one job has on a node: four of the noisiest."""

LOGS_DISK_PART = 10
"""All output together takes a tenth of its disk at most. Of running workers each node drops the oldest beyond its part
of that; of ended ones the control plane does. Training needs the rest for checkpoints."""

LOGS_FREE_PART = 20
LOGS_FREE_BYTES = 1 << 30
"""What output leaves free of its disk: this part, and no more than this much. The log of events needs some of it."""

LOGS_LEAST_PART = 100
"""This part of its disk is output of ended workers that stays also when the disk is nearly full: then others filled it,
and dropping everything would not help for long."""

LOGS_CHECK_BYTES = 1 << 20
"""After so much output a supervisor looks how full the disk is: it costs a few microseconds."""

LOGS_KEPT_S = 3_600
"""Output is kept this long after the last of it was written, also when there is too much: somebody may be reading."""

LOGS_LOOK_MS = 2_000
"""How often the control plane looks how full the disk is."""

LOGS_PRUNE_MS = 3_600_000
"""How often old output is looked for, if the disk does not ask for it sooner."""

LOGS_TIGHT_MS = 10_000
"""The same while the disk is nearly full: it may be others who fill it, and then there is nothing to be found."""

LOGS_GROWTH_PART = 8
"""It does ask for it when so small a part of what output may take was written since: looking through all of it takes a
while, and looking too late costs room."""

LOG_READ_BYTES = 1 << 20
"""The most that one question about a log is answered with."""

PUMP_BYTES = 64 << 10
"""Read from a worker at once: what a pipe holds. Bounds memory whatever is printed, and keeps workers fair."""

TERMINAL_REPLAY_BYTES = 64 << 10
"""What somebody who attaches to a terminal sees of what was there before: a few screens."""

SECRET_BYTES = 64 << 10
"""A certificate chain with its key fits; an environment holds a few of these."""

SCRIPT_VARIABLE_BYTES = 96 << 10
"""A longer command goes to the shell as a file: Linux takes variables of up to 128 KiB each."""

SUPERVISOR_LINE_BYTES = 16 << 20
"""One message between a control plane and a supervisor: a start that names the largest gang fits."""

SUPERVISOR_BUFFER_BYTES = 64 << 20
"""What waits to be read by the other side before it is taken for hung."""

SUPERVISOR_ROOM_BYTES = 1 << 20
"""What waits to be read by the other side before no more is said than it takes: greetings, reports and commands of any
number are told piece by piece."""

SUPERVISOR_ENDED_JOBS = 2_000
"""Ended jobs that a supervisor still answers for. Asking again about an end comes seconds after it, not days."""

SUPERVISOR_JOURNAL_BYTES = 8 << 20
"""When a journal has grown by this much it is written anew with only what still matters."""

SUPERVISOR_START_MS = 60_000
"""A supervisor that cannot be talked to this long after it was started ends itself: it takes a tenth of a second, or
some seconds when it has to end what a predecessor left."""

SUPERVISOR_HELLO_MS = 10_000
"""A supervisor that does not greet within this time after it was found, or says nothing more of its greeting, is ended
and replaced. Time in which the control plane itself stood still does not count."""

SUPERVISOR_SILENCE_MS = 60_000
"""A connected supervisor that answers no ping for so long is taken for hung. Pings are counted, not time: a control
plane that was stopped finds the answers when it goes on."""

SUPERVISOR_END_S = 10.0
"""A supervisor that was told to end, and what it runs, are killed without it after this: it takes milliseconds."""

SUPERVISOR_PAUSE_MAX_MS = 30_000
"""The longest pause before a supervisor that keeps dying is started again."""

SUPERVISOR_LOG_BYTES = 1 << 20
"""A supervisor's own log is begun anew above this; it says little."""

MASTER_PORTS = (20_000, 32_000)
"""Where the port on which a gang meets is taken from: below those that the kernel gives out by itself."""

SUPERVISOR_BACKLOG = 100_000
"""Commands that one node has not acknowledged: every job of the largest queue once. More means that it has stopped."""
