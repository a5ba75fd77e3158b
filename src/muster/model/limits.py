"""Every bound in one place, each with its reason. A name ends in its unit."""

JOB_NAME_CHARS = 63
"""A DNS label: Kubernetes and Slurm both take it."""

PRIORITY_MAX = 100

GANG_WORKERS = 65_536
"""More than the largest training run in public reports, few enough to hold in memory many times over."""

GPUS_PER_NODE = 64
"""Above any machine sold; keeps a typing error from allocating millions of devices."""

ARRAY_TASKS = 10_000
"""One array fills the queue that the speed targets are measured with."""

ROLES_PER_JOB = 32

TEAM_DEPTH = 8

TOPOLOGY_LEVELS = 8

MAX_DURATION_MS = 366 * 24 * 3_600_000
"""A year: longer than any hardware generation lets a run go on unattended."""

NODES_PER_CLUSTER = 100_000
"""An order of magnitude above the largest cluster the benchmarks run."""

JOBS_PER_SCENARIO = 100_000
"""Ten times the queue the speed targets are measured with, of waiting and of running jobs each."""

JOBS_PER_TRACE = 5_000_000
"""Years of the busiest cluster that published its log, and still a few gigabytes of memory."""

SCENARIO_FILE_BYTES = 256 * 1024 * 1024

STARVING_PER_CYCLE = 2
"""Starving jobs that get a new promise in one cycle. Each needs a sweep over all running jobs; the others get theirs
in the cycles that follow, oldest first."""

NEXT_CYCLE_MS = 1_000
"""How soon the next cycle comes when a bound on effort left something undone and nothing else happens."""

PROMISES = 32
"""Promises that stand at once; the oldest starving jobs have one before younger ones."""

PREEMPTION_EFFORT_NODES = 8_192
"""How many blocked gangs may call for victims in one cycle, times the nodes each may have to look at: eight on a
thousand nodes. The next cycle, which comes at once, goes on with the rest."""

PREEMPTORS_MIN = 4
PREEMPTORS_MAX = 64

PRUNING_TRIES = 128
"""Victims of several preemptors that are looked at once more at the end of a cycle, the dearest first."""

DOMAINS_TRIED = 8
"""How many domains of one level a search with several roles or with victims looks into."""

BACKFILL_HORIZONS = 5
"""How many distinct promised starts backfill tells apart; further ones are treated as earlier, which is safe."""

OVERDUE_MARGIN_MS = 60_000
"""A job past its limit is expected gone this long from now."""

GROWTHS_PER_CYCLE = 64
"""Elastic jobs that may grow in one cycle."""

FAULTS_IN_A_ROW = 50
"""Infrastructure faults without a checkpoint between them after which a job is given up: it may break the nodes."""

START_TIMEOUT_MS = 30 * 60_000
"""A gang that is not complete by then never will be; long enough to pull a large image on every node."""

START_PAUSE_MS = 5_000
"""How long a job pauses after the second start in a row that failed; doubles with each further one."""

START_PAUSE_MAX_MS = 10 * 60_000
"""The longest such pause: with the faults allowed in a row it outlasts a registry that is down for hours."""

KILL_REPEAT_MS = 60_000
"""How long after a kill that nobody confirmed it is sent again."""

FAILED_GANG_GRACE_MS = 10_000
"""What the rest of a broken gang gets to leave: it cannot save itself any more, and often hangs in a collective."""

CHECKPOINT_EVERY_MS = 30 * 60_000
"""Between saves while nobody knows what one costs."""

CHECKPOINT_EVERY_MIN_MS = 60_000
"""A tuned interval is never shorter: below it the log would fill with requests."""

CHECKPOINT_EVERY_MAX_MS = 6 * 3_600_000
"""A tuned interval is never longer: nobody forgives the loss of a working day."""

NODE_MTBF_MS = 250 * 24 * 3_600_000
"""Time between failures of one eight-GPU node: Llama 3 saw 419 interruptions of 2,048 nodes in 54 days."""

CONSEQUENCES_PER_EVENT = 1_000_000
"""What may follow from one event inside the engine; more means that consequences feed on themselves."""

REPLAN_AFTER_DROP_MS = 60_000
"""When to plan again after a plan that was found unsound, if nothing changes before: one fault must not stop all."""

FREE_STATES = 200_000
"""Distinct states of nodes remembered before the index is made anew; months of odd memory sizes do not fill memory."""

RUN_TIME_WINDOW = 400
"""Endings that a group of like jobs remembers: enough for a ninth decile, few enough to follow a change of habits."""

RUN_TIME_CIRCLES = 50_000
"""Groups of like jobs remembered; those that learnt nothing for longest go first."""

TURN_PERCENT = 75
"""A turn is as long as this many per cent of all jobs run at most."""

TURN_MIN_MS = 10 * 60_000
TURN_MAX_MS = 2 * 3_600_000
"""Where most jobs run for days, waiting for one of them to end is no turn at all."""

