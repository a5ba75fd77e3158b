"""Jobs as they are asked for: by id, user, name, account, partition and state."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from getpass import getuser

from muster.answers.jobs import Job, Why
from muster.answers.nodes import Node
from muster.client import Client
from muster.formats.sbatch.translation import job_name
from muster.formats.text.units import duration_ms
from muster.model.errors import NotFound
from muster.model.spec import Launch
from muster.slurm.options import SlurmError
from muster.slurm.showing.host_lists import ranges
from muster.slurm.showing.job_ids import JobReference, read_reference
from muster.slurm.showing.job_rows import Further, JobRow
from muster.slurm.showing.states import full_state, is_state
from muster.slurm.showing.step_rows import StepRow, step_rows

FURTHER_MAX = 50
"""How many jobs of one command are asked why they wait, or where they ran. Each takes a request. Beyond that, a reason
is `None`, which Slurm says of jobs that it has not looked at."""

MIN_JOB_AGE_S = 300
"""How long squeue and scontrol know a job after its end, as is usual in Slurm."""

STEPS_MAX = 1_000
"""How many jobs of one command are asked for their steps. Each takes a request."""

ENDED_MAX = 10_000
"""How many ended jobs a command looks at, the newest first."""

INVALID = "Invalid job id specified"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """What a command was asked to show: jobs that match everything given."""

    references: tuple[JobReference, ...] = ()
    users: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    states: frozenset[str] = frozenset()
    """In full; empty for those that are usual for the command."""

    def has(self, row: JobRow) -> bool:
        """True when a job matches everything but the references."""
        job = row.job
        return (
            (not self.users or job.user in self.users)
            and (not self.names or row.name in self.names or job.name in map(job_name, self.names))
            and (not self.accounts or job.team in self.accounts)
            and (not self.qos or job.tier in self.qos)
            and (not self.states or row.state in self.states)
            and (not self.partitions or row.partition in self.partitions)
            and (not self.nodes or not set(self.nodes).isdisjoint(row.nodes))
        )


class Cluster:
    """What a command asks of one server. Each thing is asked once."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.now = datetime.now().astimezone()
        self._asked = 0
        self._asked_for_steps = 0
        self._further = Further(why=self._why, nodes=self._last_nodes, pool=self._pool, tier_limit_s=self._tier_limit_s)

    @cached_property
    def me(self) -> str:
        """The name in which this command acts."""
        return self.client.whoami().name

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes."""
        return tuple(self.client.nodes())

    def users(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names of users. The account on this machine is the caller, whatever the server calls it."""
        own = getuser()
        return tuple(dict.fromkeys(self.me if name == own else name for name in names))

    def row(self, job: Job, *, indices: str = "") -> JobRow:
        """A line about a job."""
        return JobRow(job, self.now, self._further, indices=indices)

    def rows(
        self, wanted: JobQuery, *, with_ended: bool, each_task: bool, since: datetime | None = None
    ) -> list[JobRow]:
        """All jobs that match, with tasks in the place of arrays. Waiting tasks share a line unless `each_task`."""
        found: list[JobRow] = []
        for job in self._jobs(wanted, with_ended=with_ended, since=since):
            tasks = [job] if job.tasks is None else self._tasks(job, with_ended=with_ended)
            rows = [row for row in map(self.row, tasks) if wanted.has(row)]
            found += rows if each_task or job.tasks is None else self._gathered(rows, job)
        return found

    def named(self, reference: JobReference) -> list[Job]:
        """The jobs that a reference means. Raises `NotFound`."""
        if len(reference.indices) <= 1:
            return [self.client.job(job) for job in reference.ids]
        tasks = self.client.jobs(array=reference.job)
        return [task for task in tasks if task.array is not None and task.array.index in reference.indices]

    def _jobs(self, wanted: JobQuery, *, with_ended: bool, since: datetime | None) -> Iterator[Job]:
        if wanted.references:
            yield from self._referred(wanted.references)
            return
        found = partial(
            self.client.jobs,
            user=wanted.users[0] if len(wanted.users) == 1 else None,
            name=job_name(wanted.names[0]) if len(wanted.names) == 1 else None,
            team=wanted.accounts[0] if len(wanted.accounts) == 1 else None,
        )
        yield from found(state="active")
        if with_ended:
            ended = found(state="ended", limit=ENDED_MAX)
            yield from (job for job in ended if since is None or job.ended is None or job.ended >= since)

    def _referred(self, references: Sequence[JobReference]) -> Iterator[Job]:
        seen: set[str] = set()
        for reference in references:
            try:
                named = self.named(reference)
            except NotFound:
                continue
            yield from (job for job in named if job.id not in seen)
            seen.update(job.id for job in named)

    def _tasks(self, array: Job, *, with_ended: bool) -> list[Job]:
        return list(self.client.jobs(array=array.id, state=None if with_ended else "active"))

    def _gathered(self, rows: Sequence[JobRow], array: Job) -> list[JobRow]:
        """The rows with all waiting tasks of an array in one."""
        waiting = [row for row in rows if row.is_pending and row.job.array is not None]
        others = [row for row in rows if row not in waiting]
        if not waiting:
            return others
        numbers = ranges([row.job.array.index for row in waiting if row.job.array is not None])
        _, percent, at_once = str(array.spec.get("array", "")).partition("%")
        return [self.row(waiting[0].job, indices=numbers + percent + at_once), *others]

    def steps(self, row: JobRow) -> tuple[StepRow, ...]:
        """The steps of a job; none while it waits. Of too many jobs, only what is known without asking."""
        if row.started is None:
            return ()
        is_batch = row.job.spec.get("launch") == Launch.SLURM
        self._asked_for_steps += is_batch
        is_asked = is_batch and self._asked_for_steps <= STEPS_MAX
        return tuple(step_rows(row, self.client.steps(row.job.id) if is_asked else ()))

    @property
    def left_out_steps(self) -> bool:
        """True when there were too many jobs to ask all of them for their steps."""
        return self._asked_for_steps > STEPS_MAX

    def _may_ask(self) -> bool:
        self._asked += 1
        return self._asked <= FURTHER_MAX

    def _why(self, job: str) -> Why | None:
        return self.client.why(job) if self._may_ask() else None

    def _last_nodes(self, job: str) -> Sequence[str] | None:
        if not self._may_ask():
            return None
        starts = [event.document for event in self.client.job_events(job) if event.kind == "job_started"]
        return [worker["node"] for worker in starts[-1]["workers"]] if starts else []

    @cached_property
    def _limits_s(self) -> dict[str, float | None]:
        known = {str(tier["name"]): tier.get("max_duration") for tier in self.client.tiers()}
        return {name: None if limit is None else duration_ms(limit) / 1000 for name, limit in known.items()}

    def _tier_limit_s(self, tier: str) -> float | None:
        return self._limits_s.get(tier)

    def _pool(self, node: str) -> str | None:
        return next((each.pool for each in self.nodes if each.name == node), None)


def read_references(texts: Iterable[str], command: str) -> tuple[JobReference, ...]:
    """References as a user gave them."""
    try:
        return tuple(read_reference(text) for text in texts)
    except ValueError as error:
        raise SlurmError(f"{command}: error: Invalid job id: {error}") from None


def read_states(texts: Iterable[str], command: str) -> frozenset[str]:
    """States as a user gave them, in full; empty for `all`."""
    states = [text for text in texts if text.lower() != "all"]
    for state in states:
        if not is_state(state):
            raise SlurmError(f"{command}: error: Invalid job state specified: {state}")
    return frozenset(full_state(state) for state in states)


def is_forgotten(job: Job, now: datetime) -> bool:
    """True for a job that Slurm's controller would not know any more."""
    return job.ended is not None and (now - job.ended).total_seconds() > MIN_JOB_AGE_S
