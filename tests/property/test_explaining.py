"""Every job that did not start is told why; none is told that it fits, and what it is told is true."""

from hypothesis import given

from muster.core.admission import Gate, Rejected
from muster.core.explaining.explain import explain_all
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.plan import ReasonCode
from muster.model.scenario import Scenario
from tests.property.effort import examples
from tests.property.situations import situations


@examples(300)
@given(situations())
def test_every_job_that_waits_has_a_reason_and_no_other_job_has(scenario: Scenario) -> None:
    check_all_that_wait_are_explained(scenario)


@examples(300)
@given(situations())
def test_only_what_admission_refuses_is_called_impossible(scenario: Scenario) -> None:
    check_only_the_impossible_is_called_so(scenario)


@examples(300)
@given(situations())
def test_places_in_the_queue_are_counted_and_estimates_agree_with_promises(scenario: Scenario) -> None:
    check_places_and_estimates(scenario)


def check_all_that_wait_are_explained(scenario: Scenario) -> None:
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    started = {start.job for start in made.starts}
    explained = {entry.job: entry.reasons for entry in explain_all(snapshot, made, scenario.now_ms)}
    assert sorted(explained) == sorted(job.id for job in scenario.waiting if job.id not in started)
    for job, reasons in explained.items():
        assert reasons, f"{job} waits for no reason"
        assert all(reason.message and reason.would_help for reason in reasons), f"{job} is told nothing"


def check_only_the_impossible_is_called_so(scenario: Scenario) -> None:
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    gate = Gate(snapshot)
    for entry in explain_all(snapshot, made, scenario.now_ms):
        if any(reason.code is ReasonCode.NEVER_FITS for reason in entry.reasons):
            outcome = gate.admit(snapshot.queue.jobs[entry.job].spec)
            assert isinstance(outcome, Rejected), f"{entry.job} is called impossible and is not"


def check_places_and_estimates(scenario: Scenario) -> None:
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    promised = {promise.job: promise.start_ms for promise in made.promises}
    explained = explain_all(snapshot, made, scenario.now_ms)
    assert [entry.position for entry in explained] == list(range(1, len(explained) + 1))
    starts_ms = [promised[entry.job] for entry in explained if entry.job in promised]
    assert starts_ms == sorted(starts_ms), "a job has a place in front of one with an earlier promise"
    for entry in explained:
        if entry.p50_ms is not None and entry.p90_ms is not None:
            assert scenario.now_ms <= entry.p50_ms <= entry.p90_ms, f"{entry.job} has estimates out of order"
        if entry.job in promised:
            assert entry.p90_ms == promised[entry.job], f"{entry.job} is told another time than it was promised"
