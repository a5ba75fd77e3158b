"""Bounds of the core, the engine and the control plane, each with its reason. Nodes have their own (`node_limits`)."""

JOB_NAME_CHARS = 63
"""A DNS label: Kubernetes and Slurm both take it."""

PRIORITY_MAX = 100

GANG_WORKERS = 65_536
"""More than the largest training run in public reports, but few enough to fit in memory many times."""

GPUS_PER_NODE = 64
"""More than any machine on the market has. Keeps a typing error from allocating millions of devices."""

ARRAY_TASKS = 10_000
"""One array of this size fills the queue that the speed targets are measured with."""

ROLES_PER_JOB = 32

TEAM_DEPTH = 8

TOPOLOGY_LEVELS = 8

MAX_DURATION_MS = 366 * 24 * 3_600_000
"""A year: longer than any hardware lets a run go on unattended."""

NODES_PER_CLUSTER = 100_000
"""An order of magnitude above the largest cluster the benchmarks run."""

JOBS_PER_SCENARIO = 100_000
"""Ten times the queue that the speed targets are measured with, for waiting and for running jobs each."""

JOBS_PER_TRACE = 5_000_000
"""Years of the busiest cluster that published its log, and still only a few gigabytes of memory."""

SCENARIO_FILE_BYTES = 256 * 1024 * 1024

STARVING_PER_CYCLE = 2
"""Starving jobs that may get a new promise in one cycle. Each needs a sweep over all running jobs. The other starving
jobs get theirs in the following cycles, oldest first."""

NEXT_CYCLE_MS = 1_000
"""How soon the next cycle comes when a bound on effort left work undone and no event comes first."""

PROMISES = 32
"""Promises that stand at once. Older starving jobs get one before younger ones."""

FAR_PROMISE_MS = 30 * 24 * 3_600_000
"""A promised start that is further away means nothing to its job, and keeps GPUs idle for it all that time."""

PREEMPTION_EFFORT_NODES = 8_192
"""How many blocked gangs may look for victims in one cycle, times the nodes that each may have to look at: eight gangs
on a thousand nodes. The next cycle comes soon (`NEXT_CYCLE_MS`) and goes on with the rest."""

PREEMPTORS_MIN = 4
PREEMPTORS_MAX = 64

PRUNING_TRIES = 128
"""Victims that pruning looks at once more at the end of a cycle, most expensive first."""

DOMAINS_TRIED = 8
"""How many domains of one level are tried by a search with several roles or with victims."""

BACKFILL_HORIZONS = 5
"""How many distinct promised starts backfill tells apart. Further ones are treated as earlier, which is safe."""

OVERDUE_MARGIN_MS = 60_000
"""A job past its limit is expected to be gone this long from now."""

GROWTHS_PER_CYCLE = 64
"""Elastic jobs that may grow in one cycle."""

FAULTS_IN_A_ROW = 50
"""A job is given up after this many infrastructure faults without a checkpoint in between: it may break the nodes."""

START_TIMEOUT_MS = 30 * 60_000
"""A gang that is not complete by then never will be. Long enough to pull a large image on every node."""

START_PAUSE_MS = 5_000
"""How long a job pauses after the second failed start in a row. Doubles with each further failed start."""

START_PAUSE_MAX_MS = 10 * 60_000
"""The longest pause. With the faults allowed in a row, the job outlasts a registry that is down for hours."""

KILL_REPEAT_MS = 60_000
"""A kill that was not confirmed is sent again after this time."""

FAILED_GANG_GRACE_MS = 10_000
"""Grace period for the rest of a broken gang: it cannot save itself any more, and often hangs in a collective."""

REMEDIES_PER_HOUR = 2
"""How often in an hour a job is started again because of a straggler. Later ones are only reported: either all nodes
are like that, or the job itself is uneven."""

CHECKPOINT_EVERY_MS = 30 * 60_000
"""Interval between saves while the cost of a save is not known."""

CHECKPOINT_EVERY_MIN_MS = 60_000
"""No tuned interval is shorter: the log would fill with saves."""

CHECKPOINT_ASKED_MIN_MS = 5_000
"""No interval that a job asks for is shorter."""

CHECKPOINT_EVERY_MAX_MS = 6 * 3_600_000
"""A tuned interval is never longer: the loss of a working day would be too much."""

