"""Why a job waits that would fit: no job may pass a blocked one, quota is promised, or the last GPUs are kept."""

from muster.core.cluster.gang import Gang
from muster.core.explaining.wording import named
from muster.core.order.queueing import JobClass
from muster.core.order.service import NEWCOMERS, band_ends_gpu_ms
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId
from muster.model.plan import Reason, ReasonCode
from muster.model.policy import HOUR_MS
from muster.model.resources import typed_gpus_text

STRICT = "backfill"
"""The rule by which no job passes a blocked one, where the policy has no backfill."""

RESERVE = "reserve"
"""The rule that keeps the last free GPUs for jobs that have had little."""


class WaitingLine:
    """The jobs that a plan leaves waiting, as one of them sees the others."""

    def __init__(self, draft: PlanDraft, in_order: list[JobId]) -> None:
        """`draft` is the state after the plan."""
        self._draft = draft
        self._first = in_order[0] if in_order else None

    def within_quota(self, group: JobClass, gang: Gang) -> Gang:
        """A gang with those of its choices for which neither a limit nor a promise to another job refuses quota.

        With all of them where quota refuses every choice: then it is not known which one would be taken.
        """
        end_ms = self._draft.now_ms + group.limit_ms
        refused = [self._draft.quota_refusal(group.account, choice, end_ms) is not None for choice in gang.choices]
        if all(refused) or not any(refused):
            return gang
        return gang._replace(choices=tuple(c for c, is_not in zip(gang.choices, refused, strict=True) if not is_not))

    def reasons(self, job_id: JobId, group: JobClass, gang: Gang) -> tuple[Reason, ...]:
        """Why the job could not start even if it fitted; empty when only room is missing."""
        return (*self._strict(job_id), *self._of_quota(group, gang), *self._reserved(group))

    def _strict(self, job_id: JobId) -> tuple[Reason, ...]:
        if self._draft.policy.backfill or self._first is None or self._first == job_id:
            return ()
        return (
            Reason(
                code=ReasonCode.HELD_BY_OTHERS,
                message=f"waits behind {self._first}: the policy lets nothing pass a blocked job",
                would_help="a higher tier or priority, or a policy with backfill",
                about=(str(self._first),),
                rule=STRICT,
            ),
        )

    def _of_quota(self, group: JobClass, gang: Gang) -> tuple[Reason, ...]:
        """Jobs to which the quota of the team is promised, where that refuses every choice that limits allow."""
        draft, end_ms = self._draft, self._draft.now_ms + group.limit_ms
        refusals = [draft.quota_refusal(group.account, choice, end_ms) for choice in gang.choices]
        promised = [refusal[1] for refusal in refusals if refusal and refusal[0] is ReasonCode.HELD_BY_OTHERS]
        if not promised or not all(refusals):
            return ()
        jobs = tuple(dict.fromkeys(promised))
        return (
            Reason(
                code=ReasonCode.HELD_BY_OTHERS,
                message=f"waits behind {named(jobs)}, which it must not delay: the team has no quota left for both",
                would_help="a shorter max_duration lets it run in front, or a higher limit",
                about=jobs,
                rule="limit",
            ),
        )

    def _reserved(self, group: JobClass) -> tuple[Reason, ...]:
        """The free GPUs that jobs beyond the first band leave to newcomers, if the class would take one of them."""
        kept_milli, free_milli = self._draft.setting.turn_reserve_milli, self._draft.free.free_milli[0][0]
        if group.band == NEWCOMERS or not kept_milli or not 0 <= free_milli - group.gpu_milli < kept_milli:
            return ()
        had = (band_ends_gpu_ms(NEWCOMERS) or 0) // HOUR_MS
        return (
            Reason(
                code=ReasonCode.HELD_BY_OTHERS,
                message=f"the last {typed_gpus_text(kept_milli, '')} that are free are kept for jobs that have had "
                f"less than {had} GPU hour{'' if had == 1 else 's'}",
                would_help="more GPUs coming free",
                rule=RESERVE,
            ),
        )


AT_THE_NEXT_CHANGE = Reason(
    code=ReasonCode.HELD_BY_OTHERS,
    message="it would fit, and jobs in front of it were decided first",
    would_help="nothing needed: it is considered again at the next change",
    rule="next change",
)
"""What is left to say when a job would fit: the situation has changed since the plan, or the plan was too long."""
