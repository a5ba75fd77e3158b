"""One cycle on a situation as plain values: admit, plan, lint, explain. Needs no server and changes nothing."""

from dataclasses import dataclass, replace

from muster.core.admission import Gate, Rejected
from muster.core.explaining.background import Background
from muster.core.explaining.explain import Explanation, explain_all, with_place
from muster.core.explaining.place_in_tier import PlacesInTier, ServiceHistory, places_in_tier
from muster.core.order.entitlements import Entitlements
from muster.core.order.recent_preemptions import RecentPreemptions
from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.errors import InvariantViolated
from muster.model.ids import JobId
from muster.model.plan import Plan, ReasonCode
from muster.model.records import evolve
from muster.model.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A waiting job that can never run."""

    job: JobId
    code: ReasonCode
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one cycle makes of a situation."""

    plan: Plan
    explanations: tuple[Explanation, ...]
    rejected: tuple[Rejection, ...]
    places: PlacesInTier | None = None
    """What each waiting job can be told about its place; None where jobs take no turns."""
    background: Background | None = None
    """What a user who asks about one job is told beside its reasons."""

    def in_full(self, explained: Explanation) -> Explanation:
        """An explanation with what takes longer to find out: the place of the job, and who has what it lacks."""
        placed = with_place(explained, self.places)
        return placed if self.background is None else self.background.added_to(placed)


def decide(
    scenario: Scenario, entitlements: Entitlements | None = None, history: ServiceHistory | None = None
) -> Decision:
    """Plan one cycle and explain the result.

    Without `entitlements` it is not known what jobs were due in the past. Turns then go by GPU time alone.
    """
    snapshot, rejected = _admitted(scenario, entitlements, history)
    made = plan(snapshot, scenario.now_ms)
    violations = lint(made, snapshot)
    if violations:
        raise InvariantViolated("the plan is not sound: " + "; ".join(violations))
    return _explained(snapshot, made, rejected, history)


def decide_in_full(scenario: Scenario) -> Decision:
    """The same with everything that can be said about every waiting job, which takes longer."""
    decision = decide(scenario)
    return replace(decision, explanations=tuple(map(decision.in_full, decision.explanations)))


def explain_decided(
    scenario: Scenario, entitlements: Entitlements, decided: Plan, history: ServiceHistory | None = None
) -> Decision:
    """Explain why jobs wait, using a plan that was carried out instead of planning again.

    The situation may be newer than the plan. The jobs that the plan started run by now. A promise of the plan counts
    only while its job still waits.
    """
    snapshot, rejected = _admitted(scenario, entitlements, history)
    promises = tuple(promise for promise in decided.promises if promise.job in snapshot.queue.jobs)
    left = Plan(version=snapshot.version, now_ms=scenario.now_ms, promises=promises, blocked=decided.blocked)
    return _explained(snapshot, left, rejected, history)


def _explained(
    snapshot: Snapshot, made: Plan, rejected: tuple[Rejection, ...], history: ServiceHistory | None
) -> Decision:
    return Decision(
        plan=made,
        explanations=explain_all(snapshot, made, made.now_ms),
        rejected=rejected,
        places=places_in_tier(snapshot, made, history),
        background=Background(snapshot, made),
    )


def _admitted(
    scenario: Scenario, entitlements: Entitlements | None, history: ServiceHistory | None
) -> tuple[Snapshot, tuple[Rejection, ...]]:
    """The situation without the waiting jobs that can never run, and the list of these jobs."""
    gate = Gate(Snapshot.of(evolve(scenario, running=(), waiting=(), promises=())))
    rejected: list[Rejection] = []
    admitted = []
    for job in scenario.waiting:
        outcome = gate.admit(job.spec)
        if isinstance(outcome, Rejected):
            rejected.append(Rejection(job=job.id, code=outcome.code, message=outcome.message))
        else:
            admitted.append(job)
    snapshot = Snapshot.of(evolve(scenario, waiting=tuple(admitted)), entitlements)
    if history is not None and history.preempted:
        snapshot.recent_preemptions = RecentPreemptions.of(history.preempted)
    return snapshot, tuple(rejected)
