"""Whose turn is over: jobs that can resume and have run longer than most jobs here ever do.

They give way to jobs of their tier that have never run. Short jobs then start almost at once, and a long one pays for
it with a restart now and then: it keeps what it has saved and its place in the queue.

Where teams were declared, who has got ahead of what its team's weight makes it due is asked first: it can wait and
still finish in fair time. Next come those that are behind already, as far as their patience goes, and only then
anybody who has never been kept waiting at all. Where several have to leave the cheapest do, and one of the last counts
as many others.

A job that would begin on GPUs slower than it is due asks as well, but only those who are ahead on faster ones: they
can go on where it would have begun. A job is ahead sooner on fast GPUs, because it gets on faster than its share would
let it.
"""

from bisect import bisect_right

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.gang import Choice, Gang
from muster.core.cluster.states import Ask
from muster.core.planning.draft import PlanDraft
from muster.core.planning.fair_position import AHEAD, EVEN, fair_position, is_settled
from muster.core.planning.placing import place
from muster.core.planning.search import Allowance, Sacrifice
from muster.core.planning.victims import Victim, may_be_stopped, victim_of
from muster.model.ids import GpuType, JobId
from muster.model.limits import TURN_EVEN_COST, TURNS_TRIED
from muster.model.plan import Why


class Turns:
    """Who has had his turn in this cycle, by tier, in the order in which they are asked."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        self._over: dict[tuple[int, bool], list[JobId]] | None = None
        self._standings: dict[JobId, int] = {}

    @property
    def anybody(self) -> bool:
        """False when nobody's turn was over when this was first asked."""
        if self._over is None:
            self._over = self._find()
        return bool(self._over)

    def over(self, tier: int, *, starved: bool) -> list[JobId]:
        """Jobs of a tier whose turn is over and who may be asked to leave, those that have starved apart."""
        return self._over.get((tier, starved), []) if self.anybody and self._over is not None else []

    def ahead(self, tier: int) -> list[JobId]:
        """Those that may leave their GPUs to a job that would begin on slower ones.

        They have not starved, are ahead of what they are due, could go on on slower ones, and have been where they are
        for long.
        """
        jobs = self.over(tier, starved=False)
        ahead = jobs[: bisect_right(jobs, AHEAD, key=lambda job_id: self._standings[job_id])]
        running, paces = self._draft.snapshot.running, self._draft.snapshot.paces
        return [
            job_id for job_id in ahead if job_id in paces.content_with_less and is_settled(self._draft, running[job_id])
        ]

    def victim(self, job_id: JobId) -> Victim:
        """One whose turn is over as a victim; who was never kept waiting costs more than any few others."""
        victim = victim_of(self._draft, self._draft.snapshot.running[job_id], Why.TURN)
        return victim._replace(cost=(victim.cost + 1) * TURN_EVEN_COST) if self._standings[job_id] == EVEN else victim

    def on_type(self, jobs: list[JobId], gpu_type: GpuType | None) -> list[JobId]:
        """Those of some jobs that have GPUs of a type; all of them where there is only one."""
        setting, footprints = self._draft.setting, self._draft.snapshot.footprints
        if gpu_type is None or len(setting.gpu_types) == 1:
            return jobs
        nodes = setting.tree.nodes
        return [job for job in jobs if any(nodes[use.node].gpu_type == gpu_type for use in footprints[job])]

    def leave(self, job_id: JobId) -> None:
        """A job was told to leave: it cannot be asked again."""
        for jobs in (self._over or {}).values():
            if job_id in jobs:
                jobs.remove(job_id)

    def _find(self) -> dict[tuple[int, bool], list[JobId]]:
        draft, snapshot = self._draft, self._draft.snapshot
        if not draft.policy.takes_turns or snapshot.turn_ms is None:
            return {}
        found: dict[tuple[int, bool], list[tuple[int, int, JobId]]] = {}
        last_ms = draft.now_ms - snapshot.turn_ms
        for began_ms, job_id in snapshot.turns:
            if began_ms > last_ms:  # They are in this order: the turns of all others are not over.
                break
            job = snapshot.running[job_id]
            if may_be_stopped(draft, job):
                self._standings[job_id] = stands = fair_position(draft, job)
                # Who had most GPU time is asked first among those who stand alike.
                order = (stands, (began_ms - draft.now_ms) * job.spec.gang_gpu_milli, job_id)
                found.setdefault((draft.setting.tier_rank[job.spec.tier], job.starved), []).append(order)
        return {whom: [job_id for _, _, job_id in sorted(orders)] for whom, orders in found.items()}


def one_makes_room(
    turns: Turns,
    jobs: list[JobId],
    departed: Capacity,
    gang: Gang,
    choice: Choice,
    widest: int,
    allowance: Allowance,
) -> Sacrifice | None:
    """The first of these jobs who makes room for a gang by leaving alone; None when nobody does."""
    if len(gang.parts) > 1 or gang.parts[0].workers > 1:
        return None
    ask = choice.asks[0]
    for job_id in turns.on_type(jobs, ask.gpu_type)[:TURNS_TRIED]:
        victim = turns.victim(job_id)
        if not _could_hold(departed, victim, ask) or allowance(victim.job.spec.team) <= 0:
            continue
        mark = departed.mark()
        departed.give(victim.footprint)
        seating = place(departed, gang, choice, widest)
        departed.rollback(mark)
        if seating is not None:
            return Sacrifice((victim,), seating, victim.cost)
    return None


def _could_hold(departed: Capacity, victim: Victim, ask: Ask) -> bool:
    """True when one of the victim's nodes would have enough free GPUs of the right type without it."""
    for use in victim.footprint:
        if ask.gpu_type is not None and departed.tree.nodes[use.node].gpu_type != ask.gpu_type:
            continue
        freed_milli = sum([milli for _, milli in use.devices])
        if departed.free_on(use.node) + freed_milli >= ask.gpu_milli:
            return True
    return False