NODE_MTBF_MS = 250 * 24 * 3_600_000
"""Time between failures of one eight-GPU node: Llama 3 saw 419 interruptions of 2,048 nodes in 54 days."""

CONSEQUENCES_PER_EVENT = 1_000_000
"""How many changes may follow from one event inside the engine. More means that they cause each other without end."""

REPLAN_AFTER_DROP_MS = 60_000
"""When to plan again after an unsound plan was dropped, if nothing changes before: one fault must not stop all jobs."""

EMPTIED_CAPACITIES = 16
"""How many capacities without the jobs that may be stopped are kept for the next plan, each for other rights."""

FREE_STATES = 200_000
"""Distinct free states remembered before the index is rebuilt. So months of odd memory sizes do not fill memory."""

RUN_TIME_WINDOW = 400
"""Run times that a group of similar jobs remembers: enough for a ninth decile, few enough to follow changing habits."""

RUN_TIME_CIRCLES = 50_000
"""Groups of similar jobs remembered. The group that was updated longest ago is dropped first."""

STEP_WINDOW = 32
"""Step times that a group of similar jobs remembers for one GPU type and spread: enough for a median."""

STEP_KINDS = 12
"""GPU types and spreads that a group remembers. The one that was updated longest ago is dropped first."""

STEP_CIRCLES = 10_000
"""Groups of similar jobs whose step times are remembered. The group that was updated longest ago is dropped first."""

STEP_MEMBERS = 32
"""Groups that a wider circle asks for their speeds, the latest."""

FIRST_BAND_GPU_MS = 3_600_000
"""Where the first band of GPU time ends: at one GPU hour, which most jobs never reach."""

BANDS = 9
"""More than any job can use: the last one begins at more than a thousand GPU years."""

BAND_FACTOR = 10
"""Each further band ends at this many times the GPU time. The lengths of jobs differ by orders of magnitude."""

TURN_MS = 2 * 3_600_000
"""How long a job runs before it leaves for an older job of its own band. With shorter turns jobs of about the same
length keep stopping each other."""

SETTLING_MS = 2 * 60_000
"""How long a job that was started again is left alone: long enough to load what it saved and to go on."""

STARVATION_MS = 20 * 3_600_000
"""How long a job that gave way waits, from when it was due or, where teams are declared, from the end of its fair time,
before it counts as starved. Even with the time that other jobs then need to leave, it hardly loses a day by giving way.
"""

STARVED_BAND = 2
"""The band of a job that has starved: behind the many jobs that have had less than ten GPU hours."""

STARVED_PART = 3
"""Jobs that have starved may hold one GPU in this many, and less where more is wanted than there is. Where most jobs
wait too long, putting all of them first would only serve everybody in the order of submission."""

TURN_RESERVE_PART = 75
"""One GPU in this many is kept free for newcomers. Without it about a tenth more jobs are told to leave."""

LAST_RESORT_COST = 10**18
"""The extra cost, in GPU-milliseconds, of taking a guarantee back from a job that no other rule may stop. Each step up
costs this many times the step below it: more than everything that all jobs below could lose together."""

STARVATION_LOOK_MS = 10 * 60_000
"""The starvation watch looks again at a job that has not starved yet after this time at the earliest, because the fair
time changes."""

INBOX_REQUESTS = 10_000
"""Requests that may wait for the writer: half a minute of them at the load that the speed targets are measured with."""

FEED_EVENTS = 20_000
"""Events kept in memory for watchers. A watcher that is further behind reads the store."""

STATE_EVERY_EVENTS = 5_000
"""Events between two saved states: they take a fifth of a second to fold after a restart."""

JOBS_PER_STATE_EVENT = 8
"""A state is saved only after at least one event per eight jobs, because saving a million jobs takes seconds."""

STATE_BYTES = 2 * 1024 * 1024 * 1024
"""The most that a saved state may take when unpacked: a million jobs at two kilobytes each. A larger one is not read,
and the log is folded instead, so that a forged row cannot fill the memory."""

IDLE_STATE_EVENTS = 1_000
"""Events between two saved states when the writer has nothing else to do."""

QUIET_MS = 1_000
"""After this long without work, the writer saves its state if enough events came since the last save."""

