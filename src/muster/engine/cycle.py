"""One scheduling cycle: from the present state to the instructions that are sent."""

from muster.backends.base import Backend
from muster.engine.apply import Applied, Dropped, apply
from muster.engine.controller import Controller
from muster.engine.decisions import Decisions
from muster.model.plan import Plan
from muster.model.records import Record


class CycleReport(Record, frozen=True, kw_only=True):
    """What a cycle decided, and whether it was applied."""

    plan: Plan
    outcome: Applied | Dropped


def run_cycle(controller: Controller, backend: Backend, decisions: Decisions, now_ms: int) -> CycleReport:
    """Decide which jobs start, leave and change size now, and carry it out."""
    # 1. Take one consistent snapshot. Nothing else writes while the cycle runs, and its version is checked in step 5.
    snapshot = controller.state.snapshot

    # 2. Order the waiting jobs, and 3. plan. Each decision changes which job is next, so planning orders as it goes.
    plan = decisions.plan(snapshot, now_ms)

    # 4. Lint the plan.
    problems = decisions.lint(plan, snapshot)

    # 5. Apply it or drop it.
    outcome = apply(plan, problems, controller.state)
    if isinstance(outcome, Applied):
        snapshot.queue.remember_stuck(plan.blocked, snapshot.releases)
        for event in outcome.events:
            controller.record(event)

    # 6. Send the instructions, now that the events are durable.
    for command in controller.commit():
        backend.send(command)
    return CycleReport(plan=plan, outcome=outcome)