TURN_ENDINGS = 20
"""Jobs that must have ended before a turn is shorter than it may be at most."""

PATIENCE_MS = 14 * 3_600_000
"""How long a job that gave way waits, counted from when it would have been served in order, before it may itself ask
others whose turn is over. With the time those need to leave nobody loses a day by giving way."""

TURN_RESERVE_PART = 150
"""One GPU in so many is kept from jobs that gave way for those that never ran: without it a third more give way."""

TURN_EVEN_COST = 64
"""How many times as dear it is to stop a job that was never kept waiting: a few others who can afford it go before."""

LAST_RESORT_COST = 10**18
"""What it costs more, in GPU-milliseconds, to take a guarantee back from a job that nobody else may stop, for each step
further up: more than everything that all jobs of a cluster could lose together."""

STARVATION_LOOK_MS = 10 * 60_000
"""How soon a job that still has patience is looked at again, at the soonest, where what is fair changes with time."""

TURNS_TRIED = 64
"""Jobs that have had their turn, longest first, of which one is looked for that makes room by itself."""

INBOX_REQUESTS = 10_000
"""Requests that may wait for the writer: half a minute of them at the load that the speed targets are measured with."""

FEED_EVENTS = 20_000
"""Events kept in memory for watchers; who is further behind reads the store."""

STATE_EVERY_EVENTS = 5_000
"""Events between two saved states: a fifth of a second to fold after a restart."""

JOBS_PER_STATE_EVENT = 8
"""A state of more jobs than eight times as many events waits for more of them: saving a million jobs takes seconds."""

STATE_BYTES = 2 * 1024 * 1024 * 1024
"""The most that a saved state may take once unpacked: a million jobs at two kilobytes each. A larger one is not read,
and the log is folded instead, so that a forged row cannot fill the memory."""

IDLE_STATE_EVENTS = 1_000
"""The same when the writer has nothing else to do."""

QUIET_MS = 1_000
"""After so long without anything to do the writer takes the time to keep its state."""

STATES_BETWEEN_LOOKS = 10
"""States kept under load before memory is looked through all the same: some minutes of the busiest hour."""

YOUNG_OBJECTS = 50_000
"""New objects between two looks of the garbage collector at what is young: a few hundred requests' worth."""

CLOCK_DRAW_PART = 20
"""Time passes by at most one part in so many faster or slower than it does, until what is shown agrees with a wall
clock that was set. An hour is made up within a day, and a grace period of a minute is off by three seconds: less than
supervisors allow for."""

WRITE_RETRY_MS = 1_000
"""How soon the writer tries again after the disk was full or the database away."""

STORE_READERS = 8
"""Connections kept open for reading, and as many again when it is busy."""

STORE_BUSY_MS = 5_000
"""How long a connection waits for a lock on the file: longer than any transaction of the one writer takes."""

STORE_READ_MS = 10_000
"""How long one answer of a PostgreSQL is waited for by who reads: a page takes milliseconds, and people wait for it."""

STORE_WRITE_MS = 30_000
"""The same for the writer: the largest state takes a second. What was not answered by then may have been done all the
same, and is looked for before it is done again."""

STORE_CONNECT_S = 5
"""How long a connection to a PostgreSQL is waited for."""

STORE_SILENCE_MS = 3_000
"""After so long without an answer of the store the server says that it is not well, although it still waits."""

STORE_LOOK_MS = 2_000
"""How often an idle writer looks whether its database is still there and still its own."""

CATCH_UP_MS = 10_000
"""After a start nothing is decided, for so long at most, until every node has said what happened meanwhile."""

STEP_DOWN_MS = 15_000
"""How long a writer that lost its lock to another process tries to get it back: a server that was restarted holds the
lock of a connection that is gone for a moment. After that the other one leads, and this one ends."""

STORE_CLAIM_MS = 1_000
"""How long a new writer waits for the last one to be gone: a server notices that a process has died within this."""

STORE_WAL_BYTES = 64 * 1024 * 1024
"""What SQLite's write-ahead log shrinks to after a large transaction, such as a saved state."""

STORE_CHECKED_BYTES = 64 * 1024 * 1024
"""Up to this size a whole SQLite file is checked whenever it is opened, which takes a second where nothing of it is in
memory; beyond, the log only when asked for, because a start with a million events must stay well below five."""

STORE_PAGE_ROWS = 2_000
"""Rows read in one transaction: few enough to hold, and short enough not to keep old pages of the file alive."""

SAVED_STATES = 2
"""If the newest is damaged or of another layout, there is one more before the whole log has to be folded."""

STOP_GRACE_MS = 10_000
"""What a worker gets to leave when it is stopped on the node itself and its file does not say how long it needs."""

TOKENS_REMEMBERED = 10_000
"""Tokens that are known without asking the store: more people and programs than one control plane serves."""

TOKENS_REMEMBERED_MS = 2_000
"""How long a token may still let somebody in after another control plane revoked it."""

