"""Which jobs have had their turn: jobs that can resume and have run longer than most jobs here ever do.

They give way to jobs of their tier that have never run. Short jobs then start almost at once. A long job pays for that
with a restart now and then: it waits behind new jobs, but keeps what it has saved and the time of its submission.

Where teams were declared, jobs that are ahead of what their team's weight makes them due are preempted first: they can
wait and still finish in fair time. Next come jobs that are already behind, as long as they have not starved, and only
then jobs that are neither. Where several have to leave, the cheapest do, and a job that is neither ahead nor behind
counts as `TURN_EVEN_COST` others.

A job that would begin on GPUs slower than it is due preempts as well, but only jobs that are ahead on faster GPUs and
can continue on slower ones. A job gets ahead sooner on fast GPUs, because there it runs faster than its share would let
it.
"""

from bisect import bisect_right

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import Ask
from muster.core.cluster.gang import Choice, Gang
from muster.core.planning.draft import PlanDraft
from muster.core.planning.fair_position import AHEAD, EVEN, fair_position, is_settled
from muster.core.planning.placement import place
from muster.core.planning.victim_search import Allowance, Sacrifice
from muster.core.planning.victims import Victim, may_be_stopped, victim_of
from muster.model.ids import GpuType, JobId
from muster.model.limits import TURN_EVEN_COST, TURNS_TRIED
from muster.model.plan import Why


class Turns:
    """The jobs whose turn is over in this cycle, by tier, in the order in which they are preempted."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        self._over: dict[tuple[int, bool], list[JobId]] | None = None
        self._standings: dict[JobId, int] = {}

    @property
    def anybody(self) -> bool:
        """False when no job's turn was over when this was first asked."""
        if self._over is None:
            self._over = self._find()
        return bool(self._over)

    def over(self, tier: int, *, starved: bool) -> list[JobId]:
        """Jobs of a tier whose turn is over and that may be told to leave: either the starved ones or the others."""
        return self._over.get((tier, starved), []) if self.anybody and self._over is not None else []

    def ahead(self, tier: int) -> list[JobId]:
        """Jobs that may leave their GPUs to a job that would begin on slower ones.

        They have not starved, are ahead of their fair share, could continue on slower GPUs, and are settled.
        """
        jobs = self.over(tier, starved=False)
        ahead = jobs[: bisect_right(jobs, AHEAD, key=lambda job_id: self._standings[job_id])]
        running, paces = self._draft.snapshot.running, self._draft.snapshot.paces
        return [
            job_id for job_id in ahead if job_id in paces.content_with_less and is_settled(self._draft, running[job_id])
        ]

    def victim(self, job_id: JobId) -> Victim:
        """A job whose turn is over as a victim. One that is neither ahead nor behind costs more than any few others."""
        victim = victim_of(self._draft, self._draft.snapshot.running[job_id], Why.TURN)
        return victim._replace(cost=(victim.cost + 1) * TURN_EVEN_COST) if self._standings[job_id] == EVEN else victim

    def on_type(self, jobs: list[JobId], gpu_type: GpuType | None) -> list[JobId]:
        """The jobs that have GPUs of a type; all of them where there is only one type."""
        setting, footprints = self._draft.setting, self._draft.snapshot.footprints
        if gpu_type is None or len(setting.gpu_types) == 1:
            return jobs
        nodes = setting.tree.nodes
        return [job for job in jobs if any(nodes[use.node].gpu_type == gpu_type for use in footprints[job])]

    def leave(self, job_id: JobId) -> None:
        """A job was told to leave or to shrink: it cannot be told again."""
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
            if began_ms > last_ms:  # Sorted by this time: no later job has had its turn.
                break
            job = snapshot.running[job_id]
            if may_be_stopped(draft, job):
                self._standings[job_id] = stands = fair_position(draft, job)
                # Among jobs in the same position, the one with the most GPU time comes first.
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
    """The first of these jobs that alone makes room for a gang of one worker; None when there is no such job."""
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
