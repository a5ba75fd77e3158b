"""What a user asks for: the job file as a value, with every default already applied."""

from enum import StrEnum

from muster.model.ids import EngineName, JobId, LevelName, NodeName, TeamPath, TierName
from muster.model.policy import RuleEffect
from muster.model.records import Record
from muster.model.resources import Request

DEFAULT_TEAM = TeamPath("default")
DEFAULT_TIER = TierName("standard")
DEFAULT_PRIORITY = 50


class Launch(StrEnum):
    """How the processes of a gang find each other."""

    PLAIN = "plain"
    TORCHRUN = "torchrun"
    TORCHFT = "torchft"
    MPI = "mpi"
    JAX = "jax"
    RAY = "ray"
    """The gang is a Ray cluster, and `run` runs once, beside its head."""
    SLURM = "slurm"
    """The first worker runs `run` once, as a batch script, and `srun` in it starts processes beside all workers."""


class RetryCause(StrEnum):
    """The failures of the job itself for which it may ask for a retry."""

    ERROR = "error"
    OOM = "oom"
    TIMEOUT = "timeout"


class DependencyWhen(StrEnum):
    """How another job must have ended before this job may be queued."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    FINISHED = "finished"


class Remedy(StrEnum):
    """What is done about a slow rank, or about a job that stands still."""

    REPORT = "report"
    """It is said in events and in what is shown of the job."""
    REPLACE = "replace"
    """The job starts again on the nodes that are not to blame, and others if it can."""
    RESTART = "restart"
    """The job starts again."""


class RoleSpec(Record, frozen=True, kw_only=True):
    """One kind of worker in a gang."""

    name: str
    workers_min: int
    """The smallest size at which the role runs. Gangs are placed at this size first."""
    workers_max: int
    """Equal to the minimum unless the role is elastic."""
    request: Request
    run: str = ""

    @property
    def is_elastic(self) -> bool:
        """True when the role may run at more than one size."""
        return self.workers_max > self.workers_min


class Parallelism(Record, frozen=True, kw_only=True):
    """How the model is split. The rest is data parallel."""

    tensor: int = 1
    pipeline: int = 1


class TopologySpec(Record, frozen=True, kw_only=True):
    """Where in the topology tree a gang must stay or prefers to stay."""

    within: LevelName | None = None
    """Hard: the whole gang is inside one domain of this level, however long it has to wait for that."""
    prefer: LevelName | None = None
    """Soft: the gang waits for one domain of this level until `relax_after_ms` after submission."""
    relax_after_ms: int = 0
    spread: bool = False
    """Hard: each worker is on a node of its own. For gangs with one role and one size."""

    def relaxes_ms(self, submitted_ms: int) -> int:
        """When a job submitted at `submitted_ms` gives up its preference."""
        return submitted_ms + self.relax_after_ms


class CheckpointSpec(Record, frozen=True, kw_only=True):
    """How the job saves itself. A job without a checkpoint cannot resume."""

    path: str
    every_ms: int | None = None
    """The interval that the job asks for; None lets Muster tune it."""
    keep: int = 3
    grace_ms: int = 120_000
    """How long the job may take to save itself when told to leave."""


class Retry(Record, frozen=True, kw_only=True):
    """How often failures of the job itself are retried. Infrastructure faults do not count here."""

    limit: int = 0
    on: tuple[RetryCause, ...] = (RetryCause.ERROR, RetryCause.OOM)


class Dependency(Record, frozen=True, kw_only=True):
    """Another job that must have ended in a given way first."""

    job: JobId
    when: DependencyWhen = DependencyWhen.SUCCEEDED
    same_task: bool = False
    """Between two arrays: each task waits for the task of the other with its index, and for no other."""


class ArraySpec(Record, frozen=True, kw_only=True):
    """`0-99%8`: one task per index, at most `concurrency` of them under way at once."""

    indices: tuple[int, ...]
    concurrency: int | None = None


class Interactive(Record, frozen=True, kw_only=True):
    """The first worker runs on a terminal that people attach to."""

    idle_timeout_ms: int
    """The job is told to leave after this long without a key press or any output."""


class Begin(Record, frozen=True, kw_only=True):
    """The time before which a job does not start. It waits without a place in the queue until then."""

    at_ms: int = 0
    after_ms: int = 0
    """Counted from its submission."""

    def begins_ms(self, submitted_ms: int) -> int:
        """When a job submitted at `submitted_ms` may start at the earliest."""
        return max(self.at_ms, submitted_ms + self.after_ms)


class BatchSignal(Record, frozen=True, kw_only=True):
    """A signal that announces the end of a batch script: of its time, or that it has to leave for another job."""

    name: str
    """Without `SIG`, such as `USR1`; or its number."""
    before_ms: int = 60_000
    """How long before the end."""
    script_only: bool = False
    """True when the shell of the script gets it and nothing else. Otherwise the processes of its steps get it."""


class BatchSpec(Record, frozen=True, kw_only=True):
    """How a batch script is run, for `launch: slurm`."""

    file: str = ""
    """Where the script was when it was submitted, for those who list jobs."""
    arguments: tuple[str, ...] = ()
    tasks: int = 0
    """How many processes `srun` starts when it is not told; 0 means one for each place of `tasks_per_worker`."""
    tasks_per_worker: int = 1
    cpus_per_task: int = 1
    gpus_per_task: int = 0
    """Above zero: each process of a step sees only so many GPUs."""
    output: str = ""
    """The file that the script prints to beside the log, with the patterns of Slurm such as `%j`; empty means none."""
    error: str = ""
    """The file for standard error; empty means the same as `output`."""
    append: bool = False
    signal: BatchSignal | None = None


class Bundle(Record, frozen=True, kw_only=True):
    """The files of a working directory as they were when the job was submitted."""

    id: str
    """The digest of its manifest, by which it is stored."""
    files: int = 0
    size_bytes: int = 0
    commit: str = ""
    """The commit that the files were taken from; empty when they are in no repository."""
    dirty: bool = False
    """True when the files differ from that commit."""


class Mount(Record, frozen=True, kw_only=True):
    """A folder or a file of the node that the container of a worker sees."""

    source: str
    """Its path on the node, or the claim of a volume in Kubernetes: `pvc:NAME`, or `pvc:NAME/folder`."""
    target: str
    """Its path in the container."""
    read_only: bool = False


class JobSpec(Record, frozen=True, kw_only=True):
    """A whole job file."""

    name: str
    team: TeamPath
    tier: TierName
    roles: tuple[RoleSpec, ...]
    priority: int = DEFAULT_PRIORITY
    launch: Launch = Launch.PLAIN
    batch: BatchSpec = BatchSpec()
    setup: str = ""
    workdir: str = ""
    """Where its commands run; empty means the home directory of the user that runs the node's supervisor.

    A relative one was copied when the job was submitted, and is the copy in `bundle`.
    """
    bundle: Bundle | None = None
    image: str = ""
    """The container image in which its commands run; empty means the node itself."""
    mounts: tuple[Mount, ...] = ()
    """What of the node its containers see, besides what every worker needs."""
    interactive: Interactive | None = None
    stdin: bool = False
    """The first worker reads what whoever submitted the job sends to it."""
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    parallelism: Parallelism = Parallelism()
    topology: TopologySpec = TopologySpec()
    constraint: str = ""
    """Which labels its nodes have (`model/machines/constraint.py`); empty accepts every node."""
    nodelist: tuple[NodeName, ...] = ()
    """The only nodes that it may use; empty means all."""
    exclude: tuple[NodeName, ...] = ()
    """Nodes that it does not use."""
    engine: EngineName = EngineName("")
    """The only engine whose nodes it may use; empty means any."""
    exclusive: bool = False
    """It starts only on nodes that no other job uses, and no other job uses them until it is gone."""
    begin: Begin = Begin()
    max_duration_ms: int | None = None
    """None means the maximum duration of the tier."""
    expected_duration_ms: int | None = None
    """A hint. Promises never rest on it."""
    checkpoint: CheckpointSpec | None = None
    preemptible: bool = True
    retry: Retry = Retry()
    depends_on: tuple[Dependency, ...] = ()
    array: ArraySpec | None = None
    tags: tuple[tuple[str, str], ...] = ()
    on_straggler: Remedy = Remedy.REPORT
    """What is done when one of its ranks stays slower than the others."""
    on_hang: Remedy = Remedy.REPORT
    """What is done when it stands still."""
    profile: str = ""
    """The profile that filled in what the file left out; empty when it named none."""
    effects: tuple[RuleEffect, ...] = ()
    """What admission rules did to it. This is no part of the job file."""

    @property
    def is_workdir_copied(self) -> bool:
        """True when its working directory is a copy that is made at its submission."""
        return bool(self.workdir) and not self.workdir.startswith("/")

    @property
    def can_resume(self) -> bool:
        """True when stopping the job does not lose all of its work."""
        return self.checkpoint is not None

    @property
    def elastic_role(self) -> RoleSpec | None:
        """The role that may change size, if any."""
        for role in self.roles:
            if role.is_elastic:
                return role
        return None

    @property
    def resizes_in_place(self) -> bool:
        """True when workers may leave and join while the others go on. Any other gang starts again to change its size.

        Replica groups of torchft go on by themselves. Agents of an elastic torchrun form the gang anew from those left.
        """
        is_elastic_torchrun = self.launch is Launch.TORCHRUN and self.elastic_role is not None
        return is_elastic_torchrun or self.launch is Launch.TORCHFT

    @property
    def gang_workers(self) -> int:
        """Workers of the smallest gang that runs."""
        return sum(role.workers_min for role in self.roles)

    @property
    def workers_most(self) -> int:
        """Workers of the largest gang."""
        return sum(role.workers_max for role in self.roles)

    @property
    def gang_gpu_milli(self) -> int:
        """GPU thousandths of the smallest gang that runs."""
        if len(self.roles) == 1:  # read at every event, and most jobs have one role
            return self.roles[0].workers_min * self.roles[0].request.gpu_milli
        return sum(role.workers_min * role.request.gpu_milli for role in self.roles)

    def grace_ms(self, stop_grace_ms: int) -> int:
        """How long the job may take when told to leave. `stop_grace_ms` is for jobs that do not say."""
        if self.checkpoint is None and self.batch.signal is None:
            return stop_grace_ms
        saving_ms = stop_grace_ms if self.checkpoint is None else self.checkpoint.grace_ms
        return saving_ms if self.batch.signal is None else max(saving_ms, self.batch.signal.before_ms)

    @property
    def shares_gpus(self) -> bool:
        """True when some of its workers ask for a part of a GPU."""
        if len(self.roles) == 1:
            return self.roles[0].request.is_fractional
        return any(role.request.is_fractional for role in self.roles)

    def role(self, name: str) -> RoleSpec:
        """The role called `name`. The caller knows that it exists."""
        return next(role for role in self.roles if role.name == name)


class JobChanges(Record, frozen=True, kw_only=True):
    """What may be changed about a job after it was submitted. None leaves a field as it is."""

    priority: int | None = None
    tier: TierName | None = None
    max_duration_ms: int | None = None
    tags: tuple[tuple[str, str], ...] | None = None
