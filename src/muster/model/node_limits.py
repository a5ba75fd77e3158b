"""Limits of what runs on a node: supervisors, their workers, and the workers' output. Each with its reason."""

WORKER_PROCESSES = 16_384
"""Processes and threads of one worker, where the kernel can count them: sixty loaders with a thread per core of a large
machine. This is half of the kernel's default, so that a program that forks without end harms no other worker."""

ABSENCE_MARGIN_MS = 5_000
"""How long after a time limit a supervisor acts by itself, so that the control plane can act first."""

CONTROL_PING_MS = 1_500
"""How often a control plane shows each supervisor that it is alive, when it has nothing else to send."""

PINGS_PER_S = 500
"""Pings of a control plane to all supervisors together: a fleet is pinged less often than a few nodes, because each of
them costs the control plane a tenth of a millisecond and more."""

PING_MOST_MS = 10_000
"""The longest time between two pings of a supervisor. An agent tries another connection after twice as long."""

CONTROL_SILENCE_MS = 5_000
"""A control plane that sends nothing for this long counts as away, even while connected: it missed three pings and
probably hangs. A supervisor that is wrong about this only enforces limits that are over anyway. Pings also report a
writer that has made no round for this long."""

BACKEND_NEWS = 20_000
"""Reports that may wait to be recorded. After that no more are taken from supervisors, which keep them. Enough for the
ends of all jobs of the largest cluster at once. More come only while nothing can be written."""

BACKEND_MEASURED = 200_000
"""Measured values that may wait to be looked at: some twenty for each of the workers of the largest cluster."""

MEASURES_SENT = 5_000
"""How many measured steps of a training are sent for one request: more than a screen has columns."""

CHECKPOINT_ERRAND_S = 600
"""How long checkpoints may be read or removed for one request: terabytes take minutes. The request is then given up."""

CHECKPOINT_ERRAND_CHARS = 500
"""How much is passed on of why checkpoints could not be read."""

LOG_SEGMENT_BYTES = 8 << 20
"""One file of a worker's output: small enough to drop the oldest without losing much, large enough to be few."""

LOG_SEGMENTS = 64
"""Files kept of one worker: half a gigabyte, days of a verbose training run. Older output is dropped."""

LOG_TAIL_BYTES = 256 << 10
"""Output that a worker may always keep, even when the disk is nearly full: the end, where the errors are."""

LOGS_JOB_BYTES = 2 << 30
"""Output kept of all workers that one job has on a node: as much as of four workers that fill all their files."""

LOGS_DISK_PART = 10
"""All output together takes at most a tenth of its disk. Each node drops the oldest output of running workers beyond
its part of that. The control plane drops output of ended workers. Training needs the rest of the disk for
checkpoints."""

LOGS_FREE_PART = 20
LOGS_FREE_BYTES = 1 << 30
"""What output leaves free of its disk: one part in this many, but at most this many bytes. The event log needs some of
it."""

LOGS_LEAST_PART = 100
"""One part in this many of the disk may always hold output of ended workers, even when the disk is nearly full: then
something else filled it, and dropping all output would not help for long."""

LOGS_CHECK_BYTES = 1 << 20
"""After this much output a supervisor checks how full the disk is, which costs a few microseconds."""

LOGS_KEPT_S = 3_600
"""Output is kept this long after its last write, even if there is too much, because a user may be reading it. Only a
disk that is nearly full overrides this."""

LOGS_LOOK_MS = 2_000
"""How often the control plane checks how full the disk is."""

LOGS_PRUNE_MS = 3_600_000
"""How often the control plane looks for old output to drop, if the disk does not require it sooner."""

LOGS_TIGHT_MS = 10_000
"""The same while the disk is nearly full. Something else may be filling it, and then there is nothing to drop."""

LOGS_GROWTH_PART = 8
"""Old output is looked for sooner when one part in this many of the space for output was used since the last look.
Looking through all output takes a while, and looking too late costs space."""

LOG_READ_BYTES = 1 << 20
"""The most that one read of a log returns."""

PUMP_BYTES = 64 << 10
"""Bytes read from a worker at once: what a pipe holds. Bounds memory whatever is printed, and treats workers fairly."""

SIDE_COMMANDS_PER_WORKER = 8
"""Commands that people run at once beside a worker, whose memory and processes they share. One person needs few."""

TERMINAL_REPLAY_BYTES = 64 << 10
"""Earlier output that a user sees when attaching to a terminal: a few screens."""

SECRET_BYTES = 64 << 10
"""A certificate chain with its key fits. An environment holds a few of these."""

SCRIPT_VARIABLE_BYTES = 96 << 10
"""A longer command goes to the shell as a file, because Linux takes variables of up to 128 KiB each."""

SUPERVISOR_LINE_BYTES = 16 << 20
"""One message between a control plane and a supervisor: a start that names the largest gang fits."""

SUPERVISOR_BUFFER_BYTES = 64 << 20
"""Unread bytes after which the other side counts as hung."""

