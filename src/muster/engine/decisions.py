"""The pure decision functions of the engine as one value, so that a test or a simulated policy can bring its own."""

from collections.abc import Callable
from dataclasses import dataclass, field

from muster.core.admission import Admitted, Gate, Rejected
from muster.core.cluster.setting import Setting
from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.planning.standstill import Rest, rest
from muster.core.snapshot import Snapshot
from muster.model.plan import Plan
from muster.model.spec import JobSpec

Admission = Callable[[JobSpec, Snapshot], Admitted | Rejected]
Planner = Callable[[Snapshot, int], Plan]
Linter = Callable[[Plan, Snapshot], tuple[str, ...]]


class Gatekeeper:
    """Admission that reuses its gate until the setting of the cluster changes: a new gate has to look at every node."""

    def __init__(self) -> None:
        self._setting: Setting | None = None
        self._gate: Gate | None = None

    def __call__(self, spec: JobSpec, snapshot: Snapshot) -> Admitted | Rejected:
        """Admit a job, or say why it can never run."""
        if self._gate is None or self._setting is not snapshot.setting:
            self._setting, self._gate = snapshot.setting, Gate(snapshot)
        return self._gate.admit(spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """Which jobs are admitted, what is planned, and whether the plan is sound."""

    admit: Admission = field(default_factory=Gatekeeper)
    plan: Planner = plan
    lint: Linter = lint

    def rest(self, snapshot: Snapshot, now_ms: int) -> Rest | None:
        """What is known without a plan if it would change nothing; None for planners other than that of the core."""
        return rest(snapshot, now_ms) if self.plan is plan else None
