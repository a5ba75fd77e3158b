"""What a job file may hold, key by key: the declaration that reading, writing and the JSON Schema follow from.

A new key is a field in `model/spec.py` and a line here. Checks across several keys are in `job_file`. The text below a
key is what the OpenAPI document says of it.
"""

from typing import Annotated

from pydantic import Field

from muster.formats.jobs.container_values import ImageName, MountEntry
from muster.formats.jobs.job_values import (
    VARIABLE_SCHEMA,
    Array,
    BeginTime,
    BundleId,
    CheckpointPath,
    DependencyEntry,
    Interval,
    JobName,
    Labels,
    NodeNames,
    RunLimit,
    SignalName,
    Variable,
)
from muster.formats.jobs.other_tools import JOB_KEYS, RESOURCE_KEYS
from muster.formats.parts.kinds import (
    NO_NUL,
    Command,
    Cpus,
    Duration,
    Gpus,
    Memory,
    Name,
    Names,
    PositiveThousandths,
    Spelling,
    TeamPathText,
    Text,
    Workers,
)
from muster.formats.parts.parts import ALWAYS, ONCE, Given, NamedPart, Part, Stored
from muster.model.client_limits import BUNDLE_FILES
from muster.model.limits import GANG_WORKERS, PRIORITY_MAX
from muster.model.resources import Request
from muster.model.spec import (
    DEFAULT_TEAM,
    DEFAULT_TIER,
    BatchSignal,
    BatchSpec,
    Bundle,
    CheckpointSpec,
    Interactive,
    JobSpec,
    Launch,
    Parallelism,
    Remedy,
    Retry,
    RetryCause,
    RoleSpec,
    TopologySpec,
)

RETRIES_MAX = 1000
"""A job that fails more often than this is not going to succeed."""
CHECKPOINTS_KEPT_MAX = 10_000
ENTRIES_MAX = 1000
"""The most environment variables, secrets, tags or dependencies of a job: a page of them, not a database."""

MOUNTS_MAX = 64
"""The most mounts of a job: each is a word of a command line, and a mount of every container."""

TASKS_MAX = 65_536
"""The most processes of one step: as many as a large machine has cores, in a gang of hundreds of machines."""


class ResourcesWire(Part, record=Request):
    """What each worker needs."""

    elsewhere = RESOURCE_KEYS
    gpus: Annotated[Gpus, Stored("gpu_milli")]
    """Whole GPUs, or a share of one, such as 0.25."""
    gpu_type: Annotated[Names, Stored("gpu_types")]
    """The types it accepts, preferred first."""
    cpus: Annotated[Cpus, Stored("cpu_milli")]
    """CPUs; parts of one are possible."""
    memory: Memory
    """More than this ends the worker, where the system lets Muster limit it."""
    disk: Memory
    """Space on the local disk of the node."""
    throughput: dict[Name, PositiveThousandths]
    """Relative speed by GPU type."""


class RoleWire(NamedPart, record=RoleSpec, required=("run",)):
    """One kind of worker."""

    workers: Annotated[Workers, Stored("workers_min", "workers_max"), ALWAYS] = (1, 1)
    """How many start together, all or none. `4..16` is elastic: it runs with four and grows when GPUs are idle."""
    resources: Annotated[ResourcesWire, Stored("request")]
    """What each worker needs, all of it on one node."""
    run: Annotated[Command, Spelling(pattern=r"^[^\s\u0000][^\u0000]*$")]
    """The command that each worker runs."""


class ParallelismWire(Part, record=Parallelism):
    """How the model is split."""

    tensor: Annotated[int, Field(ge=1, le=GANG_WORKERS), Spelling(maximum=64)]
    """GPUs of a tensor-parallel group, which stays inside one node or NVLink domain."""
    pipeline: Annotated[int, Field(ge=1, le=GANG_WORKERS), Spelling(maximum=64)]
    """Stages of the pipeline. What is left is data parallel."""


