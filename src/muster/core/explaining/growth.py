"""Why a running elastic job is not larger than it is."""

from muster.core.planning.draft import PlanDraft
from muster.core.planning.rearranging.growing import NoGrowth, missing_for_growth, no_growth
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import RunningJob
from muster.model.plan import ReasonCode
from muster.model.resources import GPU_MILLI, gpus_text
from muster.model.spec import RoleSpec

_BECAUSE: dict[NoGrowth, str] = {
    NoGrowth.CHANGING: "it is changing its size or about to leave, or one of its workers has ended",
    NoGrowth.NO_CHECKPOINT: (
        "it would have to start again, because its launcher cannot take in workers, and it has no `checkpoint` to go on"
        " from"
    ),
    NoGrowth.ENDING: "it must end soon, so a restart would cost more than it gains",
    NoGrowth.RECENT: "it was started or changed its size less than `min_runtime` ago",
    NoGrowth.NOT_HERE: (
        "it would have to start again, because its launcher cannot take in workers, and one of its nodes takes no work"
    ),
}


def why_no_larger(job_id: JobId, snapshot: Snapshot, now_ms: int) -> str:
    """What keeps a running elastic job from one more worker, in words; empty when it has as many as it may."""
    job = snapshot.running.get(job_id)
    role = None if job is None else job.spec.elastic_role
    if job is None or role is None:
        return ""
    if sum(worker.role == role.name for worker in job.workers) >= role.workers_max:
        return ""
    if not snapshot.setting.policy.elastic:
        return "the policy lets no job grow: `elastic` is off"
    draft = PlanDraft(snapshot, now_ms)
    bar = no_growth(draft, job, draft.end_ms(job))
    return _what_is_missing(draft, job, role) if bar is None else _BECAUSE[bar]


def _what_is_missing(draft: PlanDraft, job: RunningJob, role: RoleSpec) -> str:
    missing = missing_for_growth(draft, job, role)
    snapshot = draft.snapshot
    match missing:
        case None if snapshot.promises:
            first = next(iter(snapshot.promises))
            return f"what is free is promised to other jobs, such as {first}"
        case None if snapshot.queue.jobs:
            return "other jobs wait, and come before it"
        case None:
            return "there is room, and it grows with the next plan"
        case (ReasonCode.CAPACITY, _):
            return f"no node that it may use has room for one more worker{_with_gpus(role)}"
        case (ReasonCode.GPU_TYPE, _):
            return "no other node has the GPUs that it runs on"
        case (_, team):
            return f"the quota of {team or job.spec.team} does not allow one more worker"


def _with_gpus(role: RoleSpec) -> str:
    milli = role.request.gpu_milli
    return f", which needs {gpus_text(milli)} GPU{'s' * (milli != GPU_MILLI)}" if milli else ""
