"""Bounds on what clients send and ask for, each with its reason. A name ends in its unit. Others are in `limits`."""

JOB_BODY_BYTES = 512 * 1024
"""What a submission may send: a hundred times a long job file. A longer script is a file that the job reads."""

JOB_TEXT_CHARS = 256 * 1024
"""A job file that is sent as text: with every second character escaped it fits into a body."""

PAGE_SPEC_CHARS = 512 * 1024
"""Characters of job files in one page of jobs: a page of long scripts ends early, as one of few matches does."""

BODY_BYTES = 256 * 1024
"""What any other request may send: a whole list of tiers or pools fits, and is read in a few milliseconds."""

BODY_ERRORS = 20
"""Mistakes in a body that are told one by one; more would scroll the first ones away."""

JOB_FILE_VALUES = 20_000
"""Values in a job file that is sent as text: every list of a job filled to its bound, and read in a fifth of a second.
Without a bound 0.8 MB of brackets take three seconds."""

JOB_INLINE_BYTES = 4 * 1024
JOB_INLINE_TEXT_CHARS = 1024
"""A job file up to this size, as an object and as text, is read at once: that takes two milliseconds at worst. Longer
ones are read by a process of their own, where nobody waits for them but who sent them."""

JOB_READERS_MAX = 4
"""Processes that read job files; there is one for every two processors, so that others find the rest free."""

JOB_READ_CPU_S = 3.0
"""Processor time that reading one job file may take before its process is ended: the longest that fit take a tenth."""

JOB_READ_S = 30.0
"""The same by the clock, with the start of the process: on a machine that is busy with jobs both take their time."""

JOB_READS_WAITING = 32
JOB_READS_PER_CALLER = 2
"""Long job files that are read or wait to be read, of all callers and of one."""

JOB_READER_BYTES = 1 << 30
"""Memory of a process that reads job files."""

JOB_READER_FILES = 1_000
"""Job files after which a process that reads them is replaced: what it may have leaked is gone with it."""

HEAD_BYTES = 32 * 1024
HEAD_LINES = 100
"""The request line and headers of one request, in all: five times what browsers and proxies send."""

HEAD_S = 15.0
"""How long a client may take from its first byte, or from when it connected, until its headers are complete."""

BODY_S = 60.0
"""How long a client may take to send a body: the longest at 35 KB a second."""

CONNECTIONS = 2_048
"""Connections that are open at once: every stream that may be, and some hundreds that come and go."""

CONNECTIONS_PER_ADDRESS = 1_024
"""Of one client address, behind which a login node or a proxy may stand. The connection that was idle for longest makes
room for a new one, so that nobody is kept out by connections that somebody only holds."""

DESCRIPTORS_KEPT = 256
"""Open files that connections leave to the rest of the server: the database, supervisors, logs."""

REQUESTS_PER_S = 600
REQUESTS_AT_ONCE = 2_400
"""Of one subject, on average and after a pause: twice the rate that the benchmark of submissions holds. A long body
counts as several requests, and so does one that was denied."""

REQUEST_BYTES = 2 * 1024
"""Of a body, what counts as one more request: what is submitted is kept, and 600 of these a second are 1.2 MB/s."""

DENIED_REQUESTS = 10
"""What a request counts as that is answered with 401, 403 or 404."""

STRANGERS_PER_S = 20
STRANGERS_AT_ONCE = 200
"""Requests without a token that is known, by client address: who mistypes a token is told so, who guesses is slowed."""

ADDRESSES_REMEMBERED = 10_000
"""Subjects and addresses whose rates are known: those that asked for nothing for longest are forgotten first."""

THROTTLED_S = 0.25
"""How long somebody who asks too often waits to be told so: a loop that does not listen becomes a slow one."""

TURNS = 8
TURNS_EACH = 1
TURNS_ALONE = 32
"""Requests that are being answered at once: so many of all subjects, and of each subject so many whatever the others
do. A newcomer waits behind a few requests, not behind everything that a busy neighbour has asked for. One subject that
has the server to itself has more: many submissions are made durable with one write."""

TURNS_WAITING = 256
"""Requests of one subject that wait for their turn."""

DENIALS_S = 60.0
"""Denials of one token for one action within this time are one entry in the audit, with how many there were."""

DENIALS_REMEMBERED = 1_000
"""Pairs of token and action whose denials are being counted; all others are counted together."""

AUDIT_SUBJECT_CHARS = 200
"""What the audit keeps of the name of something: the longest id and the longest route fit."""

ALLOWED_HOSTS = 100
HOST_CHARS = 255
"""Names that a server answers to, and the length of one, which DNS bounds."""