class TopologyWire(Part, record=TopologySpec):
    """Where the gang must (`within`) or would rather (`prefer`) stay."""

    within: Name
    """A level in one domain of which the whole gang must be, however long it has to wait for that."""
    prefer: Name
    """A level in one domain of which it would rather be: it waits for that until `relax_after` has passed."""
    relax_after: Duration
    """How long after submission it waits for `prefer`; then it takes the tightest domain there is."""
    spread: bool
    """Each worker on a node of its own."""


class CheckpointWire(Part, record=CheckpointSpec, required=("path",)):
    """How the job saves itself."""

    path: Annotated[CheckpointPath, Spelling(minLength=1, maxLength=500, pattern=NO_NUL), ALWAYS] = ""
    """A folder, relative to `workdir` unless it is absolute, or an address such as `s3://bucket/run`."""
    every: Interval
    """How often it saves. `auto` weighs the cost of a save against what a fault would lose."""
    keep: Annotated[int, Field(ge=1, le=CHECKPOINTS_KEPT_MAX)]
    """How many complete checkpoints stay."""
    grace: Duration


class BatchSignalWire(Part, record=BatchSignal, required=("name",)):
    """Announces the end of a batch script."""

    name: Annotated[SignalName, ALWAYS] = ""
    before: Duration
    script_only: bool
    """Only to the shell of the script, and not to the processes of its steps."""


class BatchWire(Part, record=BatchSpec):
    """How a batch script is run, for `launch: slurm`."""

    file: Text
    """Where the script was when `sbatch` read it."""
    arguments: Annotated[list[Text], Field(max_length=ENTRIES_MAX), Spelling(maxItems=20)]
    tasks: Annotated[int, Field(ge=0, le=TASKS_MAX)]
    """How many processes `srun` starts when it is not told."""
    tasks_per_worker: Annotated[int, Field(ge=1, le=TASKS_MAX)]
    cpus_per_task: Annotated[int, Field(ge=1, le=TASKS_MAX)]
    gpus_per_task: Annotated[int, Field(ge=0, le=TASKS_MAX)]
    output: Text
    """A file for what the script prints, beside the log. It may hold `%j`, `%x` and the other patterns of sbatch."""
    error: Text
    append: bool
    signal: BatchSignalWire


class InteractiveWire(Part, record=Interactive):
    """A terminal that people attach to."""

    idle_timeout: Annotated[RunLimit, ALWAYS] = 30 * 60_000


class RetryWire(Part, record=Retry):
    """Which failures of its own are tried again."""

    limit: Annotated[int, Field(ge=0, le=RETRIES_MAX)]
    """How often. Faults of the infrastructure are always tried again and do not count."""
    on: Annotated[list[Annotated[RetryCause, Field(strict=False)]], ONCE]
    """After which failures."""


class BundleWire(Part, record=Bundle, required=("id",)):
    """The files of a relative `workdir`, as they were when the job was submitted."""

    id: Annotated[BundleId, ALWAYS] = ""
    """Its name in the store of the server."""
    files: Annotated[int, Field(ge=0, le=BUNDLE_FILES)]
    size: Annotated[Memory, Stored("size_bytes")]
    commit: Annotated[Text, Spelling(pattern=r"^[0-9a-f]{0,64}$")]
    """The commit that the files were taken from."""
    dirty: bool
    """Whether the files differ from that commit."""


