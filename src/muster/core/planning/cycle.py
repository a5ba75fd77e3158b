"""One cycle's decisions, tier by tier: renew promises, start what fits, make room, promise starts."""

from collections.abc import Iterator

from muster.core.order.queueing import FeasibilityKey, JobClass
from muster.core.order.service import NEWCOMERS
from muster.core.order.tier_walk import TierWalk
from muster.core.planning.displacing.last_resort import take_back
from muster.core.planning.displacing.preemption import Preemption
from muster.core.planning.displacing.victim_pruning import prune_victims
from muster.core.planning.draft import PlanDraft, PlannedPromise
from muster.core.planning.next_cycle import wake_ms
from muster.core.planning.placing.placement import fits, place
from muster.core.planning.placing.reference_shapes import reference_shapes
from muster.core.planning.promising.promise_renewal import (
    promises_by_tier,
    renew_guaranteed,
    renew_promises,
    start_guaranteed,
)
from muster.core.planning.promising.promises import earliest, far_bound_ms
from muster.core.planning.rearranging.consolidation import consolidate
from muster.core.planning.rearranging.gpu_swaps import change_places
from muster.core.planning.rearranging.growing import grow
from muster.core.planning.rearranging.upgrading import upgrade, upgrade_late
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.limits import PROMISES, STARVING_PER_CYCLE
from muster.model.plan import Basis, Plan, ReasonCode


def plan(snapshot: Snapshot, now_ms: int) -> Plan:
    """Decide one cycle. The snapshot is read, never changed."""
    snapshot.capacity.states.measure_by(reference_shapes(snapshot))
    draft = PlanDraft(snapshot, now_ms)
    broken: dict[JobId, str] = {}
    preemption = Preemption(draft, broken)
    promised = promises_by_tier(draft)
    kept, lost = renew_guaranteed(draft, promised)
    broken |= lost
    tiers = range(len(draft.setting.tiers))
    most_urgent = next((tier for tier in tiers if snapshot.queue.of_tier(tier)), None)
    for tier in tiers:
        groups = snapshot.queue.of_tier(tier)
        if tier in promised:
            broken |= renew_promises(draft, promised[tier], kept.get(tier, []))
        if tier == most_urgent:
            start_guaranteed(draft, kept)
        if groups and not _TierCycle(draft, preemption, tier, broken).run(groups):
            _stop_behind(draft, tier + 1)
            break
    prune_victims(draft, preemption)
    for job_id in preemption.unpromised:
        group, job = snapshot.queue.class_of[job_id], snapshot.queue.jobs[job_id]
        if not _promise_earliest(draft, group, job, broken.get(job_id, "")):
            draft.block([(group, (job_id,))], ReasonCode.CAPACITY)
    _promise_starving(draft, broken)
    consolidate(draft, preemption)
    upgrade(draft)
    if draft.policy.elastic:
        grow(draft)
    return draft.plan(wake_ms(draft))


