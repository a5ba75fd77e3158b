"""What planning does at once comes to the same as doing it one by one."""

from random import Random

from hypothesis import given

from muster.core.cluster.horizons import FOREVER_MS, Horizons
from muster.core.order.queueing import JobClass
from muster.core.planning.displacing.candidates import Candidates, by_node
from muster.core.planning.displacing.departures import Departures
from muster.core.planning.displacing.reclaim_rights import ReclaimRights
from muster.core.planning.displacing.shrinking import shrinkable
from muster.core.planning.displacing.victims import Asked, Claim
from muster.core.planning.draft import PlanDraft
from muster.core.planning.rearranging.consolidation import Movable
from muster.core.snapshot import Snapshot
from muster.model.limits import BACKFILL_HORIZONS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.property.edits import EDITS, edit
from tests.property.effort import examples
from tests.property.situations import SEEDS, situations

STARTS = 2 * BACKFILL_HORIZONS
"""More promised starts than horizons, so that some have none of their own."""


@examples(200)
@given(situations(), SEEDS)
def test_promises_laid_over_the_horizons_at_once_leave_what_they_leave_one_by_one(
    scenario: Scenario, seed: int
) -> None:
    snapshot, chance = Snapshot.of(scenario), Random(seed)
    at_once, one_by_one = Horizons(snapshot.capacity.fork()), Horizons(snapshot.capacity.fork())
    for footprint in snapshot.footprints.values():
        start_ms = chance.randrange(STARTS)
        at_once.reserve(footprint, start_ms)
        one_by_one.reserve(footprint, start_ms)
        one_by_one.until(0)
    for end_ms in (*range(STARTS + 1), FOREVER_MS):
        ours, theirs = at_once.until(end_ms), one_by_one.until(end_ms)
        assert (ours.number, ours.free_milli) == (theirs.number, theirs.free_milli)


@examples(300)
@given(situations(), SEEDS)
def test_what_could_be_free_is_kept_up_to_date(scenario: Scenario, seed: int) -> None:
    chance, snapshot, now_ms = Random(seed), Snapshot.of(scenario), scenario.now_ms
    for number in range(EDITS):
        draft = PlanDraft(snapshot, now_ms)
        departed = Departures(draft, lambda _: None).capacity()
        spare, rights = by_node(shrinkable(draft)), ReclaimRights(draft)
        for tier in range(len(scenario.tiers)):
            claims = {rights[of] for group in snapshot.queue.classes() for of in _numbers(rights, group)}
            for claim in (Claim(), *sorted(claims)):
                asked = Asked(draft, rights.roster, tier, claim, by_tier=scenario.tiers[tier].preempts, insists=True)
                kept = Candidates(draft, departed, asked, spare, rights=(tier, claim))
                assert kept.empty.number == Candidates(draft, departed, asked, spare).empty.number
            movable = Movable(draft, rights.roster, tier)
            kept = Candidates(draft, draft.horizons.closed, movable, {}, rights=movable.rights)
            assert kept.empty.number == Candidates(draft, draft.horizons.closed, movable, {}).empty.number
        if snapshot.running and chance.random() < 0.5:
            # A plan that is not carried out leaves nothing behind.
            job_id = chance.choice(sorted(snapshot.running))
            rights.roster.leave(job_id)
            kept.without(job_id)
        edit(snapshot, evolve(scenario, now_ms=now_ms), chance, f"x{number}")
        now_ms += chance.choice((0, 60_000, 600_000))


def _numbers(rights: ReclaimRights, group: JobClass) -> list[int]:
    return [rights.number(group, choice) for choice in group.gang.choices]


@examples(200)
@given(situations(), SEEDS)
def test_claims_that_are_kept_are_those_that_are_found_anew(scenario: Scenario, seed: int) -> None:
    snapshot, chance = Snapshot.of(scenario), Random(seed)
    draft = PlanDraft(snapshot, scenario.now_ms)
    kept, groups = ReclaimRights(draft), list(snapshot.queue.classes())
    for job_id in chance.sample(list(snapshot.running), min(4, len(snapshot.running))):
        assert _claims(kept, groups) == _claims(ReclaimRights(draft), groups)
        sign = chance.choice((-1, 1))
        draft.projected.charge(snapshot.running[job_id].spec.team, snapshot.demands[job_id], sign=sign)


def _claims(claims: ReclaimRights, groups: list[JobClass]) -> list[tuple[int, list[Claim]]]:
    """Which classes have which claims, without numbers."""
    return [(group.order, [claims[number] for number in rights]) for group, rights in claims.claimants(groups)]