STATES_BETWEEN_LOOKS = 10
"""Saved states under load between two full garbage collections: some minutes of the busiest hour."""

YOUNG_OBJECTS = 50_000
"""New objects between two garbage collections of young objects: as many as a few hundred requests make."""

CLOCK_DRAW_PART = 20
"""When the wall clock was set, Muster's clock runs faster or slower by at most one part in this many until the two
agree. An hour is made up within a day, and a grace period of a minute is off by three seconds, which is less than
supervisors allow for."""

WRITE_RETRY_MS = 1_000
"""How soon the writer tries again after the disk was full or the database was away."""

STORE_READERS = 8
"""Connections kept open for reading. As many again are opened when the store is busy."""

STORE_BUSY_MS = 5_000
"""How long a connection waits for a lock on the file: longer than any transaction of the one writer takes."""

STORE_READ_MS = 10_000
"""How long a reader waits for one answer of PostgreSQL: a page takes milliseconds, and people wait for it."""

STORE_WRITE_MS = 30_000
"""The same for the writer: the largest state takes a second. A write without an answer may have been done all the same,
so the writer checks before it writes again."""

STORE_CONNECT_S = 5
"""How long to wait for a connection to PostgreSQL."""

STORE_SILENCE_MS = 3_000
"""After this long without an answer from the store, the server reports that it is not well, although it still waits."""

STORE_LOOK_MS = 2_000
"""How often an idle writer checks that its database is still there and still its own."""

CATCH_UP_MS = 10_000
"""After a start nothing is decided until every node has reported what happened meanwhile, but for this long at most."""

STEP_DOWN_MS = 15_000
"""How long a writer that lost its lock to another process tries to get it back: a restarted database server may still
hold the lock of a connection that is gone. After that the other process leads, and this one ends."""

STORE_CLAIM_MS = 1_000
"""How long a new writer waits for the last writer to be gone. The database server notices a dead process within it."""

STORE_WAL_BYTES = 64 * 1024 * 1024
"""Size to which SQLite's write-ahead log shrinks after a large transaction, such as a saved state."""

STORE_CHECKED_BYTES = 64 * 1024 * 1024
"""Up to this size a whole SQLite file is checked whenever it is opened, which takes a second if nothing of it is in
memory. In a larger file the log and the job records are checked only on request, because a start with a million events
must stay well below five seconds."""

STORE_PAGE_ROWS = 2_000
"""Rows read in one transaction: few enough to hold, and short enough not to keep old pages of the file alive."""

SAVED_STATES = 2
"""If the newest state is damaged or of another layout, there is one more before the whole log has to be folded."""

STOP_GRACE_MS = 10_000
"""Grace period of a worker that the node itself stops, if its file does not say how long it needs."""

TOKENS_REMEMBERED = 10_000
"""Tokens that are known without asking the store: more people and programs than one control plane serves."""

TOKENS_REMEMBERED_MS = 2_000
"""How long a token may still be accepted after another control plane revoked it."""

TOKENS_TRUSTED_MS = 15 * 60_000
"""Extra time for which known tokens are accepted while the store does not answer: enough to see what runs and to
repair the store."""

TOKEN_BINDINGS = 100
"""Roles that one token may have: a person is in a few teams."""

PAGE_ITEMS = 100
PAGE_ITEMS_MAX = 1_000
"""Items in one answer, by default and at most."""

STORY_EVENTS = 20_000
STORY_SENTENCES = 1_000
"""Events that are read for the story of a job, of the job and of nodes: a job that saves itself every ten minutes has
this many in four months. And sentences in the answer, where repeated saves are one sentence."""

ARCHIVE_THREADS = 4
ARCHIVE_QUESTIONS = 64
"""Threads for queries about ended jobs, and how many of these queries may wait for the store at once."""

ARCHIVE_S = 10.0
"""How long such a query waits for its answer."""

PAGE_RECORD_BYTES = 1024 * 1024
"""Of records that are read for one page of jobs. A hundred ordinary ones take a fifth; of jobs with the longest
scripts two are as much, and a hundred would take as long as a thousand other requests."""
JOBS_SCANNED = 20_000
"""Jobs looked at for one page of a listing: few may match, and the answer must still come quickly."""

WATCHERS = 1_000
WATCHERS_PER_CALLER = 200
"""Event streams that are open at once, of all subjects and of one subject. Each costs a connection and a queue."""

