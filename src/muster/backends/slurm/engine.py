"""Slurm as an engine underneath Muster, by its own programs: sbatch, squeue, scancel, scontrol, sacct.

It needs no rights beyond those of a user who may submit to the partition. The port is `AllocationEngine`.
"""

import pwd
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from muster.backends.allocations.adapter import EngineAdapter
from muster.backends.allocations.delivery import NO_PYTHON, AgentDelivery, no_python
from muster.backends.allocations.engine import (
    AllocationPhase,
    AllocationRequest,
    EngineNode,
    EngineSilent,
    RequestRefused,
    SeenAllocation,
)
from muster.backends.slurm.fields import fields_of
from muster.backends.slurm.jobs import FORMAT, comment_of, rows_of, seen
from muster.backends.slurm.nodes import nodes_of, switches_of
from muster.backends.slurm.programs import SlurmPrograms
from muster.backends.slurm.script import options_of, script_of
from muster.model.ids import EngineName
from muster.model.job import Cause

CANCELLERS_KEPT = 1_000
"""Of how many cancelled jobs it is remembered who did it. Slurm itself forgets jobs after minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    """Which part of a Slurm is used, and how."""

    name: EngineName
    partition: str
    account: str = ""
    qos: str = ""
    output: Path | None = None
    """The folder on the nodes for what agents say; None throws it away."""
    options: tuple[str, ...] = ()
    """More options for sbatch, as an operator writes them."""


class SlurmEngine(EngineAdapter[SlurmSettings]):
    """One partition of a Slurm."""

    def __init__(
        self,
        settings: SlurmSettings,
        programs: SlurmPrograms,
        *,
        mark: Callable[[], str],
        arrival: Callable[[], AgentDelivery],
    ) -> None:
        """`mark` tells the jobs of this Muster from those of others that the same user runs."""
        super().__init__(settings, arrival)
        self._programs = programs
        self._mark = mark
        self._cancellers: dict[str, str] = {}
        """By job, who has cancelled it, as far as Slurm's accounting knows."""
        self._mistakes: dict[str, bool] = {}
        """By job that failed, whether a node lacked what an agent needs."""

    def inventory(self) -> tuple[EngineNode, ...]:
        """The nodes of the partition."""
        self.check_partition()
        text = self._asked("scontrol", "-d", "-o", "show", "node")
        return nodes_of(
            text, engine=self.name, partition=self._settings.partition, switches=switches_of(self._topology())
        )

    def check_partition(self) -> None:
        """Raise `EngineSilent` for a partition that is not there, or that takes no jobs."""
        partition = self._settings.partition
        try:
            found = fields_of(self._programs.run("scontrol", "-o", "show", "partition", partition))
        except RequestRefused as refused:
            raise EngineSilent(
                f"Slurm has no partition {partition!r} ({refused}): `sinfo -s` lists those that there are; correct "
                f"`partition` of the engine {self.name} in muster.toml"
            ) from None
        if found.get("State", "UP") != "UP":
            raise EngineSilent(f"the partition {partition} is {found['State'].lower()} in Slurm")

    def submit(self, request: AllocationRequest) -> str:
        """Submit the batch job of an allocation."""
        settings, extra = self._settings, list(self._settings.options)
        extra += [f"--account={settings.account}"] if settings.account else []
        extra += [f"--qos={settings.qos}"] if settings.qos else []
        options = options_of(
            request,
            partition=settings.partition,
            comment=comment_of(self._mark(), request.id),
            output="/dev/null" if settings.output is None else f"{settings.output}/%x-%j.out",
            extra=[*extra, "--chdir=/"],
        )
        said = self._programs.run("sbatch", "--parsable", *options, given=script_of(request, self._arrival()))
        return said.strip().partition(";")[0]

    def cancel(self, engine_id: str) -> None:
        """Cancel a job. One that has ended already is left alone."""
        try:
            self._programs.run("scancel", "--quiet", engine_id)
        except RequestRefused as refused:
            if "invalid job id" not in str(refused).lower():
                raise EngineSilent(str(refused)) from None

    def look(self) -> tuple[SeenAllocation, ...]:
        """All jobs of this Muster that Slurm remembers."""
        text = self._asked("squeue", "--me", "--states=all", "--noheader", f"--format={FORMAT}")
        return tuple(self._explained(each) for each in seen(rows_of(text, self._mark())))

    def _topology(self) -> str:
        try:
            return self._programs.run("scontrol", "-o", "show", "topology")
        except RequestRefused:
            return ""  # none is configured

    def _asked(self, name: str, *words: str) -> str:
        """What a question was answered with. A question that is refused gave no answer."""
        try:
            return self._programs.run(name, *words)
        except RequestRefused as refused:
            raise EngineSilent(f"{name}: {refused}") from None

    def _explained(self, found: SeenAllocation) -> SeenAllocation:
        """With who has cancelled it, where Slurm keeps accounts, and with what its nodes lack."""
        if found.phase is AllocationPhase.ENDED and found.cause is Cause.NODE_FAILURE:
            return self._without_python(found)
        if found.phase is not AllocationPhase.ENDED or found.cause is not Cause.CANCELLED:
            return found
        if found.engine_id not in self._cancellers:
            if len(self._cancellers) >= CANCELLERS_KEPT:
                self._cancellers.clear()
            self._cancellers[found.engine_id] = self._canceller(found.engine_id)
        who = self._cancellers[found.engine_id]
        because = f"cancelled in Slurm by {who}" if who else f"{found.because}, job {found.engine_id}"
        return SeenAllocation(
            id=found.id, engine_id=found.engine_id, phase=found.phase, cause=found.cause, because=because
        )

    def _without_python(self, found: SeenAllocation) -> SeenAllocation:
        """A job that failed because no agent could be run on a node would fail there again."""
        if found.engine_id not in self._mistakes:
            if len(self._mistakes) >= CANCELLERS_KEPT:
                self._mistakes.clear()
            self._mistakes[found.engine_id] = self._lacks_python(found.engine_id)
        if not self._mistakes[found.engine_id]:
            return found
        because = no_python("a node of it has no", self._arrival().python, self.name)
        return replace(found, cause=Cause.ERROR, because=because, is_mistake=True)

    def _lacks_python(self, engine_id: str) -> bool:
        """Whether the job says so. While Slurm is silent nothing is known, so that the look has to be made again."""
        try:
            return f"ExitCode={NO_PYTHON}:0" in self._programs.run("scontrol", "-o", "show", "job", engine_id).split()
        except RequestRefused:
            return False

    def _canceller(self, engine_id: str) -> str:
        """The user in `CANCELLED by 1000`; empty where there is no accounting."""
        try:
            said = self._programs.run("sacct", "-X", "-n", "-P", "-j", engine_id, "-o", "State%60")
        except (RequestRefused, EngineSilent):
            return ""
        _, by, user = said.strip().partition(" by ")
        return _name_of(user.split()[0]) if by and user.split() else ""


def _name_of(user: str) -> str:

    try:
        return pwd.getpwuid(int(user)).pw_name
    except (KeyError, ValueError):
        return f"user {user}"