SUPERVISOR_ROOM_BYTES = 1 << 20
"""Unread bytes after which a side sends no more until the other side reads. So any number of greetings, reports and
commands is sent piece by piece."""

SUPERVISOR_ENDED_JOBS = 2_000
"""Ended jobs that a supervisor still answers for. A question about an end comes seconds after it, not days."""

SUPERVISOR_JOURNAL_BYTES = 8 << 20
"""When a journal has grown by this much, it is rewritten with only what still matters."""

SUPERVISOR_START_MS = 60_000
"""A supervisor that is not ready this long after its start ends itself. A start takes a tenth of a second, or some
seconds when the supervisor has to end what a predecessor left."""

SUPERVISOR_HELLO_MS = 10_000
"""A supervisor that does not greet within this time after it was found, or stops in the middle of its greeting, is
ended and replaced. Time in which the control plane itself stood still does not count."""

PINGS_MISSED = 3
"""A control plane that says when its next ping comes is away once so many did not come."""

SUPERVISOR_SILENCE_MS = 60_000
"""A connected supervisor that answers no ping for this long counts as hung. Pings are counted, not time, because a
control plane that was paused finds the answers when it goes on."""

AGENT_ABSENT_MS = 8_000
"""A node whose agent is not connected for this long cannot be reached. An agent that lost its connection tries again
after 0.2 s, and after 5 s at the most. It is less than `CATCH_UP_MS`: after a start nothing is placed on a node before
its agent had the time to connect."""

AGENT_DIAL_S = 10.0
"""How long an agent may take to open one more connection, for a user at a terminal."""

ENGINE_LOOK_MS = 2_000
"""How often an engine such as Slurm is asked how its nodes and allocations are. It answers from memory."""

ENGINE_NODES_S = 1.5
"""Nodes are asked about with the next look after this long. Looks at allocations may be far more frequent."""

ALLOCATION_LOOK_MS = 500
"""How often an engine is asked while an allocation is about to begin or to end."""

ENGINE_SILENCE_S = 30.0
"""After how long without an answer the nodes of an engine take no new work. A restart of a controller takes seconds."""

ENGINE_CALL_S = 20.0
"""How long one call to an engine may take. A busy controller answers within seconds."""

ALLOCATION_MARGIN_MS = 600_000
"""How much longer than a job may take its allocation is asked for: for its start, its last reports, and because engines
count minutes. Muster ends jobs by itself; this is for when it cannot."""

ALLOCATION_END_S = 15.0
"""How long an allocation may take to end by itself once nothing of it is needed. Then it is cancelled."""

OUTPUT_SEND_S = 60.0
"""How long the last of what workers have printed may take from the node of an allocation to the control plane. The node
is held until then. What has not arrived by then is lost, and said to be."""

ALLOCATION_SILENCE_S = 120.0
"""How long an agent of a running allocation may be away. It tries to connect every five seconds, so by then its node
hangs or cannot reach the control plane, and the allocation is ended."""

AGENT_RETURN_S = 8.0
"""For how long an agent that has not connected with this control plane yet is waited for before a node that its engine
has lost counts as lost. It tries every five seconds at least."""

ALLOCATION_DOUBT_S = 60.0
"""How long the failure of a worker may wait for the engine's word. Slurm kills after 30 s what it has told to end."""

SUPERVISOR_END_S = 10.0
"""A supervisor that was told to end is killed after this time, with all that it runs. Usually it takes milliseconds."""

SUPERVISOR_PAUSE_MAX_MS = 30_000
"""The longest pause before a supervisor that keeps dying is started again."""

SUPERVISOR_LOG_BYTES = 1 << 20
"""A supervisor's own log is emptied at a start when it is larger than this. It contains little."""

MASTER_PORTS = (20_000, 32_000)
"""The range of the port on which a gang meets: below the ports that the kernel gives out by itself."""

SUPERVISOR_BACKLOG = 100_000
"""Commands that one node has not acknowledged: one per job of the largest queue. More means that it has stopped."""

SHARD_STEPS_KEPT = 4
"""Of how many saves, by step, the reports of an attempt's parts are kept until they are recorded: the newest may break
off on another node, and the one before may be found damaged."""

SHARD_REPORTS_KEPT = 64
"""How many reports on parts of one such save are kept: more than a node has processes, each with its own report."""

CHECKPOINT_REPORTS_KEPT = 8
"""How many reports on uploads, and on damage, of an attempt are kept until they are recorded."""

BOARDS_MOST = 256
"""Boards of one worker: a process for each core of a large machine. Further ones are not read."""

BOARD_LOOK_MS = 1_000
"""How often boards are read. A rank that is slow or hangs is noticed over many steps or seconds, not milliseconds."""

SHARDS_TOGETHER_MS = 200
"""Parts that ranks of a node save within this time are reported together: ranks of a synchronous save end at nearly
the same moment, and a node of eight GPUs then has one report instead of eight."""