class _TierCycle:
    """Walks the jobs of one tier in order."""

    def __init__(self, draft: PlanDraft, preemption: Preemption, tier: int, broken: dict[JobId, str]) -> None:
        self._draft = draft
        self._preemption = preemption
        self._tier = tier
        self._broken = broken
        kept = sum(
            1 for promise in draft.promises.values() if promise.tier == tier and promise.terms.basis is Basis.LIMITS
        )
        self._holds_left = max(0, draft.policy.hold_depth - kept)
        self._dead: dict[FeasibilityKey, bool] = {}
        """Gangs that cannot start in this tier and cycle, and for which no running job can make room. Capacity only
        shrinks within a cycle unless a promise moves, so a dead gang stays dead."""
        self._alive: dict[FeasibilityKey, bool] = {}
        """Gangs that fitted, or could be made to fit, when they were first checked."""
        self._passed_by: dict[JobId, bool] = {}
        """Jobs that can do nothing, in classes that are decided job by job. These are classes that relax, because the
        age of a job decides how far it may spread, and classes in which a job lost its promise and gets another."""
        queue = draft.snapshot.queue
        self._must_see = {queue.class_of[job_id].order: True for job_id in broken if job_id in queue.class_of}
        self._walked_anyway = self._must_see | {group.order: True for group in self._with_earlier_starts()}
        """Also classes with a job whose promise may become an earlier one. Until then it keeps its own gang away."""

    def _with_earlier_starts(self) -> Iterator[JobClass]:
        for job_id, promise in self._draft.promises.items():
            group = self._draft.snapshot.queue.class_of.get(job_id)
            if group is not None and promise.tier == self._tier and self._may_be_earlier(group, promise):
                yield group

    def run(self, groups: list[JobClass]) -> bool:
        """Decide every job of the tier, band by band. False when a job is blocked and the policy has no backfill."""
        bands: dict[int, list[JobClass]] = {}
        for group in groups:
            bands.setdefault(group.band, []).append(group)
        waiting = sorted(bands)
        for number, band in enumerate(waiting):
            if band > NEWCOMERS and (not number or waiting[number - 1] == NEWCOMERS):
                upgrade_late(self._draft, self._tier)
            if not self._run_band(band, bands[band]):
                behind = [group for later in waiting if later > band for group in bands[later]]
                self._draft.block([(group, group.ids) for group in behind], ReasonCode.HELD_BY_OTHERS)
                return False
        return True

    def _run_band(self, band: int, groups: list[JobClass]) -> bool:
        """Decide the jobs of one band.

        While promises may still be made, the whole band is walked in order. After that only classes that can still
        move are walked.
        """
        settled: dict[int, bool] = {}
        if band > NEWCOMERS and self._draft.policy.backfill:
            groups = self._that_leave_the_reserve(groups, settled)
        if self._holds_left > 0 or not self._draft.policy.backfill:
            walk = self._walk(groups)
            while (following := walk.peek()) is not None:
                if not self._decide(walk, *following, settled):
                    # The policy has no backfill: all jobs behind the blocked one wait for it.
                    self._draft.block(walk.rest(), ReasonCode.HELD_BY_OTHERS)
                    return False
                if self._holds_left <= 0 and self._draft.policy.backfill:
                    break
            self._pass_over(walk.skipped, settled)
            if following is None:
                return True
        walk = self._walk(self._that_can_move(band, settled))
        while (following := walk.peek()) is not None:
            self._decide(walk, *following, settled)
        self._pass_over(walk.skipped, settled)
        return True

    def _that_leave_the_reserve(self, groups: list[JobClass], settled: dict[int, bool]) -> list[JobClass]:
        """The classes beyond the first band that leave the reserve alone. The others are blocked in one step.

        On a full cluster the others are nearly the whole queue. What is free only shrinks within a cycle. Classes with
        a job that starts, has a promise or lost one are kept.
        """
        left_milli = self._beyond_the_reserve_milli()
        reserved = [group for group in groups if group.gpu_milli > left_milli and self._has_no_say(group)]
        for group in reserved:
            settled[group.order] = True
        self._draft.block([(group, group.ids) for group in reserved], ReasonCode.HELD_BY_OTHERS)
        return [group for group in groups if group.order not in settled]

    def _has_no_say(self, group: JobClass) -> bool:
        """True when no job of a class starts, has a promise, lost one or may preempt: only its start is left."""
        is_open = self._draft.has_decided(group) or group.order in self._must_see
        return not is_open and not self._preemption.may_make_leave(group)

    def _walk(self, groups: list[JobClass]) -> TierWalk:
        draft = self._draft
        return TierWalk(groups, draft.projected, draft.policy.weighs_teams, draft.now_ms, self._is_dead)

    def _decide(self, walk: TierWalk, group: JobClass, job_id: JobId, settled: dict[int, bool]) -> bool:
        """Decide one job: start it, make room for it, promise it a start, or let its class wait.

        False when no job behind it may pass it.
        """
        draft = self._draft
        job, promise = draft.snapshot.queue.jobs[job_id], draft.promises.get(job_id)
        if promise is not None or job_id in draft.begun or job_id in self._passed_by:
            if promise is not None and self._may_be_earlier(group, promise):
                self._make_room(group, job, promise)
            walk.advance()
            return True
        code, detail = self._start(group, job)
        # Other jobs that leave do not help a job that only quota stops.
        has_room = code is ReasonCode.CAPACITY and self._make_room(group, job)
        if code is None or has_room or self._promise(group, job, code):
            walk.advance()
        elif group.relaxes or group.order in self._must_see:
            self._passed_by[job_id] = True
            draft.block([(group, (job_id,))], code, detail)
            walk.advance()
        else:
            if code is ReasonCode.CAPACITY and not self._preemption.rights.spares_somebody(group):
                self._dead[group.feasibility_key] = True
            settled[group.order] = True
            draft.block([(group, walk.drop())], code, detail)
        return code is None or code is ReasonCode.NEVER_FITS or draft.policy.backfill

    def _pass_over(self, skipped: list[tuple[JobClass, tuple[JobId, ...]]], settled: dict[int, bool]) -> None:
        """Record the classes that the walk skipped as blocked by lack of capacity."""
        for group, _ in skipped:
            settled[group.order] = True
        self._draft.block(skipped, ReasonCode.CAPACITY)

    def _that_can_move(self, band: int, settled: dict[int, bool]) -> list[JobClass]:
        """The classes for which something can still be done; the jobs of all others are recorded as blocked.

        Most of a long queue is passed over here, all classes of one feasibility key at a time.
        """
        alive: list[JobClass] = []
        for feasibility_key, groups in self._draft.snapshot.queue.by_feasibility(self._tier, band):
            self._look_for_life(groups[0])
            fresh = [group for group in groups if group.order not in settled] if settled else groups
            if feasibility_key in self._alive:
                alive += fresh
                continue
            moving = {group.order: group for group in self._living(fresh)}
            alive += moving.values()
            stuck = [group for group in fresh if group.order not in moving] if moving else fresh
            self._draft.block([(group, group.ids) for group in stuck], ReasonCode.CAPACITY)
        return alive

    def _look_for_life(self, group: JobClass) -> None:
        """Find out, once for all classes of one feasibility key, whether their gang fits or could be made to fit."""
        if group.feasibility_key in self._alive or group.feasibility_key in self._dead:
            return
        capacity, gang = self._draft.horizons.until(self._draft.now_ms + group.limit_ms), group.gang
        alive = any(fits(capacity, gang, choice, gang.widest) for choice in gang.choices)
        if alive or not self._preemption.is_hopeless(group):
            self._alive[group.feasibility_key] = True
        else:
            self._dead[group.feasibility_key] = True

    def _is_dead(self, group: JobClass) -> bool:
        """True when an equal gang failed in every way this one could try: starting, making room, being promised.

        This is what makes a queue of thousands cheap, so it decides from a few look-ups.
        """
        return group.feasibility_key in self._dead and not self._living([group])

    def _living(self, groups: list[JobClass]) -> list[JobClass]:
        """Of classes with one dead feasibility key, those that can try more than the gang that failed."""
        if not groups or groups[0].relaxes:
            return groups
        must_see, living = self._walked_anyway, list[JobClass]()
        if must_see:
            living = [group for group in groups if group.order in must_see]
            groups = [group for group in groups if group.order not in must_see]
        if groups and self._preemption.rights.may_reclaim(groups[0]):
            living += self._preemption.hopeful(groups)
        return living

    def _start(self, group: JobClass, job: WaitingJob) -> tuple[ReasonCode | None, str]:
        """Start the gang if it fits, or swap it with a job on faster GPUs. Otherwise return what stopped it."""
        draft = self._draft
        end_ms = draft.now_ms + group.limit_ms
        widest = draft.widest(group.gang, job)
        code, detail = ReasonCode.CAPACITY, ""
        if not group.gang.choices:
            code = ReasonCode.NEVER_FITS
        reserved = group.band > NEWCOMERS and group.gpu_milli > self._beyond_the_reserve_milli()
        if reserved and not self._preemption.may_make_leave(group):
            return ReasonCode.HELD_BY_OTHERS, ""
        first = draft.surviving_nodes(job)
        for number, choice in enumerate(group.gang.choices):
            breach = draft.ledger.breach(group.account, choice.demand)
            if breach is not None:
                code, detail = breach.code, breach.team
                continue
            # Between the two quota checks: this is cheaper than the second, and a job that lacks GPUs may preempt.
            if draft.known_to_fail(group, number, widest, end_ms):
                code, detail = ReasonCode.CAPACITY, ""
                continue
            promised = draft.breaks_quota_promise(group.account, choice, end_ms)
            if promised is not None:
                code, detail = ReasonCode.HELD_BY_OTHERS, promised
                continue
            seating = place(draft.horizons.until(end_ms), group.gang, choice, widest, first)
            if seating is not None:
                if not change_places(draft, self._preemption, group, job, number):
                    draft.begin(job, group.gang, choice, seating)
                return None, ""
            code, detail = ReasonCode.CAPACITY, ""
            draft.remember_failure(group, number, widest, end_ms)
        return code, detail

    def _beyond_the_reserve_milli(self) -> int:
        """What is free for jobs beyond the first band: they leave the last GPUs to newcomers."""
        draft = self._draft
        return draft.free.free_milli[0][0] - draft.setting.turn_reserve_milli

    def _make_room(self, group: JobClass, job: WaitingJob, promise: PlannedPromise | None = None) -> bool:
        """Promise a job the earliest start by departures, if that is before the start by limits that it was promised.

        Where it has a promise, jobs whose turn is over leave only if it would otherwise wait longer than a turn.
        """
        draft, before_ms, in_turn, holder = self._draft, None, True, None
        if promise is not None:
            before_ms, in_turn, holder = promise.terms.start_ms, _is_beyond_turns(draft, promise), job.id
            draft.put_aside(promise)
        made_room = self._preemption.make_room(group, job, before_ms=before_ms, in_turn=in_turn, holder=holder)
        made_room = made_room or take_back(draft, self._preemption, group, job, before_ms, holder)
        if promise is not None and not made_room:
            draft.restore(promise)
        return made_room

    def _may_be_earlier(self, group: JobClass, promise: PlannedPromise) -> bool:
        """True when jobs may be asked to leave now. When the promise was made, perhaps none had run long enough."""
        rests_on_limits = promise.terms.basis is Basis.LIMITS and promise.terms.start_ms > self._draft.now_ms
        return rests_on_limits and (_is_beyond_turns(self._draft, promise) or self._preemption.may_ask(group))

    def _promise(self, group: JobClass, job: WaitingJob, code: ReasonCode) -> bool:
        """Promise a start to the first blocked jobs of the tier, and to every job whose promise was broken."""
        draft = self._draft
        had_one = job.id in self._broken
        if not had_one and (self._holds_left <= 0 or code not in (ReasonCode.CAPACITY, ReasonCode.HELD_BY_OTHERS)):
            return False
        if not had_one and group.band > NEWCOMERS:
            return False
        is_first = had_one or self._holds_left == draft.policy.hold_depth
        before_ms = _next_turns_ms(draft) or (None if is_first else far_bound_ms(draft, group.tier, draft.now_ms))
        if not _promise_earliest(draft, group, job, self._broken.get(job.id, ""), before_ms):
            return False
        self._holds_left -= 0 if had_one else 1
        return True


