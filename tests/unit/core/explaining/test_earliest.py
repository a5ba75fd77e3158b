"""The earliest start of a job is what its `begin` and reservations leave, whatever the jobs that run do."""

from muster.core.explaining.earliest import earliest_starts
from muster.model.ids import JobId, NodeName, TeamPath
from muster.model.machines.reservation import Reservation
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import Begin, JobSpec
from tests.builders import NOW_MS, a_job, a_scenario, flat, runs, waits
from tests.unit.core.outcomes import explained

W = JobId("w")


def set_aside(name: str, *nodes: str, from_h: float, to_h: float, team: str = "") -> Reservation:
    from_ms, to_ms = (NOW_MS + round(hours * HOUR_MS) for hours in (from_h, to_h))
    names = tuple(NodeName(node) for node in nodes)
    return Reservation(name=name, nodes=names, from_ms=from_ms, to_ms=to_ms, team=TeamPath(team))


def hours(scenario: Scenario) -> float:
    return (earliest_starts(scenario, (W,))[W] - NOW_MS) / HOUR_MS


def with_job(spec: JobSpec, *reservations: Reservation) -> Scenario:
    """Two nodes, one of them in use for long, which does not count."""
    running = [runs("r", a_job(gpus=8, hours=50), [("n1", range(8))])]
    return evolve(a_scenario(flat(2), running=running, waiting=[waits("w", spec)]), reservations=reservations)


def test_a_job_that_may_begin_and_that_nothing_shuts_out_may_start_now() -> None:
    spec = a_job(gpus=8, hours=1)
    assert hours(with_job(spec)) == 0
    assert hours(with_job(spec, set_aside("s", "n1", from_h=0, to_h=5))) == 0
    assert hours(with_job(spec, set_aside("s", "n1", "n2", from_h=1, to_h=5))) == 0
    assert hours(with_job(spec, set_aside("s", "n1", "n2", from_h=-2, to_h=-1))) == 0
    assert earliest_starts(with_job(spec), (JobId("gone"),)) == {JobId("gone"): NOW_MS}


def test_reservations_that_leave_no_room_before_the_end_of_the_job_have_to_end() -> None:
    spec = a_job(gpus=8, workers=2, hours=3)
    assert hours(with_job(spec, set_aside("s", "n1", from_h=0, to_h=5))) == 5
    assert hours(with_job(spec, set_aside("s", "n1", from_h=2, to_h=5))) == 5
    between = (set_aside("a", "n1", from_h=0, to_h=5), set_aside("b", "n2", from_h=6, to_h=9))
    assert hours(with_job(spec, *between)) == 9
    mine = set_aside("mine", "n1", "n2", from_h=0, to_h=5, team="nlp")
    assert hours(with_job(evolve(spec, team=TeamPath("nlp")), mine)) == 0


def test_a_job_that_begins_later_starts_then_or_after_the_reservation_that_it_meets() -> None:
    spec = evolve(a_job(gpus=8, workers=2, hours=1), begin=Begin(at_ms=NOW_MS + 2 * HOUR_MS))
    early = evolve(with_job(spec), waiting=(evolve(waits("w", spec), early=True),))
    assert hours(early) == 2
    assert hours(evolve(early, reservations=(set_aside("s", "n1", from_h=0, to_h=1),))) == 2
    assert hours(evolve(early, reservations=(set_aside("s", "n1", from_h=0, to_h=4),))) == 4


def test_a_job_that_fits_nowhere_is_only_told_when_no_reservation_is_left() -> None:
    spec = a_job(gpus=8, workers=9, hours=1)
    assert hours(with_job(spec, set_aside("s", "n1", from_h=0, to_h=5))) == 5
    assert hours(with_job(a_job(gpus=8, gpu_type="none"), set_aside("s", "n1", from_h=0, to_h=5))) == 5


def test_the_forecast_of_the_planner_is_not_before_it() -> None:
    """The job that runs is done soon, but all nodes are set aside until five hours from now."""
    running = [runs("r", a_job(gpus=8, hours=1), [("n1", range(8))])]
    scenario = a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=8, workers=2, hours=3))])
    p50_ms = explained(scenario)["w"].p50_ms
    assert p50_ms is not None
    assert p50_ms < NOW_MS + HOUR_MS
    told = explained(evolve(scenario, reservations=(set_aside("s", "n1", "n2", from_h=1, to_h=5),)))["w"]
    assert told.p50_ms is not None
    assert told.p90_ms is not None
    assert NOW_MS + 5 * HOUR_MS <= told.p50_ms <= told.p90_ms
