"""What a cycle makes of a situation, in the few words that tests compare."""

from muster.core.explaining.explain import Explanation, explain_all
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.plan import Plan
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS

Where = list[tuple[str, tuple[int, ...]]]


def planned(scenario: Scenario) -> Plan:
    return plan(Snapshot.of(scenario), scenario.now_ms)


def with_dues(scenario: Scenario) -> Snapshot:
    """A snapshot that knows since when each job has been there."""
    snapshot = Snapshot.of(evolve(scenario, now_ms=0))
    jobs = [(job.submitted_ms, job.id, job.spec.team) for job in scenario.running]
    jobs += [(job.submitted_ms, job.id, job.spec.team) for job in scenario.waiting]
    for submitted_ms, job_id, team in sorted(jobs):
        snapshot.entitlements.join(job_id, team, submitted_ms)
    return snapshot


def started(scenario: Scenario) -> list[str]:
    """Which jobs start, in the order decided."""
    return [start.job for start in planned(scenario).starts]


def seats(scenario: Scenario) -> dict[str, Where]:
    """The node and devices of every worker that starts, by job and in rank order."""
    return {start.job: [(each.node, each.gpus) for each in start.workers] for start in planned(scenario).starts}


def nodes_used(scenario: Scenario, job: str = "w") -> list[str]:
    """The nodes of a job that starts, in rank order, each once."""
    return list(dict.fromkeys(node for node, _ in seats(scenario)[job]))


def evicted(scenario: Scenario) -> list[tuple[str, str, str]]:
    """Which job leaves for which one, and why."""
    return [(entry.job, entry.for_job, entry.why.value) for entry in planned(scenario).evictions]


def resized(scenario: Scenario) -> list[tuple[str, int, int, str | None]]:
    """Which job changes size, from what, to what, for which one."""
    return [(each.job, each.from_workers, each.to_workers, each.for_job) for each in planned(scenario).resizes]


def promised(scenario: Scenario) -> dict[str, tuple[int, tuple[str, ...]]]:
    """In how many milliseconds and on which nodes each promised job starts."""
    return {promise.job: (promise.start_ms - NOW_MS, promise.nodes) for promise in planned(scenario).promises}


def explained(scenario: Scenario) -> dict[str, Explanation]:
    """The explanation of every job that waits, in queue order."""
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    return {each.job: each for each in explain_all(snapshot, made, scenario.now_ms)}


def codes(scenario: Scenario, job: str = "w") -> list[str]:
    """The reason codes of one waiting job."""
    return [reason.code.value for reason in explained(scenario)[job].reasons]
