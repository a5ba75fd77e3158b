"""What a job is told of free GPUs: only those count that it may use, and it hears why it may not use the others."""

from typing import Any

from muster.core.cluster.gang import with_refusals
from muster.core.explaining.obstacles import NOT_ALONE
from muster.core.snapshot import Snapshot
from muster.model.ids import NodeName, PoolName, TeamPath, TierName
from muster.model.job import RunningJob
from muster.model.machines.reservation import Reservation
from muster.model.plan import Reason
from muster.model.policy import HOUR_MS, Pool
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, flat, runs, waits
from tests.unit.core.outcomes import explained


def busy(job_id: str, node: str, gpus: int, **fields: Any) -> RunningJob:
    """A job that stays."""
    return runs(job_id, evolve(a_job(gpus=gpus, hours=5, preemptible=False), **fields), [(node, range(gpus))])


def messages(scenario: Scenario) -> list[str]:
    return [reason.message for reason in explained(scenario)["w"].reasons]


def set_aside(name: str, *nodes: str, in_hours: float = 0, hours: float = 10, team: str = "") -> Reservation:
    from_ms = NOW_MS + round(in_hours * HOUR_MS)
    to_ms = from_ms + round(hours * HOUR_MS)
    names = tuple(NodeName(node) for node in nodes)
    return Reservation(name=name, nodes=names, from_ms=from_ms, to_ms=to_ms, team=TeamPath(team))


def test_gpus_that_another_job_has_for_itself_are_not_free_for_it() -> None:
    alone = busy("r1", "n1", 2, exclusive=True)
    scenario = a_scenario(flat(2), running=[alone, busy("r2", "n2", 7)], waiting=[waits("w", a_job(gpus=4))])
    assert messages(scenario) == ["needs 4 h100, 1 is free; 6 more are free on nodes that a job has for itself"]


def test_gpus_on_nodes_that_it_does_not_accept_are_not_free_for_it() -> None:
    spec = evolve(a_job(gpus=8, workers=2), nodelist=(NodeName("n1"), NodeName("n2")))
    scenario = a_scenario(flat(3), running=[busy("r", "n1", 8)], waiting=[waits("w", spec)])
    assert messages(scenario) == [
        "nodes that `nodelist` leaves out have room for it now",
        "needs 16 h100, 8 are free; 8 more are free on nodes that it does not accept",
    ]


def test_gpus_that_are_set_aside_now_are_not_free_for_it_and_free_for_those_they_are_for() -> None:
    scenario = a_scenario(flat(2), running=[busy("r", "n1", 7)], waiting=[waits("w", a_job(gpus=8, workers=2))])
    reserved = evolve(scenario, reservations=(set_aside("s", "n2", team="nlp"),))
    assert messages(reserved) == [
        "needs 16 h100, 1 is free; 8 more are free on nodes that are set aside for others",
        "n2 is set aside for team nlp by reservation s until 1970-02-12T02:00:00Z",
    ]
    spec = a_job(gpus=8, workers=2, team="nlp")
    assert messages(evolve(reserved, waiting=(waits("w", spec),))) == ["needs 16 h100, 9 are free"]


def test_where_they_do_not_lie_together_it_hears_of_those_that_it_may_not_use_too() -> None:
    running = [busy("r1", "n1", 5), busy("r2", "n2", 5), busy("r3", "n3", 2, exclusive=True)]
    scenario = a_scenario(flat(3), running=running, waiting=[waits("w", a_job(gpus=4))])
    (told,) = messages(scenario)
    assert told == (
        "6 h100 are free, but no node has the 4 that it needs: at most 3 are free on one node; "
        "6 more are free on nodes that a job has for itself"
    )


def test_all_pools_that_admit_it_are_counted_where_one_of_them_has_nothing_for_it() -> None:
    """Both ways to place it lack as much; only the one that looks at the kept pool knows of the GPUs there."""
    pools = (Pool(name=PoolName("main")), Pool(name=PoolName("kept"), tiers=(TierName("production"),)))
    cluster = a_cluster(a_node("n1", pool="main"), a_node("n2", pool="kept"))
    running = [busy("r1", "n1", 8), busy("r2", "n2", 2, exclusive=True)]
    spec = a_job(gpus=4, tier="production")
    scenario = a_scenario(cluster, pools=pools, running=running, waiting=[waits("w", spec)])
    assert messages(scenario)[0] == "needs 4 h100, 0 are free; 6 more are free on nodes that a job has for itself"


def test_a_job_that_is_asked_about_again_and_again_makes_nothing_that_is_kept() -> None:
    """What fits is remembered for each ask, so that an answer must not make asks of its own each time."""
    waiting = [waits("w", evolve(a_job(gpus=8), exclusive=True))]
    scenario = a_scenario(flat(1), running=[busy("r", "n1", 1)], waiting=waiting)
    snapshot = Snapshot.of(evolve(scenario, reservations=(set_aside("s", "n1", team="nlp"),)))
    setting, gang = snapshot.setting, next(iter(snapshot.queue.class_of.values())).gang
    assert with_refusals(gang, 0, setting).choices == with_refusals(gang, 0, setting).choices
    assert with_refusals(gang, gang.choices[0].asks[0].tenancy.refuses, setting).choices == gang.choices


