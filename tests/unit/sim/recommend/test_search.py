from muster.model.policy import HOUR_MS, MINUTE_MS, Order, Policy
from muster.sim.recommend.search import search
from muster.sim.recommend.trials import Change, replays_most, single_changes
from tests.unit.sim.recommend.scores import MadeUp, a_score

Changes = frozenset[Change]

PRESENT = Policy()
OFF: Changes = frozenset({("turns", False)})
SHORT: Changes = frozenset({("min_runtime_ms", 2 * MINUTE_MS)})
LONG: Changes = frozenset({("min_runtime_ms", 30 * MINUTE_MS)})
FIFO: Changes = frozenset({("order", Order.FIFO)})


def test_each_change_is_tried_alone_and_leaves_the_rest_as_it_is() -> None:
    made_up = MadeUp(PRESENT, {})
    found = search(PRESENT, made_up)
    assert found.best is None
    assert made_up.asked[0] == frozenset()
    assert made_up.asked[1:] == [frozenset({change}) for change in single_changes(PRESENT)]
    assert len(made_up.asked) + 2 <= replays_most(PRESENT)


def test_what_the_policy_already_says_is_not_tried() -> None:
    present = Policy(turns=False, hold_depth=2, starvation_limit_ms=6 * HOUR_MS, backfill=False)
    changes = single_changes(present)
    assert ("turns", False) not in changes
    assert ("turns", True) in changes
    assert [value for field, value in changes if field == "hold_depth"] == [1, 4, 16]
    assert ("backfill", True) in changes
    assert not [field for field, _ in single_changes(PRESENT) if field == "backfill"]


def test_limits_of_preemption_are_not_tried_where_nothing_is_preempted() -> None:
    fields = {field for field, _ in single_changes(Policy(preemption=False))}
    assert fields == {"order", "hold_depth", "starvation_limit_ms"}


def test_a_gain_within_noise_is_not_chosen() -> None:
    assert search(PRESENT, MadeUp(PRESENT, {OFF: a_score(981.0)})).best is None


def test_the_largest_gain_is_chosen() -> None:
    best = search(PRESENT, MadeUp(PRESENT, {OFF: a_score(950.0), SHORT: a_score(900.0)})).best
    assert best is not None
    assert (frozenset(best.changes), best.gain) == (SHORT, 0.1)


def test_a_gain_that_others_pay_too_much_for_is_not_chosen() -> None:
    scores = {OFF: a_score(500.0, unfair=0.5), SHORT: a_score(900.0)}
    best = search(PRESENT, MadeUp(PRESENT, scores)).best
    assert best is not None
    assert frozenset(best.changes) == SHORT


def test_settings_that_gain_something_are_combined_if_that_gains_more() -> None:
    scores = {OFF: a_score(900.0), SHORT: a_score(950.0), FIFO: a_score(960.0), OFF | SHORT: a_score(850.0)}
    made_up = MadeUp(PRESENT, scores)
    found = search(PRESENT, made_up)
    assert found.best is not None
    # Order joins neither: together with the others it gains nothing more.
    assert frozenset(found.best.changes) == OFF | SHORT
    assert made_up.asked[-2:] == [OFF | SHORT, OFF | SHORT | FIFO]


def test_a_combination_that_adds_little_is_left_out() -> None:
    scores = {OFF: a_score(900.0), SHORT: a_score(950.0), OFF | SHORT: a_score(890.0)}
    best = search(PRESENT, MadeUp(PRESENT, scores)).best
    assert best is not None
    assert frozenset(best.changes) == OFF


def test_of_the_values_of_one_setting_only_the_best_is_combined() -> None:
    made_up = MadeUp(PRESENT, {OFF: a_score(900.0), SHORT: a_score(950.0), LONG: a_score(940.0)})
    search(PRESENT, made_up)
    assert made_up.asked[-1] == OFF | LONG


def test_a_change_that_decides_nothing_differently_is_marked() -> None:
    found = search(PRESENT, MadeUp(PRESENT, {frozenset(): a_score(log_hash="a"), OFF: a_score(log_hash="b")}))
    same = {trial.changes[0][0]: trial.decides_the_same for trial in found.tried}
    assert not same["turns"]
    assert same["order"]
