"""Dependencies: which jobs a finished one releases or dooms, and rings."""

from itertools import pairwise

import pytest

from muster.core.lifecycle.dependencies import Fate, Settled, fate, find_cycle, in_order, settle
from muster.model.ids import JobId
from muster.model.job import JobState
from muster.model.spec import Dependency, DependencyWhen

A, B, C, D = (JobId(name) for name in "abcd")


def after(job: JobId, when: DependencyWhen = DependencyWhen.SUCCEEDED) -> Dependency:
    return Dependency(job=job, when=when)


@pytest.mark.parametrize(
    ("state", "when", "expected"),
    [
        (JobState.RUNNING, DependencyWhen.FINISHED, Fate.PENDING),
        (JobState.SUCCEEDED, DependencyWhen.SUCCEEDED, Fate.MET),
        (JobState.FAILED, DependencyWhen.SUCCEEDED, Fate.DOOMED),
        (JobState.CANCELLED, DependencyWhen.SUCCEEDED, Fate.DOOMED),
        (JobState.FAILED, DependencyWhen.FAILED, Fate.MET),
        (JobState.TIMED_OUT, DependencyWhen.FAILED, Fate.MET),
        (JobState.CANCELLED, DependencyWhen.FAILED, Fate.DOOMED),
        (JobState.SUCCEEDED, DependencyWhen.FAILED, Fate.DOOMED),
        (JobState.CANCELLED, DependencyWhen.FINISHED, Fate.MET),
    ],
)
def test_what_an_ending_means_depends_on_what_was_asked_for(
    state: JobState, when: DependencyWhen, expected: Fate
) -> None:
    assert fate(state, when) is expected


def test_an_ending_releases_some_and_dooms_others() -> None:
    dependents = (
        (B, (after(A),)),
        (C, (after(A, DependencyWhen.FAILED), after(D))),
        (D, (after(C),)),
    )
    assert settle(A, JobState.SUCCEEDED, dependents) == (
        Settled(job=B, dependency=A, fate=Fate.MET),
        Settled(job=C, dependency=A, fate=Fate.DOOMED),
    )


def test_a_job_that_asks_for_two_endings_at_once_is_doomed() -> None:
    both = ((B, (after(A), after(A, DependencyWhen.FAILED))),)
    assert settle(A, JobState.SUCCEEDED, both)[0].fate is Fate.DOOMED


def test_nothing_is_settled_while_the_job_goes_on() -> None:
    assert settle(A, JobState.RUNNING, ((B, (after(A),)),)) == ()
    assert [each.job for each in settle(A, JobState.SUCCEEDED, ((B, (after(A),)),))] == [B]


def test_a_ring_is_named_along_its_dependencies() -> None:
    ring = find_cycle({A: (B,), B: (C,), C: (D,), D: (B,)})
    assert ring[0] == ring[-1]
    assert {(B, C), (C, D), (D, B)} == set(pairwise(ring))
    assert find_cycle({A: (A,)}) == (A, A)


def test_diamonds_chains_and_jobs_from_before_are_no_rings() -> None:
    assert find_cycle({A: (B, C), B: (D,), C: (D,), D: (JobId("older"),)}) == ()
    chain = {JobId(f"j{number}"): (JobId(f"j{number + 1}"),) for number in range(5_000)}
    assert find_cycle(chain) == ()
    assert len(find_cycle({**chain, JobId("j5000"): (JobId("j0"),)})) == 5_002


def test_a_submission_is_put_in_the_order_of_its_dependencies() -> None:
    assert in_order({A: (B, C), B: (D,), C: (D,), D: (JobId("older"),)}) == (D, B, C, A)
