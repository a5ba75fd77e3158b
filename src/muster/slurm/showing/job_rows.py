"""A job with all that Slurm would say of it. What takes another question is asked when a field shows it."""

import pwd
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from muster.answers.jobs import Job, Why
from muster.model.errors import MusterError
from muster.model.ids import JobId, job_number
from muster.slurm.showing.host_lists import compressed
from muster.slurm.showing.job_ids import number_of, shown_id
from muster.slurm.showing.states import exit_pair, known_reason, state_of, waiting_reason

COMMENT_TAG = "comment"
"""The tag under which a submission keeps `--comment`."""

DEFAULT_PARTITION = "main"
BYTES_PER_MB = 2**20

_MEMORY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "KB": 10**3, "MB": 10**6}
_MEMORY |= {"GB": 10**9, "TB": 10**12, "PB": 10**15, "B": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """What is asked of the server only when a field needs it. Each answers None when too much was asked already."""

    why: Callable[[str], Why | None]
    nodes: Callable[[str], Sequence[str] | None]
    """The nodes of the last attempt of a job that does not run."""
    pool: Callable[[str], str | None]
    """The pool of a node."""
    tier_limit_s: Callable[[str], float | None]
    """The time limit of jobs of a tier that give none."""


class JobRow:
    """One line about a job, a task, or several waiting tasks of one array."""

    def __init__(self, job: Job, now: datetime, further: Further, *, indices: str = "", step: str = "") -> None:
        self.job = job
        self.now = now
        self.step = step
        """`batch`, `extern` or a number for a line about a step."""
        self.further = further
        self._indices = indices
        """The tasks that the line is about, when it is about several: `3-9%2`."""

    @property
    def array_id(self) -> str:
        """The number of the job, or of the array of a task."""
        return str(number_of(self.job.id))

    @property
    def task_id(self) -> str:
        """The index of a task, or several; empty for a job."""
        if self._indices:
            return f"[{self._indices}]"
        return "" if self.job.array is None else str(self.job.array.index)

    @property
    def raw_id(self) -> str:
        """The number of the job, which tasks have too: `SLURM_JOB_ID` of its processes.

        Waiting tasks in one line have that of their array.
        """
        found = self.array_id if self._indices else job_number(JobId(self.job.id))
        return f"{found}.{self.step}" if self.step else found

    @property
    def job_id(self) -> str:
        """The id of the job or the task, with its step."""
        found = f"{self.array_id}_{self.task_id}" if self._indices else shown_id(self.job.id)
        return f"{found}.{self.step}" if self.step else found

    @property
    def name(self) -> str:
        """The name that it was submitted with."""
        return str(self._variable("SLURM_JOB_NAME") or self.job.name)

    @property
    def state(self) -> str:
        """Its state in full."""
        return state_of(self.job)

    @property
    def is_pending(self) -> bool:
        """True while it waits."""
        return self.state == "PENDING"

    @cached_property
    def _why(self) -> Why | None:
        try:
            return self.further.why(self.job.id)
        except MusterError:
            return None

    @cached_property
    def reason(self) -> str:
        """Why it waits, or how it ended."""
        known = known_reason(self.job)
        if known is not None:
            return known
        return "None" if self._why is None else waiting_reason(self._why)

    @property
    def exit_pair(self) -> tuple[int, int]:
        """Its exit code and signal."""
        return exit_pair(self.job)

    @property
    def partition(self) -> str:
        """The pool of the node where it runs; the one that was asked for while it waits."""
        if self.job.workers:
            return self.further.pool(self.job.workers[0].node) or DEFAULT_PARTITION
        return str(self._variable("SLURM_JOB_PARTITION") or DEFAULT_PARTITION)

    def _variable(self, name: str) -> object:
        """What the submission of a batch script noted in its environment."""
        return (self.job.spec.get("env") or {}).get(name)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes where it runs or last ran."""
        if self.job.workers:
            return tuple(dict.fromkeys(worker.node for worker in self.job.workers))
        if self.is_pending or self.job.first_started is None:
            return ()
        try:
            return tuple(dict.fromkeys(self.further.nodes(self.job.id) or ()))
        except MusterError:
            return ()

    @property
    def node_list(self) -> str:
        """The nodes as a list with brackets."""
        return compressed(self.nodes)

    @property
    def node_count(self) -> int:
        """How many nodes it has; while it waits, how many it needs at most."""
        return len(self.nodes) or self.worker_count

    @property
    def roles(self) -> list[Mapping[str, Any]]:
        """The parts of the job file that say how many workers there are and what each needs."""
        roles = self.job.spec.get("roles")
        return list(roles.values()) if roles else [self.job.spec]

    @property
    def worker_count(self) -> int:
        """Workers of the gang as it runs, or of the smallest that would run."""
        return len(self.job.workers) or sum(_workers(role) for role in self.roles)

    @property
    def batch(self) -> Mapping[str, Any]:
        """How a batch script is run; empty for other jobs."""
        found: Mapping[str, Any] = self.job.spec.get("batch") or {}
        return found

    @property
    def task_count(self) -> int:
        """How many processes a step has by default."""
        return int(self.batch.get("tasks") or self.worker_count * int(self.batch.get("tasks_per_worker", 1)))

    @property
    def cpus_per_task(self) -> int:
        """CPUs of each process."""
        return int(self.batch.get("cpus_per_task", 1))

    @property
    def cpu_count(self) -> int:
        """CPUs of the whole gang. A worker that asks for none counts as one."""
        asked = sum(_workers(role) * max(round(float(_resources(role).get("cpus", 0))), 1) for role in self.roles)
        return max(asked, self.task_count * self.cpus_per_task)

    @property
    def memory_bytes(self) -> int:
        """Memory of the whole gang; 0 when it asks for none."""
        return sum(_workers(role) * memory_bytes(_resources(role).get("memory", 0)) for role in self.roles)

    @property
    def memory_per_node(self) -> str:
        """Memory of a worker, in the units of Slurm."""
        return memory_text(memory_bytes(_resources(self.roles[0]).get("memory", 0)))

    @property
    def gpu_count(self) -> float:
        """GPUs of the whole gang."""
        return self.job.gpus

    def tres(self, *, with_billing: bool = True) -> str:
        """What it has or asks for, as `cpu=4,mem=16G,node=1`."""
        parts = [f"cpu={self.cpu_count}"]
        parts += [f"mem={memory_text(self.memory_bytes)}"] if self.memory_bytes else []
        parts += [f"node={self.node_count}"]
        parts += [f"billing={self.cpu_count}"] if with_billing else []
        parts += [f"gres/gpu={self.gpu_count:g}"] if self.gpu_count else []
        return ",".join(parts)

    @property
    def gres_per_node(self) -> str:
        """GPUs of each worker, as `gres:gpu:8`."""
        per_worker = self.job.gpus / max(self.worker_count, 1)
        return f"gres:gpu:{per_worker:g}" if self.job.gpus else "N/A"

    @property
    def started(self) -> datetime | None:
        """When the present attempt began. Of a job that has ended, when it was first started."""
        return None if self.is_pending else self.job.started or self.job.first_started

    @property
    def ended(self) -> datetime | None:
        """When it ended."""
        return self.job.ended

    @property
    def measured(self) -> Mapping[str, str]:
        """What was measured of it, by the names of fields. That is known of steps alone."""
        return {}

    @property
    def expected_start(self) -> datetime | None:
        """When it began, or when it is promised or expected to begin."""
        if not self.is_pending or self._why is None:
            return self.started
        promise, estimate = self._why.hold, self._why.estimate
        return promise.start if promise is not None else None if estimate is None else estimate.p50

    @property
    def limit_s(self) -> float | None:
        """Its time limit, or that of its tier."""
        own = self.job.max_duration_s
        return self.further.tier_limit_s(self.job.tier) if own is None else own

    @property
    def expected_end(self) -> datetime | None:
        """When it ended, or when its time is over."""
        if self.job.ended is not None or self.started is None or self.limit_s is None:
            return self.job.ended
        return self.started + timedelta(seconds=self.limit_s)

    @property
    def elapsed_s(self) -> float:
        """How long it has run."""
        if self.started is None:
            return 0
        return max(((self.ended or self.now) - self.started).total_seconds(), 0)

    @property
    def left_s(self) -> float | None:
        """How long it may still run."""
        return None if self.limit_s is None else max(self.limit_s - self.elapsed_s, 0)

    @property
    def dependency(self) -> str:
        """The jobs that it waits for, as `afterok:7`; empty once it waits no more."""
        if not self.is_pending:
            return ""
        kinds = {"succeeded": "afterok", "failed": "afternotok", "finished": "afterany"}
        return ",".join(
            f"{kinds.get(each['when'], 'afterany')}:{shown_id(each['job'])}" for each in self.job.depends_on
        )

    @property
    def user_id(self) -> int:
        """The number of the user on this machine; 0 for a name that this machine does not know."""
        try:
            return pwd.getpwnam(self.job.user).pw_uid
        except KeyError:
            return 0


def memory_bytes(text: object) -> int:
    """An amount of memory in a job file."""
    if isinstance(text, int | float):
        return int(text)
    said = str(text).strip()
    unit = next((each for each in _MEMORY if said.endswith(each)), "")
    return int(float(said.removesuffix(unit).strip() or 0) * _MEMORY.get(unit, 1))


def memory_text(amount_bytes: int) -> str:
    """Memory in the largest unit of Slurm that divides it."""
    megabytes = amount_bytes // BYTES_PER_MB
    for unit, size in (("T", 2**20), ("G", 2**10)):
        if megabytes and megabytes % size == 0:
            return f"{megabytes // size}{unit}"
    return f"{megabytes}M" if megabytes else "0"


def _resources(role: Mapping[str, Any]) -> Mapping[str, Any]:
    return role.get("resources") or {}


def _workers(role: Mapping[str, Any]) -> int:
    """The smallest number of workers: `8..16` is an elastic role."""
    return int(str(role.get("workers", 1)).partition("..")[0])