METRICS_BYTES = 8 << 20
"""How much of what a job measures of itself is kept for each attempt: a day of lines every second. Older is dropped."""

METRICS_PAUSE_MS = 100
"""Lines of metrics that follow faster are left out: a program writes one each second, in each of its processes."""

PROBE_EVERY_MS = 10_000
"""How often a node measures its health unless the configuration says otherwise: far more often than hardware gets
worse, and cheap enough to cost nothing."""

PROBE_EVERY_LEAST_MS = 1_000
"""Measuring more often than once a second would cost more of a node than it tells."""

PROBE_EVERY_MOST_MS = 3_600_000
"""Measuring less often than once an hour would notice a bad node only when its jobs have failed."""

PROBE_COMMAND_MS = 30_000
"""How long the command that an operator configured as a probe may take. Then it is killed, and that is noted."""

PROBE_OUTPUT_BYTES = 256 << 10
"""What such a command may print in one run: a hundred bytes for each of a few thousand signals."""

RUNTIME_LOOK_MS = 20_000
"""How long a container runtime may take to say that it works, or which containers it has. A client whose service hangs
does not answer at all."""

IMAGE_LOOK_MS = 60_000
"""How long it may take to see whether an image is on the node, on a disk that is busy with a pull."""

PULL_MS = 20 * 60_000
"""How long a pull may take, unless the configuration says otherwise: twenty gigabytes at 20 MB/s. Less than a gang may
take to start."""

PULL_AHEAD_MS = 60 * 60_000
"""How long before a promised start the nodes that it names pull the image: three pulls that take as long as they may,
one after another."""

PULLS_AHEAD_MOST = 4
"""How many images a node pulls ahead at a time, so that a long queue does not take its whole link."""

CONTAINER_END_MS = 60_000
"""How long it may take to remove a container once: the files of a large one are removed too. It is tried again."""

CONTAINER_ENDS_MOST = 5
"""How often the removal of a container whose processes are gone is tried before the end of its worker is reported
without. What is left is removed when the supervisor looks for leftovers."""

LEFTOVERS_LOOK_MS = 10 * 60_000
"""How often a node looks for containers that no worker has any more."""

PULLS_REMEMBERED = 256
"""For how many attempts a node remembers that their image is there, until their workers have started."""

PROBE_ERROR_BYTES = 4 << 10
"""What is read of its standard error, for the note about a failure."""

PROBE_SIGNALS = 1_024
"""Different things that one node may measure: dozens for each of a few dozen GPUs. More come only from a command that
invents names."""

MAX_DRAINED_MILLI = 200
"""Share of a pool that may be out of service by verdicts at once unless the configuration says otherwise, in
thousandths: where more looks bad, a probe is wrong more likely than the nodes."""

NODE_TEST_MS = 30 * 60_000
"""How long the test of a node may take: a burn-in of all GPUs takes minutes. Then it is killed, and has failed."""

COUNTER_WINDOW_MS = 5 * 60_000
"""Over how long the rise of a counter is reported. An error is not forgotten sooner, however often it is looked for."""

UPLOAD_END_MS = 600_000
"""How long an uploader may go on after the last worker of its job has left the node: a checkpoint of a hundred
gigabytes at a gigabit and a half per second. What is not copied then is tried again later."""

UPLOAD_TRY_PAUSE_MS = 600_000
"""The pause before what a job that is over has on this node alone is copied again."""

UPLOAD_TRIES_MOST = 144
"""How often that is tried: for two days at the most, as each try may take ten minutes. Then the checkpoints stay on the
node for as long as those that nobody asks about."""

UPLOAD_PAUSE_MAX_MS = 60_000
"""The longest pause before an uploader that keeps dying is started again."""

UPLOAD_NICE = 10
"""How far uploaders stand back behind workers when the processors are busy."""

UPLOAD_LOG_BYTES = 1 << 20
UPLOAD_LOG_FILES = 4
"""What is kept of the output of an uploader: it says little, and the end matters."""

HOT_KEPT_S = 7 * 86_400
"""How long the hot checkpoints of a run are kept that has no worker on the node and was not heard to be over. A job
that waits longer for its GPUs resumes from durable storage."""

HOT_LOOK_MS = 3_600_000
"""How often a supervisor looks for hot checkpoints that are not kept any more."""

STACKS_BYTES = 64 << 10
"""How much of the stacks of one process is shown: hundreds of frames in dozens of threads."""

STACKS_MS = 2_000
"""How long a process may take to write its stacks. It writes them from a signal handler, even while it hangs."""


def ping_ms(nodes: int) -> int:
    """How often each of so many supervisors is pinged."""
    return min(max(CONTROL_PING_MS, nodes * 1000 // PINGS_PER_S), PING_MOST_MS)


def control_silence_ms(ping_ms: int) -> int:
    """For how long a control plane that pings this often may be silent until it counts as away."""
    return max(CONTROL_SILENCE_MS, PINGS_MISSED * min(ping_ms, PING_MOST_MS))