def _stop_behind(draft: PlanDraft, first: int) -> None:
    """Without backfill, lower tiers also wait for the blocked job of a higher tier."""
    for tier in range(first, len(draft.setting.tiers)):
        groups = draft.snapshot.queue.of_tier(tier)
        draft.block([(group, group.ids) for group in groups], ReasonCode.HELD_BY_OTHERS)


def _is_beyond_turns(draft: PlanDraft, promise: PlannedPromise) -> bool:
    """True for a start that is promised after every running job that can resume will have had its turn."""
    next_turns_ms = _next_turns_ms(draft)
    return next_turns_ms is not None and promise.terms.start_ms > next_turns_ms


def _next_turns_ms(draft: PlanDraft) -> int | None:
    """By when every running job that can resume will have had its turn. A later promise would only keep GPUs idle.

    None when no running job can resume, because the others never give way. Also None when the policy takes no turns or
    the length of a turn is not known.
    """
    turn_ms = draft.snapshot.turn_ms
    if turn_ms is None or not draft.policy.takes_turns:
        return None
    waiting = draft.snapshot.queue.jobs
    # Those that this plan starts count as well: on a cluster that was empty there are no others.
    gives_way = draft.snapshot.service.by_run_time or any(waiting[job_id].spec.can_resume for job_id in draft.begun)
    return draft.now_ms + turn_ms if gives_way else None


