"""Every job that did not start is told why; none is told that it fits."""

from hypothesis import given

from muster.core.explain import explain_all
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.scenario import Scenario
from tests.property.effort import examples
from tests.property.situations import situations


@examples(300)
@given(situations())
def test_every_job_that_waits_has_a_reason_and_no_other_job_has(scenario: Scenario) -> None:
    check_all_that_wait_are_explained(scenario)


def check_all_that_wait_are_explained(scenario: Scenario) -> None:
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    started = {start.job for start in made.starts}
    explained = {entry.job: entry.reasons for entry in explain_all(snapshot, made, scenario.now_ms)}
    assert sorted(explained) == sorted(job.id for job in scenario.waiting if job.id not in started)
    for job, reasons in explained.items():
        assert reasons, f"{job} waits for no reason"
        assert all(reason.message and reason.would_help for reason in reasons), f"{job} is told nothing"
