"""The table of states: what other code relies on beyond the entries themselves."""

from itertools import pairwise

from muster.model.job import FINAL_STATES, OCCUPYING_STATES, STATES, JobState


def test_every_state_has_its_entry() -> None:
    assert set(STATES) == set(JobState)


def test_an_array_with_a_task_that_goes_on_has_not_ended() -> None:
    assert all(before.is_final <= after.is_final for before, after in pairwise(STATES))


def test_no_state_both_ends_a_job_and_keeps_its_gpus() -> None:
    assert not set(FINAL_STATES) & set(OCCUPYING_STATES)
    assert all(STATES[state].story for state in FINAL_STATES)
