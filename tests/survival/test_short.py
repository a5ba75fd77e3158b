"""A short run of the driver: a real training is killed three times, and ends with the losses of one that was not."""

from tests.survival.ledger import Entry, differences, resumes
from tests.survival.trial import run_trial


def test_a_training_that_was_killed_ends_as_if_nothing_had_been() -> None:
    result = run_trial(11, kills=3, steps=400, kinds=("node", "saving", "worker"))
    assert result.problems == []  # such as more work lost than an interval
    assert result.attempts == 4


def entry(step: int, at_s: float, *, restart: int = 0, loss: str = "1.0") -> Entry:
    return Entry(step=step, loss=loss, restart=restart, at_s=at_s)


def test_repeated_work_is_counted_in_the_attempt_that_was_interrupted() -> None:
    found = [entry(1, 1), entry(2, 2), entry(3, 3), entry(2, 20, restart=1), entry(3, 21, restart=1)]
    again = [*found, entry(2, 50, restart=2)]
    assert [(each.reached, each.resumed, each.lost_s, each.stood_s) for each in resumes(again)] == [
        (3, 2, 2.0, 17.0),
        (3, 2, 1.0, 29.0),
    ]


def test_a_loss_that_differs_in_any_attempt_is_found() -> None:
    reference = [entry(1, 0, loss="1.0"), entry(2, 0, loss="0.5")]
    assert differences([entry(1, 0), entry(2, 0, loss="0.5")], reference) == []
    assert len(differences([entry(2, 0, loss="0.5000001", restart=1)], reference)) == 1
    assert differences([entry(2, 0, loss="0.5000001")], reference, within=1e-6) == []
    assert len(differences([entry(3, 0)], reference)) == 1
