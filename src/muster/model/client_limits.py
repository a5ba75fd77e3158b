"""Bounds on what clients send and ask for, each with its reason. A name ends in its unit. Others are in `limits`."""

JOB_BODY_BYTES = 512 * 1024
"""Size of a submission: a hundred times a long job file. A longer script should be a file that the job reads."""

JOB_TEXT_CHARS = 256 * 1024
"""Length of a job file that is sent as text. Even with every second character escaped it fits into a body."""

PAGE_SPEC_CHARS = 512 * 1024
"""Characters of job files in one page of jobs. A page with long scripts ends early, like a page with few matches."""

BRIEF_JOBS_MAX = 2_500
"""Jobs in one answer that leaves out their files: ten thousand come in four answers."""

JOBS_NAMED = 200
"""Jobs that a list may be asked for by id: those that changed within a second or two."""

BODY_BYTES = 256 * 1024
"""Size of any other request: a whole list of tiers or pools fits, and is read in a few milliseconds."""

BODY_ERRORS = 20
"""Mistakes in a body that are reported one by one. More would scroll the first ones away."""

JOB_FILE_VALUES = 20_000
"""Values in a job file that is sent as text. Every list of a job filled to its bound fits, and is read in a fifth of a
second. Without this bound, 0.8 MB of brackets take three seconds."""

JOB_INLINE_BYTES = 2 * 1024
"""A job file up to this size that is sent as an object is read at once, which takes a millisecond. A longer one, or one
that is sent as text, is read by a separate process, so that only its sender waits for it. YAML takes four microseconds
for each character."""

JOB_READERS_MAX = 4
"""Processes that read job files, at most. There is one for every two processors, so that other work has the rest."""

JOB_READ_CPU_S = 3.0
"""Processor time for reading one job file before its process is ended. The longest allowed files take a tenth of it."""

JOB_READ_S = 30.0
"""The same in wall-clock time, with the start of the process. On a machine that is busy with jobs, both take longer."""

JOB_READS_WAITING = 32
JOB_READS_PER_CALLER = 2
"""Long job files that are being read or wait to be read, of all callers and of one caller."""

JOB_READER_BYTES = 1 << 30
"""Memory of a process that reads job files."""

JOB_READER_FILES = 1_000
"""Job files after which a process that reads them is replaced, so that memory it may have leaked is freed."""

HEAD_BYTES = 32 * 1024
HEAD_LINES = 100
"""Size of the request line and headers of one request, and number of headers: five times what browsers and proxies
send."""

HEAD_S = 15.0
"""How long a client may take from its first byte, or from when it connected, until its headers are complete."""

BODY_S = 60.0
"""How long a client may take to send a body: the longest body at 35 KB a second."""

CONNECTIONS = 2_048
"""Connections that are open at once: every allowed stream, and some hundreds that come and go."""

CONNECTIONS_PER_ADDRESS = 1_024
"""The same for one client address, which may be a login node or a proxy. The connection that was idle for longest makes
room for a new one, so that idle connections keep no client out."""

AGENT_CONNECTIONS = 16_384
"""Connections of agents, counted apart: one for each node, and one for each user at a terminal of it."""

AGENT_DESCRIPTORS = 3
"""Open files of an agent's connection: itself, and the pair of sockets that joins it with its link."""

DESCRIPTORS_KEPT = 256
"""Open files that connections leave to the rest of the server: the database, supervisors, logs."""

REQUESTS_PER_S = 600
REQUESTS_AT_ONCE = 2_400
"""Requests of one subject, on average and in a burst after a pause: twice the rate of the submission benchmark. A long
body counts as several requests, and so does a request that was denied."""

REQUEST_BYTES = 2 * 1024
"""Every this many bytes of a body count as one more request. Submissions are stored, and 600 of these a second are
1.2 MB/s."""

BUNDLE_FILES = 20_000
"""Files and links that are sent along with a job: a large code base has a few thousand. Data and environments are not
code."""

BUNDLE_REQUEST_BYTES = 64 * 1024
"""The same for files that are sent along with jobs: 600 of these a second are 39 MB/s. Nothing of them is in memory or
in the database."""

DENIED_REQUESTS = 10
"""How many extra requests a request counts as when it is answered with 401, 403 or 404."""

STRANGERS_PER_S = 20
STRANGERS_AT_ONCE = 200
"""Requests without a known token, by client address. A user who mistypes a token is told so; a guesser is slowed."""

