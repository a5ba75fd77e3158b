"""What a user who asks about one job is told beside its reasons, because it takes longer to find out.

Which jobs have the GPUs that it lacks and until when, who uses up a quota, who borrows what a team is guaranteed, and
with which smaller size the job would start now.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from muster.core.cluster.gang import gang_of
from muster.core.explaining.explain import Explanation
from muster.core.explaining.in_line import RESERVE, STRICT
from muster.core.explaining.post_plan import PostPlan
from muster.core.explaining.wording import NAMED, time_left
from muster.core.order.quota import Ledger, account_of
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType, JobId, TeamPath
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan, Reason, ReasonCode
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI, gpus_text, typed_gpus_text
from muster.model.spec import JobSpec, RoleSpec
from muster.model.team import ANY_TYPE, ancestors

_LACKS_ROOM = (ReasonCode.CAPACITY, ReasonCode.FRAGMENTED, ReasonCode.TOPOLOGY)

_NOT_BY_SIZE = (
    ReasonCode.HELD,
    ReasonCode.DEPENDENCY,
    ReasonCode.BEGIN,
    ReasonCode.NEVER_FITS,
    ReasonCode.RESERVATION,
)
"""Codes of reasons that keep a job of any size waiting, or of which it is not known."""


class Background:
    """Answers for the jobs that one plan leaves waiting."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._promises = {promise.job: promise for promise in plan.promises}
        self._post_plan: PostPlan | None = None

    def added_to(self, explained: Explanation) -> Explanation:
        """The same explanation with these answers."""
        job = self._snapshot.queue.jobs.get(explained.job)
        if job is None:
            return explained
        if self._post_plan is None:
            self._post_plan = PostPlan(self._snapshot, self._plan)
        reasons = tuple(self._with_detail(reason, job) for reason in explained.reasons)
        return replace(explained, reasons=reasons, starts_if=tuple(self._smaller(job, explained.reasons)))

    def _with_detail(self, reason: Reason, job: WaitingJob) -> Reason:
        match reason.code:
            case ReasonCode.QUOTA_LIMIT:
                detail = self._quota_users(TeamPath(reason.about[0]), GpuType(reason.about[1]))
            case ReasonCode.QUOTA_BORROW:
                detail = self._borrowers()
            case code if code in _LACKS_ROOM and not reason.about:
                detail = " ".join(filter(None, (self._holders_for(job), self._lent(job))))
            case _:
                detail = ""
        return evolve(reason, detail=detail) if detail else reason

    def _holders_for(self, job: WaitingJob) -> str:
        """The running jobs that have GPUs which the job could use."""
        _, gang = self._snapshot.queue.gang(job)
        asks = [(ask.gpu_type, ask.pools) for choice in gang.choices for ask in choice.asks if ask.gpu_type is not None]
        tree = self._snapshot.setting.tree

        def milli(other: RunningJob) -> int:
            nodes = ((tree.nodes[tree.index_of[worker.node]], worker) for worker in other.workers)
            return sum(
                worker.gpu_milli
                for node, worker in nodes
                if any(node.gpu_type == kind and node.pool in pools for kind, pools in asks)
            )

        return self._holders(self._snapshot.running.values(), milli)

    def _quota_users(self, team: TeamPath, gpu_type: GpuType) -> str:
        """The jobs that a limit of a team counts."""
        mine = [job for job in self._snapshot.running.values() if team in ancestors(account_of(job))]
        return self._holders(mine, lambda job: dict(self._snapshot.demands[job.id]).get(gpu_type, 0))

    def _holders(self, jobs: Iterable[RunningJob], milli: Callable[[RunningJob], int]) -> str:
        """`a has 8 GPUs for 2 h at most, b 4 for 3 h at most`, the first to end in front."""
        draft = self._post().draft
        found = sorted((draft.end_ms(job), job.id, held) for job in jobs if (held := milli(job)))
        if not found:
            return ""
        told = [
            f"{job_id} has {typed_gpus_text(held, '')} {self._how_long(job_id, end_ms)}"
            for end_ms, job_id, held in found[:NAMED]
        ]
        rest = found[NAMED:]
        if rest:
            have = "other job has" if len(rest) == 1 else "other jobs have"
            told.append(f"and {len(rest)} {have} {gpus_text(sum(held for _, _, held in rest))}")
        return "; ".join(told) + "."

    def _how_long(self, job_id: JobId, end_ms: int) -> str:
        job = self._snapshot.running[job_id]
        left = time_left(end_ms - self._plan.now_ms)
        if job_id in self._post().draft.leaving or job.leaving_by_ms is not None:
            return f"and was told to leave within {left}"
        unlimited = " (the limit of its tier, as it gives no max_duration)" if job.spec.max_duration_ms is None else ""
        return f"for {left} at most{unlimited}"

    def _lent(self, job: WaitingJob) -> str:
        """Who borrows, for a job that its team's guarantee covers."""
        ledger = self._post().ledger
        _, gang = self._snapshot.queue.gang(job)
        teams = ledger.guaranteed_above(job.spec.team)
        is_covered = any(ledger.within_guarantee(team, choice.demand) for team in teams for choice in gang.choices)
        return self._borrowers() if is_covered else ""

    def _borrowers(self) -> str:
        """The teams that use more than they are guaranteed, where any team is guaranteed anything."""
        ledger = self._post().ledger
        if not ledger.guarantees_anything:
            return ""
        found = list(self._borrowed(ledger))
        teams = {team for team, _, _ in found}
        # What a sub-team borrows is counted with the team above it.
        told = [
            f"team {team} borrows {typed_gpus_text(milli, kind)}"
            for team, kind, milli in found
            if teams.isdisjoint(ancestors(team)[1:])
        ]
        return f"Of what other teams leave idle, {', '.join(told)}." if told else ""

    def _borrowed(self, ledger: Ledger) -> Iterator[tuple[TeamPath, GpuType, int]]:
        """Each team, the type of GPUs and how many of them it borrows, by the innermost team with a guarantee."""
        accounts = sorted({account_of(job) for job in self._snapshot.running.values()})
        above = {account: (*ledger.guaranteed_above(account), account)[0] for account in accounts}
        for team in dict.fromkeys(above.values()):
            guaranteed = dict(ledger.teams[team].guaranteed) if team in ledger.teams else {}
            for kind in guaranteed or {ANY_TYPE: 0}:
                over_milli = ledger.used_milli(team, kind) - guaranteed.get(kind, 0)
                if over_milli > 0:
                    yield team, kind, over_milli

    def _smaller(self, job: WaitingJob, reasons: tuple[Reason, ...]) -> Iterator[str]:
        """With how many workers, or how many GPUs for each, the job would start now."""
        role = job.spec.roles[0]
        if len(job.spec.roles) > 1 or any(
            each.code in _NOT_BY_SIZE or each.rule in (STRICT, RESERVE) for each in reasons
        ):
            return
        workers = _most(role.workers_min - 1, lambda count: self._starts(job, _with_workers(job.spec, role, count)))
        if workers:
            yield f"with {workers} worker{'' if workers == 1 else 's'} instead of {role.workers_min}"
        gpus = role.request.gpu_milli // GPU_MILLI
        fewer = _most(gpus - 1, lambda count: self._starts(job, _with_gpus(job.spec, role, count)))
        if fewer:
            yield f"with {typed_gpus_text(fewer * GPU_MILLI, '')} for each worker instead of {gpus}"

    def _starts(self, job: WaitingJob, spec: JobSpec) -> bool:
        """True when a job that asks for something else has room and quota now, and delays no promise."""
        setting, draft = self._snapshot.setting, self._post().draft
        gang = gang_of(spec, setting, user=job.user)
        end_ms = draft.now_ms + setting.limit_ms(spec)
        allowed = [each for each in gang.choices if draft.quota_refusal(account_of(job), each, end_ms) is None]
        if not allowed:
            return False
        level = gang.level_at(draft.now_ms, spec.topology.relaxes_ms(job.submitted_ms))
        gang, promise = gang._replace(choices=tuple(allowed)), self._promises.get(job.id)
        if promise is None:
            return not self._post().why_not(gang, spec, level, end_ms)
        return not self._post().why_not_yet(promise, gang, spec, level, end_ms)

    def _post(self) -> PostPlan:
        assert self._post_plan is not None
        return self._post_plan


def _most(limit: int, is_enough: Callable[[int], bool]) -> int:
    """The largest number from 1 to a limit that will do, if all smaller ones do then; 0 when none does."""
    low, high = 0, max(limit, 0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_enough(middle) else (low, middle - 1)
    return low


def _with_workers(spec: JobSpec, role: RoleSpec, workers: int) -> JobSpec:
    return evolve(spec, roles=(evolve(role, workers_min=workers, workers_max=workers),))


def _with_gpus(spec: JobSpec, role: RoleSpec, gpus: int) -> JobSpec:
    return evolve(spec, roles=(evolve(role, request=evolve(role.request, gpu_milli=gpus * GPU_MILLI)),))