WATCHER_CHUNKS = 256
"""Chunks that may wait for one watcher. A watcher that is further behind is disconnected, and resumes where it was."""

WATCHER_PAGE_EVENTS = 500
"""Events that are read at once for a watcher that is catching up."""

HEARTBEAT_S = 15.0
"""How often a silent stream shows that it is alive: proxies close a silent stream after half a minute or more."""

STREAM_S = 600.0
"""How long events or a log are streamed before the client has to connect again, and how often the token of a user at a
terminal is checked again. A revoked token opens no new stream, and keeps none open for longer than this."""

SEND_S = 20.0
"""How long a client may take to accept what it was sent before it counts as gone."""

LOG_CHUNK_BYTES = 256 * 1024
"""How much of a log is read by default."""

LOG_POLL_S = 0.25
"""How often a followed log is checked for new output: often enough to seem immediate."""

LOG_FOLLOWERS = 500
LOG_FOLLOWERS_PER_CALLER = 150
"""Logs that are followed at once, of all subjects and of one subject, who may follow two jobs with 64 ranks each. Each
log is checked a few times a second."""

EXPLAINED_MS = 2_000
"""How old the answer to "why does it wait" may be: explaining a long queue takes a good part of a second."""

EXPLAINED_FRESH_MS = 60_000
"""How old the starts of all jobs and the sizes of elastic jobs may be if nothing has changed: they name no time from
now. Why a job waits names such times, and is found anew for each question after `EXPLAINED_MS`."""

ESTIMATE_RUNS = 20
"""Simulated futures for one estimate: the ninth decile of twenty is the third latest."""

ESTIMATE_S = 3.0
"""How long an estimate may compute. With fewer futures there is still an estimate, with no future there is none."""

ESTIMATES_S = 8.0
"""How long estimates of all waiting jobs together may compute. Jobs that had not started by then have none."""

ESTIMATE_HORIZON_MS = 7 * 24 * 3_600_000
"""How far estimates look ahead. For a job that would start later, the answer is that it starts later than this."""

ESTIMATE_FRESH_MS = 10_000
"""How long an estimate is used although something has changed since."""

ESTIMATE_PAUSE_MS = 60_000
"""How long no estimate is tried after a single future took longer than the time allowed."""

ESTIMATES_RECALLED = 40
"""From so many of the latest estimates on one basis a user is told how good they were: enough to tell nine in ten from
four in five, few enough to follow changes."""

ESTIMATES_OPEN = 1_000
"""Estimates that are remembered until their jobs start, to learn from them. The oldest are dropped first."""

QUESTIONS = 64
"""Explanations and estimates that may wait for their turn. They share one thread."""

TERMINALS = 100
TERMINALS_PER_CALLER = 20
"""Terminals that are attached at once, of all subjects and of one subject."""

SIDE_COMMAND_CHARS = 4_096
"""The longest line that is run beside a worker. It is sent in an address; anything longer belongs into a file."""

TERMINAL_THREADS = 3
"""Threads of each terminal: one waits for output, one sends input, and one ends what the other two wait for."""

CONNECTIONS_WAITING = 2_048
"""Connections that the kernel keeps for a server that is busy."""

KEEP_ALIVE_S = 30
"""How long an idle connection stays open for the next request."""

STOP_S = 10
"""How long requests that are being answered may delay a stop."""

TOKEN_SECONDS = 90 * 24 * 3_600
"""Default lifetime of a token, ninety days: long enough to work with, and forgotten tokens expire."""

TOKEN_SECONDS_MAX = 10 * 366 * 24 * 3_600
"""Ten years: by then no one remembers what a token was for."""

DOCUMENTS_KEPT = 10_000
"""Rendered job files that are cached for listings: as many as are active at once."""

METRIC_TEAMS = 100
"""Teams with metrics of their own: each is a time series per tier, and a monitoring system stores them all."""

SERVER_LOG_BYTES = 16 * 1024 * 1024
SERVER_LOGS = 4
"""Size of one file of the server's log, and how many full files are kept: a week of a busy control plane."""

UPGRADES_PER_CYCLE = 16
"""How many jobs may be moving to faster GPUs at a time. When they have arrived, the next jobs are considered."""