def _promise_earliest(
    draft: PlanDraft, group: JobClass, job: WaitingJob, moved_because: str, before_ms: int | None = None
) -> bool:
    """Promise the earliest possible start. False when there is none, or when no more promises may be made."""
    if len(draft.promises) >= PROMISES:
        return False
    opening = earliest(draft, job, group.gang, group.limit_ms, before_ms)
    if opening is None:
        return False
    draft.promise(job, opening.choice, opening.seating, opening.start_ms, Basis.LIMITS, moved_because)
    return True


def _promise_starving(draft: PlanDraft, broken: dict[JobId, str]) -> None:
    """Promise a start to jobs that have waited longer than the starvation limit, whatever the depth.

    A bounded number is tried per cycle. The next cycle goes on with the rest, unless none of these got a promise.
    """
    if not draft.policy.backfill:
        return
    promised, starved_ms = 0, draft.now_ms - draft.policy.starvation_limit_ms
    for tried, job_id in enumerate(_starving_without_promise(draft)):
        if tried >= STARVING_PER_CYCLE:
            draft.has_more_to_do = draft.has_more_to_do or (promised > 0 and len(draft.promises) < PROMISES)
            return
        group, job = draft.snapshot.queue.class_of[job_id], draft.snapshot.queue.jobs[job_id]
        before_ms = _next_turns_ms(draft) or far_bound_ms(draft, group.tier, starved_ms)
        promised += _promise_earliest(draft, group, job, broken.get(job_id, ""), before_ms)


def _starving_without_promise(draft: PlanDraft) -> Iterator[JobId]:
    """Jobs that have waited longer than the starvation limit and neither start nor have a promise, oldest first.

    Only newcomers count.
    """
    queue = draft.snapshot.queue
    for submitted_ms, _, job_id in queue.by_age:
        if draft.now_ms - submitted_ms < draft.policy.starvation_limit_ms:
            return
        if job_id not in draft.promises and job_id not in draft.begun and queue.class_of[job_id].band == NEWCOMERS:
            yield job_id
