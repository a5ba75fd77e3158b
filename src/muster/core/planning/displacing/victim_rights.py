"""Which running jobs a class of waiting jobs may ask to leave or to shrink, and by which right."""

from muster.core.cluster.gang import Choice
from muster.core.order.queueing import JobClass
from muster.core.planning.displacing.candidates import Spare, by_node
from muster.core.planning.displacing.horizon_rooms import Key
from muster.core.planning.displacing.reclaim_rights import NOBODY, ReclaimRights
from muster.core.planning.displacing.shrinking import shrinkable
from muster.core.planning.displacing.victims import Asked
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId

SHRINKING, STOPPING, LAST_RESORT, PROMISES_ASIDE = 0, 1, 2, 3
"""Elastic jobs that can shrink; also jobs below the tier and jobs that borrow from the team; also borrowers that no
other right could stop; the same while promises to jobs that would borrow are put aside."""


class VictimRights:
    """The rights of all classes in one cycle."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        self._shrinkable: Spare | None = None
        self.claims = ReclaimRights(draft)
        self._guarantees_first = draft.projected.shelters

    def may_reclaim(self, group: JobClass) -> bool:
        """True when the class may take back what its team is guaranteed, if that is lent."""
        return self._draft.policy.preemption and (group.may_preempt or self._guarantees_first)

    def of(self, kind: int, group: JobClass, choice: Choice) -> Key | None:
        """Which victims of a kind the class may have; None when it has no right to any.

        The smallest gang of any job comes before what elastic jobs have beyond their own. Jobs of lower tiers leave if
        the tier preempts, and borrowers while the team is inside its guarantee.
        """
        if kind == SHRINKING:
            return (SHRINKING, 0, NOBODY, False) if self.spare_workers() else None
        if kind >= LAST_RESORT:
            return self.insisting(group, choice, kind)
        has_rights = (self.preempts(group) and self._has_below(group.tier)) or self.claims.entitled(group, choice)
        return self.stopping_below(group, self.claims.number(group, choice)) if has_rights else None

    def stopping_below(self, group: JobClass, number: int) -> Key | None:
        """Jobs below the tier, and borrowers from what a claim covers; None without a right to either."""
        by_tier = self.preempts(group)
        has_rights = by_tier or (self.may_reclaim(group) and self.claims[number].borrowers)
        return (STOPPING, group.tier, number, by_tier) if has_rights else None

    def insisting(self, group: JobClass, choice: Choice, kind: int = LAST_RESORT) -> Key | None:
        """All borrowers, in every tier and preemptible or not, while the team is inside its guarantee."""
        if not self.may_reclaim(group) or not self.claims.entitled(group, choice):
            return None
        claim = self.claims[number := self.claims.number(group, choice)]
        return (kind, group.tier, number, self.preempts(group)) if claim.firm or claim.borrowers else None

    def preempts(self, group: JobClass) -> bool:
        """True when the class may stop jobs of lower tiers."""
        draft = self._draft
        return draft.policy.preemption and group.may_preempt and draft.setting.tiers[group.tier].preempts

    def _has_below(self, tier: int) -> bool:
        """False when no lower tier runs a job."""
        return any(self._draft.snapshot.running_in[tier + 1 :])

    def asked(self, group: JobClass, choice: Choice) -> Asked | None:
        """Which running jobs a class may ask to leave, at the latest in the last resort; None without any right.

        For explanations: a search for victims asks in steps.
        """
        by_tier, number = self.preempts(group), self.claims.number(group, choice)
        insists = self.insisting(group, choice) is not None
        reclaims = self.may_reclaim(group) and bool(self.claims[number].borrowers)
        if not (by_tier or insists or reclaims):
            return None
        claim, roster = self.claims[number], self.claims.roster
        return Asked(self._draft, roster, group.tier, claim, by_tier=by_tier, insists=insists)

    def spares_somebody(self, group: JobClass) -> bool:
        """True when the class has to spare a job that another team could stop for an equal gang."""
        return any(self.claims[self.claims.number(group, choice)].sheltered for choice in group.gang.choices)

    def spare_workers(self) -> Spare:
        """Workers of elastic jobs above their minimum size that were not told to shrink yet, by node."""
        draft = self._draft
        if self._shrinkable is None:
            self._shrinkable = by_node(shrinkable(draft) if draft.policy.elastic else [])
        return self._shrinkable

    def strike_off(self, job_id: JobId) -> None:
        """A job was told to leave or to shrink: it cannot be told again."""
        self.claims.roster.leave(job_id)
        spare = self.spare_workers()
        for use in self._draft.snapshot.footprints[job_id]:
            left = [victim for victim in spare.pop(use.node, []) if victim.job.id != job_id]
            if left:
                spare[use.node] = left
