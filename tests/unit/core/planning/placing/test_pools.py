"""Which pools a job may use, and which of them it takes."""

from muster.model.ids import PoolName, TierName
from muster.model.node import ClusterSpec
from muster.model.policy import Pool
from tests.builders import a_cluster, a_job, a_node, a_scenario, waits
from tests.unit.core.outcomes import nodes_used, seats, started

URGENT = Pool(name=PoolName("urgent"), tiers=(TierName("production"),))
SPOT = Pool(name=PoolName("spot"), spot=True, price_milli=900)


def pooled(*pools: str) -> ClusterSpec:
    """One node per pool, n1, n2, …"""
    return a_cluster(*(a_node(f"n{at}", pool=pool) for at, pool in enumerate(pools, start=1)))


def test_a_reserved_pool_admits_its_tiers_only() -> None:
    for tier, expected in (("standard", []), ("production", ["w"])):
        scenario = a_scenario(pooled("urgent"), pools=[URGENT], waiting=[waits("w", a_job(tier=tier))])
        assert started(scenario) == expected


def test_a_reserved_pool_is_used_after_the_open_ones() -> None:
    one, two = waits("w", a_job(gpus=8, tier="production")), waits("w2", a_job(gpus=8, tier="production"))
    scenario = a_scenario(pooled("urgent", "main"), pools=[URGENT], waiting=[one, two])
    assert seats(scenario)["w"][0][0] == "n2"
    assert seats(scenario)["w2"][0][0] == "n1"


def test_a_pool_of_a_team_admits_its_sub_teams_and_nobody_else() -> None:
    own = Pool(name=PoolName("own"), teams=(a_job(team="nlp").team,))
    for team, expected in (("nlp", ["w"]), ("nlp/x", ["w"]), ("nlpx", []), ("vision", [])):
        scenario = a_scenario(pooled("own"), pools=[own], waiting=[waits("w", a_job(team=team))])
        assert started(scenario) == expected


def test_spot_nodes_take_only_jobs_that_can_resume() -> None:
    assert started(a_scenario(pooled("spot"), pools=[SPOT], waiting=[waits("w", a_job())])) == []
    assert started(a_scenario(pooled("spot"), pools=[SPOT], waiting=[waits("w", a_job(checkpoint=True))])) == ["w"]


def test_of_equal_nodes_the_cheaper_is_taken() -> None:
    pools = [Pool(name=PoolName("dear")), Pool(name=PoolName("cheap"), price_milli=500)]
    one = a_scenario(pooled("dear", "cheap"), pools=pools, waiting=[waits("w", a_job(gpus=8))])
    assert nodes_used(one) == ["n2"]


def test_a_gang_of_several_nodes_takes_the_cheaper_of_equal_ones_too() -> None:
    pools = [Pool(name=PoolName("dear")), Pool(name=PoolName("cheap"), price_milli=500)]
    spec = a_job(gpus=8, workers=2)
    scenario = a_scenario(pooled("dear", "dear", "cheap", "cheap"), pools=pools, waiting=[waits("w", spec)])
    assert nodes_used(scenario) == ["n3", "n4"]