class JobWire(RoleWire, record=JobSpec, required=("name",)):
    """A job file.

    Left out: `team` is `default`, `tier` is `standard`, `workers` is 1, and a job without `checkpoint` cannot resume.
    """

    elsewhere = JOB_KEYS
    name: Annotated[JobName, ALWAYS] = ""
    """What people call it. Several jobs may have the same name."""
    team: TeamPathText = DEFAULT_TEAM
    """The path of the team that pays for it with its quota."""
    tier: Annotated[Name, Spelling(examples=["standard"])] = DEFAULT_TIER
    """How urgent it is: `production`, `standard`, `exploratory`, or as configured."""
    priority: Annotated[int, Field(ge=0, le=PRIORITY_MAX)]
    """Inside its tier; higher goes first."""
    roles: Annotated[dict[str, RoleWire], Spelling(propertyNames={"pattern": "^[a-z0-9_-]{1,63}$"})]
    """Instead of `workers`, `resources` and `run`: several kinds of workers by name."""
    launch: Annotated[Launch, Field(strict=False)]
    """How the processes find each other."""
    batch: BatchWire
    """With `launch: slurm`, how the script in `run` is run."""
    setup: Command
    """Runs once on each node before the workers start."""
    workdir: Annotated[Text, Spelling(maxLength=101, pattern=r"^[A-Za-z0-9/_.][A-Za-z0-9/_.-]{0,100}$")]
    """An absolute path on the nodes, or a relative one beside the job file, whose files are copied at submission."""
    bundle: BundleWire
    """The copy of a relative `workdir`. `muster submit` writes it."""
    image: Annotated[ImageName, Spelling(examples=["registry.example/train:2.1"])]
    """The container image in which `setup` and `run` run. Nodes need podman, docker, apptainer or enroot for it."""
    mounts: Annotated[list[MountEntry], Field(max_length=MOUNTS_MAX), Spelling(maxItems=20)]
    """Folders and files of the node that the container sees, besides the working directory and checkpoints."""
    interactive: InteractiveWire
    """The first worker gets a terminal, for `muster attach`."""
    stdin: bool
    """The first worker reads what is sent to it within a minute of its start, as `muster run` sends what it reads."""
    env: Annotated[dict[str, Text | None], Field(max_length=ENTRIES_MAX), Spelling(propertyNames=VARIABLE_SCHEMA)]
    """Variables. One without a value is taken from where the job is submitted, and must be set there."""
    secrets: Annotated[list[Variable], Field(max_length=ENTRIES_MAX), Spelling(maxItems=20)]
    """Names, never values."""
    parallelism: ParallelismWire
    """How the model is split over the workers."""
    topology: TopologyWire
    """How close together the workers must or should be."""
    constraint: Annotated[Labels, Spelling(examples=["a100 & (ib | roce) & !flaky"])]
    """Which labels its nodes have: `&`, `|`, `!` and parentheses. The type of GPU and the name of a node count too."""
    nodelist: NodeNames
    """The only nodes that it may use, such as `n3` or `n[5-8]`."""
    exclude: NodeNames
    """Nodes that it does not use."""
    engine: Annotated[Name, Spelling(examples=["hpc"])]
    """The only engine whose nodes it may use, by the name that the server's configuration gives it."""
    exclusive: bool
    """Whole nodes: it starts on nodes that no other job uses, and shares them with no other."""
    begin: BeginTime
    """Not before this time, or not before so long after its submission."""
    max_duration: RunLimit
    """It is ended after this long. Left out, it is that of the tier. A short one lets it start in front of others."""
    expected_duration: RunLimit
    """A hint that promises never rest on."""
    checkpoint: CheckpointWire
    """Where and how often it saves itself. Without it, a job that is preempted begins anew."""
    preemptible: bool
    """Whether it may be stopped for others. `false` needs a team that allows it."""
    retry: RetryWire
    """Which failures of its own are tried again."""
    depends_on: Annotated[list[DependencyEntry], Field(max_length=ENTRIES_MAX), Spelling(maxItems=20)]
    """Jobs that must have ended first, by id."""
    array: Array
    """`0-99%8`: a hundred tasks, at most eight at once. Each finds its number in `MUSTER_ARRAY_INDEX`."""
    tags: Annotated[dict[Text, Text], Field(max_length=ENTRIES_MAX)]
    """Words of your own, for lists and reports."""
    on_straggler: Annotated[Remedy, Field(strict=False)]
    """When a rank stays slower than the others: report it, replace its node, or restart the job."""
    on_hang: Annotated[Remedy, Field(strict=False)]
    """When no rank makes a step any more."""
    profile: Name
    """The profile of the server that fills in what this file leaves out. Its own keys win."""


GivenJob = Annotated[Given, JobWire]
"""A job file of which every key was read. `job_file` makes a job of it."""
