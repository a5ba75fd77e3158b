"""What the server knows -> a question to the simulator: which jobs, on what, and what is otherwise."""

from collections.abc import Iterable, Sequence

from muster.api.rendering.traces import has_run_on_gpus, trace_job
from muster.core.order.run_times import RunTimes, run_ms
from muster.formats.text.units import duration_text
from muster.model.client_limits import WHAT_IF_JOBS
from muster.model.errors import InvalidInput
from muster.model.job import Job
from muster.model.node import ClusterSpec, NodeState
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.scenario import Rules
from muster.model.team import Team
from muster.model.trace import Trace, TraceJob
from muster.store.base import JobArchive
from muster.views.view import View

HALF = 500
"""Half of the jobs like this one take longer, and half do not, in thousandths."""

UNKNOWN_MS = HOUR_MS
"""How long a job is taken to run that has no limit and is like no job before it."""


def history(archive: JobArchive, since_ms: int) -> Trace:
    """The jobs that were submitted since then and have run: the latest of them where there are too many."""
    ran = [job for job in archive.ended() if job.submitted_ms >= since_ms and has_run_on_gpus(job)]
    if not ran:
        raise InvalidInput("no job with GPUs has run and ended in this time; choose a longer time, or the present")
    kept = ran[-WHAT_IF_JOBS:]
    begin_ms = min(job.submitted_ms for job in kept)
    return Trace(name="history", jobs=tuple(trace_job(job, begin_ms) for job in kept), skipped=len(ran) - len(kept))


def present(view: View, run_times: RunTimes, now_ms: int) -> Trace:
    """The jobs that run, with what they probably have left, and then those that wait. Waits count from now on."""
    running = sorted(view.running.values(), key=lambda job: (job.started_ms or 0, job.id))
    waiting = sorted(
        (job for job in view.jobs.values() if not job.state.holds_resources and job.ended_ms is None and not job.held),
        key=lambda job: (job.submitted_ms, job.id),
    )
    jobs = [job for job in (*running, *waiting) if job.spec.gang_gpu_milli > 0]
    if not jobs:
        raise InvalidInput("no job with GPUs runs or waits now; choose the history")
    kept = jobs[:WHAT_IF_JOBS]
    return Trace(
        name="present",
        # A millisecond apart, so that those that run are placed first, in the order in which they started.
        jobs=tuple(_left(job, place, run_times, now_ms) for place, job in enumerate(kept)),
        skipped=len(jobs) - len(kept),
    )


def _left(job: Job, submit_ms: int, run_times: RunTimes, now_ms: int) -> TraceJob:
    ran_ms = run_ms(job.spec, job.attained_gpu_ms)
    if job.state.holds_resources and job.billed_ms is not None:
        ran_ms += max(now_ms - job.billed_ms, 0)
    spec = job.spec
    learnt_ms = run_times.quantile_ms(spec, HALF, ran_ms=ran_ms)
    said_ms = spec.expected_duration_ms or spec.max_duration_ms or UNKNOWN_MS
    left_ms = max(learnt_ms if learnt_ms is not None else said_ms - ran_ms, 1000)
    return evolve(trace_job(job, job.submitted_ms - submit_ms), run_ms=left_ms, max_duration_ms=None, status="")


def cluster_of(view: View, *, as_it_is: bool) -> ClusterSpec:
    """The nodes of today: those that take work now, or all of them as if they were in order."""
    nodes = [node for node in view.nodes.values() if not as_it_is or node.state.takes_work]
    if not as_it_is:
        nodes = [evolve(node, state=NodeState.READY, bad_gpus=()) for node in nodes]
    if not nodes:
        raise InvalidInput("no node takes work now; choose the history")
    return ClusterSpec(levels=view.levels, nodes=tuple(nodes))


def with_teams_of(rules: Rules, trace: Trace) -> Rules:
    """The rules with the teams of all jobs: a team that is gone has no quota."""
    known = {team.path for team in rules.teams}
    if not known:
        return rules
    gone = dict.fromkeys(job.team for job in trace.jobs if job.team not in known)
    return evolve(rules, teams=(*rules.teams, *(Team(path=path) for path in gone)))


def facts(trace: Trace, since_ms: int | None, changes: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What is compared, in words."""
    what = "the jobs that run and wait now" if since_ms is None else f"the jobs of the last {duration_text(since_ms)}"
    said = list(changes)
    left_out: Sequence[tuple[str, str]] = (("Left out", f"{trace.skipped} jobs"),) if trace.skipped else ()
    return (("Jobs", what), ("Changed", "; ".join(said) or "nothing"), *left_out)
