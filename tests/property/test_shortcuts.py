"""What planning does at once comes to the same as doing it one by one."""

from random import Random

from hypothesis import given

from muster.core.order.queueing import JobClass
from muster.core.planning.draft import PlanDraft
from muster.core.planning.horizons import FOREVER_MS, Horizons
from muster.core.planning.reclaim_rights import ReclaimRights
from muster.core.planning.victim_search import Candidates
from muster.core.planning.victims import Claim, Victim, shrinkable, victim_of
from muster.core.snapshot import Snapshot
from muster.model.limits import BACKFILL_HORIZONS
from muster.model.plan import Why
from muster.model.scenario import Scenario
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


@examples(200)
@given(situations(), SEEDS)
def test_candidates_with_others_are_those_that_would_be_listed_together(scenario: Scenario, seed: int) -> None:
    snapshot, chance = Snapshot.of(scenario), Random(seed)
    draft = PlanDraft(snapshot, scenario.now_ms)
    # Few different costs, so that the order of equals shows.
    stopped = [victim_of(draft, job, Why.TIER)._replace(cost=chance.randrange(2)) for job in snapshot.running.values()]
    extra = [victim._replace(cost=1) for victim in shrinkable(draft)]
    some, others = stopped[1::2], stopped[::2]
    extended = Candidates(snapshot.capacity, some + extra).with_others(others)
    listed = Candidates(snapshot.capacity, stopped + extra)
    for gone in chance.sample(stopped, len(stopped) // 4):
        extended.without(gone.job.id)
        listed.without(gone.job.id)
    assert extended.empty.number == listed.empty.number
    for node in range(len(snapshot.setting.tree.nodes)):
        assert _offered(extended, node) == _offered(listed, node)


def _offered(candidates: Candidates, node: int) -> list[Victim]:
    return [candidates.victims[number] for _, number, _ in candidates.offers(node)]


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