ADDRESSES_REMEMBERED = 10_000
"""Subjects and addresses whose rates are remembered. Those that sent no request for longest are forgotten first."""

THROTTLED_S = 0.25
"""How long a client that sends too many requests waits for the refusal. A loop that ignores refusals becomes slow."""

TURNS = 8
TURNS_EACH = 1
TURNS_ALONE = 32
"""Requests that are answered at once: of all subjects, of each subject whatever the others do, and of a subject that is
alone. A newcomer waits behind a few requests, not behind all requests of a busy neighbour. A subject that has the
server to itself gets more, because many submissions are made durable with one write."""

TURNS_WAITING = 256
"""Requests of one subject that may wait for their turn."""

WRITES = 64
WRITES_EACH = 8
"""Requests that wait for the writer at once: of all subjects, and of each subject whatever the others do. One write
makes all of them durable, so that few of them would make a disk the limit. They are also answered at once, which keeps
other requests waiting for a few hundredths of a second."""

DENIALS_S = 60.0
"""Denials of one token for one action within this time become one audit entry, with their count."""

DENIALS_REMEMBERED = 1_000
"""Pairs of token and action whose denials are counted separately. All further ones are counted together."""

AUDIT_SUBJECT_CHARS = 200
"""Characters that the audit keeps of a name: the longest id and the longest route fit."""

CONTROL_PLANES = 9
"""Addresses of control planes on one database. Two or three are usual."""

ALLOWED_HOSTS = 100
HOST_CHARS = 255
"""Names that a server answers to, and the length of a name, which DNS bounds."""

SESSION_MS = 12 * 3_600_000
"""How long a browser stays signed in: a working day."""

SIGN_IN_CODE_MS = 60_000
"""How long a link for signing in is good: enough to open it, and too short to be found later."""

SIGN_IN_CODES = 1_000
"""Links that are given out and not used yet. Each is forgotten after a minute."""

WHAT_IF_JOBS = 20_000
"""Jobs of one what-if: weeks of a large cluster, and two replays of them take minutes."""

WHAT_IF_SINCE_S = 366 * 86_400

WHAT_IF_S = 600
"""How long one what-if may take. The next one waits meanwhile."""

WHAT_IF_BYTES = 4 * 1024**3
"""Address space of the process, of which a replay of so many jobs uses a part."""

WHAT_IF_ANSWER_BYTES = 32 * 1024**2
"""The longest line that the process may send: its figures and its report."""

WHAT_IFS_WAITING = 4
WHAT_IFS_KEPT = 8
"""Simulations whose reports are kept in memory."""

REPORT_LINK_MS = 60_000
REPORT_LINKS = 100

ADMISSION_RULES = 200
"""Admission rules of a server: twice as many as are judged in two milliseconds."""

PROFILES = 500
"""Profiles that a server publishes: more than any user reads."""

EXPRESSION_CHARS = 2_000
"""Characters of the condition of one rule: a screen of it."""

PLUGIN_LIMIT_MOST_MS = 10_000
"""The longest that a plug-in may take for one job. The submitter waits for it, and so do others that need it too."""

ADMISSION_JUDGED_MS = 1_000
"""How long all conditions together may take for one job. A hundred rules take one or two milliseconds."""

ADMISSION_START_MS = 30_000
"""How long a process that judges may take to begin. On a machine that is busy with jobs, Python takes seconds."""

ADMISSION_JUDGES = 2
"""Processes that judge by the rules at once. One judges more jobs in a second than the writer writes."""

ADMISSION_PLUGIN_CALLS = 2
"""Processes of each plug-in that are asked at once."""

ADMISSION_JUDGE_BYTES = 2 << 30
"""Address space of a process that judges. Its libraries alone map some hundred MB."""

ADMISSION_ANSWER_BYTES = 4 << 20
"""The longest answer of such a process: a job file of the longest kind, twice."""

ADMISSION_RESTARTS = 3
"""Rules that may break the process that judges, for one job. Then the job is refused."""

ADMISSION_AGAIN = 3
"""How often a job is judged again because the rules changed meanwhile."""

ADMISSION_TEST_JOBS = 50_000
"""Jobs on which rules are tried at most, the newest first. The answer says when there were more."""

ADMISSION_TEST_MS = 60_000
"""How long that may take. The answer says how far it came."""

ADMISSION_TEST_NAMED = 1_000
"""Jobs of each kind that the answer of such a try names. Further ones are counted."""