TOKENS_TRUSTED_MS = 15 * 60_000
"""The same while the store cannot be asked: long enough to look at what runs and to mend the store."""

TOKEN_BINDINGS = 100
"""Roles that one token may have: a person is in a few teams."""

PAGE_ITEMS = 100
PAGE_ITEMS_MAX = 1_000
"""Items in one answer, when nobody says and at most."""

STORY_EVENTS = 20_000
STORY_SENTENCES = 1_000
"""Events that are read to tell how a job got where it is, of the job and of nodes: a job that saves itself every ten
minutes has so many in four months. And sentences in the answer, where saving itself again and again is one."""

ARCHIVE_THREADS = 4
ARCHIVE_QUESTIONS = 64
"""Questions about ended jobs that may wait for the store at once."""

ARCHIVE_S = 10.0
"""How long one of them waits for its answer."""

PAGE_RECORD_BYTES = 1024 * 1024
"""Of records that are read for one page of jobs. A hundred ordinary ones take a fifth; of jobs with the longest
scripts two are as much, and a hundred would take as long as a thousand other requests."""
JOBS_SCANNED = 20_000
"""Jobs looked at for one page of a listing: few may match, and the answer must still come quickly."""

WATCHERS = 1_000
WATCHERS_PER_CALLER = 200
"""Event streams that are open at once, of all and of one subject; each costs a connection and a queue."""

WATCHER_CHUNKS = 256
"""What may wait for one watcher. One that is further behind is disconnected, and resumes where it was."""

WATCHER_PAGE_EVENTS = 500
"""Events that are read at once for a watcher that is catching up."""

HEARTBEAT_S = 15.0
"""How often a silent stream shows that it is alive: proxies give up on one after half a minute or more."""

STREAM_S = 600.0
"""How long events or a log are streamed before their client has to come again, and how often somebody at a terminal is
asked for their token again: one that was revoked opens no other, and keeps none open."""

SEND_S = 20.0
"""How long a client may take to accept what it was sent before it counts as gone."""

LOG_CHUNK_BYTES = 256 * 1024
"""Of a log, what is read when nobody says how much."""

LOG_POLL_S = 0.25
"""How often a followed log is looked at: quick enough to seem immediate."""

LOG_FOLLOWERS = 500
LOG_FOLLOWERS_PER_CALLER = 150
"""Logs that are followed at once, of all and of one subject, who may follow two jobs with 64 ranks each; each is looked
at a few times a second."""

EXPLAINED_MS = 2_000
"""How old the answer to "why does it wait" may be: explaining a long queue takes a good part of a second."""

EXPLAINED_FRESH_MS = 60_000
"""How old it may be when nothing has changed: reasons speak of minutes that pass."""

ESTIMATE_RUNS = 20
"""Futures that are played for one estimate: the ninth decile of twenty is the third latest."""

ESTIMATE_S = 3.0
"""How long an estimate may compute. Fewer futures than asked for are still an estimate; none are none."""

ESTIMATE_HORIZON_MS = 7 * 24 * 3_600_000
"""How far estimates look ahead: who would start later is told that it is later."""

ESTIMATE_FRESH_MS = 10_000
"""How long an estimate holds although something has changed since."""

ESTIMATE_PAUSE_MS = 60_000
"""How long nobody tries to estimate after one future took longer than there was time for."""

ESTIMATES_OPEN = 1_000
"""Estimates that are remembered until their jobs start, to learn from; the oldest go first."""

QUESTIONS = 64
"""Explanations and estimates that may wait for their turn; they share one thread."""

TERMINALS = 100
TERMINALS_PER_CALLER = 20
"""Terminals that people are attached to at once, all and one of them."""

TERMINAL_THREADS = 3
"""Of each terminal: one that waits for output, one that types, and one that ends what the other two wait for."""

CONNECTIONS_WAITING = 2_048
"""Connections that the kernel keeps for a server that is busy."""

KEEP_ALIVE_S = 30
"""How long an idle connection stays open for the next request."""

STOP_S = 10
"""How long requests that are being answered may hold up a stop."""

TOKEN_SECONDS = 90 * 24 * 3_600
"""Ninety days, for a token of which nothing else was said: long enough to work with, and forgotten ones end."""

TOKEN_SECONDS_MAX = 10 * 366 * 24 * 3_600
"""Ten years: longer than anybody remembers what a token was for."""

DOCUMENTS_KEPT = 10_000
"""Job files that need not be written out again for each listing: as many as are active at once."""

METRIC_TEAMS = 100
"""Teams that figures tell apart: each is a time series per tier, and a monitoring system stores them all."""

SERVER_LOG_BYTES = 16 * 1024 * 1024
SERVER_LOGS = 4
"""One file of the server's log, and how many full ones are kept: a week of a busy control plane."""

UPGRADES_PER_CYCLE = 16
"""How many jobs move to faster GPUs at a time: when they are there, the next are looked at."""