def the_reason(scenario: Scenario) -> Reason:
    (reason,) = explained(scenario)["w"].reasons
    return reason


def test_the_reservation_that_is_in_its_way_is_named_and_not_one_elsewhere_that_ends_sooner() -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2", gpu_type="a100"))
    windows = (set_aside("far", "n2", hours=1), set_aside("near", "n1", hours=3))
    waiting = [waits("w", a_job(gpus=8, gpu_type="h100"))]
    reason = the_reason(evolve(a_scenario(cluster, waiting=waiting), reservations=windows))
    assert (reason.code, reason.about) == ("reservation", ("near",))
    assert reason.message.startswith("n1 is set aside for nobody by reservation near until ")
    assert reason.would_help == "the end of near in 3 h"


def test_reservations_that_are_in_its_way_only_together_are_all_named() -> None:
    """A shorter job would not help: one of them has begun."""
    windows = (
        set_aside("a", "n1", in_hours=1, hours=1),
        set_aside("b", "n2", hours=4),
        set_aside("c", "n3", hours=9),
    )
    waiting = [waits("w", a_job(gpus=8, workers=2, hours=5))]
    reason = the_reason(evolve(a_scenario(flat(3), waiting=waiting), reservations=windows))
    assert reason.about == ("a", "b")
    assert reason.message.endswith(", and 1 more reservation is in its way")
    assert reason.would_help == "the end of a and b in 4 h"


def test_a_job_between_a_promise_and_a_reservation_hears_of_both_and_how_short_it_has_to_be() -> None:
    """On n1 it would run into a reservation, on n2 into a promise, and its two workers need both."""
    first = waits("first", a_job(gpus=8, workers=2, priority=90, hours=1))
    running = [busy("r1", "n1", 1), busy("r2", "n3", 8)]
    spec = evolve(a_job(gpus=7, workers=2, hours=9, priority=10), nodelist=(NodeName("n1"), NodeName("n2")))
    scenario = a_scenario(flat(3), running=running, waiting=[first, waits("w", spec)])
    reason = the_reason(evolve(scenario, reservations=(set_aside("s", "n1", in_hours=3),)))
    assert reason.code == "held_by_others"
    assert reason.about == ("first", "s")
    assert reason.message == (
        "the GPUs it could use are promised to first or set aside by reservation s before it would be done"
    )
    assert reason.would_help.startswith("a max_duration of at most 3 h")


def test_it_hears_how_many_of_its_workers_have_room() -> None:
    running = [busy("r1", "n1", 4), busy("r2", "n2", 4), busy("r3", "n3", 1)]
    scenario = a_scenario(flat(3), running=running, waiting=[waits("w", a_job(gpus=7, workers=2))])
    assert messages(scenario) == [
        "15 h100 are free, but there is room for only 1 of its 2 workers, as each needs 7 on one node"
    ]


def test_a_reservation_that_no_ending_job_can_replace_is_named_beside_what_runs() -> None:
    """The job that runs is gone soon, but then the maintenance of all nodes is too near."""
    running = [runs("r", a_job(gpus=4, hours=0.1), [("n1", range(4))])]
    scenario = a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=8, workers=2, hours=5))])
    reasons = explained(evolve(scenario, reservations=(set_aside("fw", "n1", "n2", in_hours=2),)))["w"].reasons
    assert [reason.code for reason in reasons] == ["capacity", "reservation"]
    assert reasons[0].message == "needs 16 h100, 12 are free"
    assert reasons[0].would_help == "4 more h100 coming free"
    assert (reasons[1].about, reasons[1].rule) == (("fw",), NOT_ALONE)
    assert reasons[1].would_help == "a max_duration of less than 2 h, or the end of fw in 12 h"


def test_what_is_set_aside_is_not_called_promised_and_counts_as_missing() -> None:
    """On other nodes it finds room as soon as jobs end, so that it need not wait for the reservation."""
    running = [busy("r1", "n1", 4), busy("r2", "n2", 8), busy("r3", "n3", 8)]
    scenario = a_scenario(flat(3), running=running, waiting=[waits("w", a_job(gpus=8, workers=2, hours=5))])
    reason = the_reason(evolve(scenario, reservations=(set_aside("s", "n1", in_hours=2),)))
    assert reason.message == "needs 16 h100, 4 are free and 4 of these set aside by reservations"
    assert reason.would_help == "16 more h100 coming free"


def test_what_is_promised_to_others_counts_as_missing() -> None:
    running = [busy("r1", "n1", 4), busy("r2", "n2", 8), busy("r3", "n3", 8)]
    first = waits("first", a_job(gpus=8, priority=90))
    waiting = [first, waits("w", a_job(gpus=8, workers=2, hours=9, priority=10))]
    told = explained(a_scenario(flat(3), running=running, waiting=waiting))["w"].reasons[0]
    assert told.message == "needs 16 h100, 4 are free and 4 of these promised to others"
    assert told.would_help == "16 more h100 coming free"
