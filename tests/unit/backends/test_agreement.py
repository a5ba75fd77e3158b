"""When ranks are told to save or leave, at which step, and when that is given up."""

import pytest

from muster.backends.agreement import ANSWER_MS, TRIES, GangAgreement
from muster.backends.agreement_terms import Announce, Decide, GiveUp, RankNews, ShownStep
from muster.backends.gang_ranks import STALE_MS
from muster.core.lifecycle.save_interval import SaveTime
from muster.model.ids import NodeName
from muster.train.board import LEAVE, SAVE

N1, N2 = NodeName("n1"), NodeName("n2")


def news(rank: int, *, step: int = 100, step_us: int = 50_000, heard_ms: float = 0, **fields: object) -> RankNews:
    values = {"node": (N1, N2)[rank % 2], "worker": rank, "world": 2, "board": 7, "is_closed": False} | fields
    return RankNews(step=step, step_us=step_us, heard_ms=heard_ms, **values)  # type: ignore[arg-type]


def a_gang(**fields: object) -> GangAgreement:
    gang = GangAgreement()
    for rank in (0, 1):
        gang.heard(rank, news(rank, **fields))  # type: ignore[arg-type]
    return gang


def shown(rank: int, step: int, **fields: object) -> list[ShownStep]:
    values = {"world": 2, "board": 7} | fields
    return [ShownStep(rank=rank, step=step, **values)]  # type: ignore[arg-type]


def test_a_step_that_is_ahead_of_all_ranks_is_committed() -> None:
    gang = a_gang()
    assert gang.leave(60_000, 0) == [Announce(number=1, kind=LEAVE, step=106)]
    assert gang.answered(N1, 1, shown(0, 100), 10) == []
    assert gang.answered(N2, 1, shown(1, 105), 11) == [Decide(number=1, is_kept=True)]
    assert (gang.is_leaving, gang.is_busy) == (True, False)
    assert gang.leave(60_000, 12) == gang.save(0, 12) == []


def test_a_rank_that_was_too_fast_has_a_later_step_announced() -> None:
    gang = a_gang()
    gang.leave(60_000, 0)
    gang.answered(N1, 1, shown(0, 106), 10)
    assert gang.answered(N2, 1, shown(1, 101), 10) == [
        Decide(number=1, is_kept=False),
        Announce(number=2, kind=LEAVE, step=117),
    ]


def test_a_node_that_does_not_answer_has_the_step_cancelled_and_late_answers_mean_nothing() -> None:
    gang = a_gang()
    gang.leave(60_000, 0)
    gang.answered(N1, 1, shown(0, 100), 10)
    assert gang.look(ANSWER_MS - 1) == []
    cancelled, again = gang.look(ANSWER_MS)
    assert cancelled == Decide(number=1, is_kept=False)
    assert isinstance(again, Announce)
    assert gang.answered(N2, 1, shown(1, 100), ANSWER_MS + 1) == []


def test_after_some_tries_it_is_given_up() -> None:
    gang = a_gang()
    sent = gang.leave(60_000, 0)
    for now_ms in range(0, TRIES * ANSWER_MS + 1, ANSWER_MS):
        for rank in (0, 1):
            gang.heard(rank, news(rank, heard_ms=now_ms))
        sent += gang.look(now_ms)
    assert len([each for each in sent if isinstance(each, Announce)]) == TRIES
    assert isinstance(sent[-1], GiveUp)
    assert not sent[-1].is_ending
    assert not gang.is_busy


def test_it_is_given_up_when_its_time_is_over() -> None:
    gang = a_gang()
    gang.leave(500, 0)
    assert gang.look(ANSWER_MS)[-1] == GiveUp(because="the time to agree is over")


@pytest.mark.parametrize(
    ("step_us", "margin"),
    [(1_000, 250), (100_000, 3), (1_000_000, 1), (2_000_000, 0), (60_000_000, 0), (0, 0)],
)
def test_how_far_ahead_a_step_is_depends_on_how_long_steps_take(step_us: int, margin: int) -> None:
    (announced,) = a_gang(step_us=step_us).leave(60_000, 0)
    assert isinstance(announced, Announce)
    assert announced.step == 101 + margin


def test_ranks_are_taken_to_go_on_at_their_pace_since_they_were_heard_of() -> None:
    (announced,) = a_gang(step_us=10_000).leave(60_000, 900)
    assert isinstance(announced, Announce)
    assert announced.step == 100 + 90 + 1 + 25


@pytest.mark.parametrize(
    ("fields", "now_ms"),
    [({"world": 3}, 0), ({"is_closed": True}, 0), ({}, STALE_MS + 1)],
)
def test_ranks_that_are_not_all_there_are_not_told_together(fields: dict[str, object], now_ms: float) -> None:
    gang = a_gang(**fields)
    assert not gang.is_complete(now_ms)
    (given_up,) = gang.leave(60_000, now_ms)
    assert isinstance(given_up, GiveUp)
    assert given_up.is_ending is fields.get("is_closed", False)
    assert gang.save(1_000, now_ms) == []


def test_ranks_that_count_parts_of_a_gang_are_not_told_together() -> None:
    gang = GangAgreement()
    for worker in (0, 1):
        gang.heard(0, news(0, worker=worker, world=1))
    assert not gang.is_complete(0)
    gang.heard(0, news(0, worker=1, world=1, heard_ms=STALE_MS + 1))
    assert gang.is_complete(STALE_MS + 1)


def test_two_processes_of_one_rank_are_not_agreed_with() -> None:
    gang = a_gang()
    gang.leave(60_000, 0)
    assert gang.answered(N1, 1, shown(0, 1) + shown(1, 1), 1) == []
    decided, *_ = gang.answered(N2, 1, shown(1, 1), 1)
    assert decided == Decide(number=1, is_kept=False)


@pytest.mark.parametrize("wrong", [{"world": 3}, {"is_closed": True}])
def test_an_answer_that_does_not_fit_is_not_agreed_with(wrong: dict[str, object]) -> None:
    gang = a_gang()
    gang.leave(60_000, 0)
    gang.answered(N1, 1, shown(0, 1), 1)
    decided, *_ = gang.answered(N2, 1, shown(1, 1, **wrong), 1)
    assert decided == Decide(number=1, is_kept=False)


def test_a_worker_that_ends_meanwhile_has_it_given_up() -> None:
    gang = a_gang()
    gang.leave(60_000, 0)
    assert gang.lost([1], have_finished=False) == [
        Decide(number=1, is_kept=False),
        GiveUp(because="a worker has ended"),
    ]
    assert gang.lost([9], have_finished=False) == []
    assert (gang.workers, gang.nodes, gang.is_heard_of(0)) == (frozenset((0,)), (N1,), True)


def saving(
    gang: GangAgreement, every_ms: int = 60_000, now_ms: float = 0, expected: SaveTime | None = None
) -> Announce:
    """Have a gang save, and answer its announcement."""
    *_, announced = gang.save(every_ms, now_ms, expected)
    assert isinstance(announced, Announce)
    gang.answered(N1, announced.number, shown(0, 100), now_ms)
    assert gang.answered(N2, announced.number, shown(1, 100), now_ms) == [Decide(number=announced.number, is_kept=True)]
    return announced


def pass_step(gang: GangAgreement, step: int, now_ms: float, **fields: object) -> None:
    for rank in (0, 1):
        gang.heard(rank, news(rank, step=step, heard_ms=now_ms, **fields))  # type: ignore[arg-type]


def test_a_save_says_after_how_many_steps_the_next_one_is() -> None:
    # Nobody knows yet how long a save takes: as if it were half of the interval.
    assert saving(a_gang()) == Announce(number=1, kind=SAVE, step=106, every=600)
    assert saving(a_gang(), 0) == Announce(number=1, kind=SAVE, step=106, every=0)


def test_a_gang_that_saves_by_itself_is_not_told_again() -> None:
    gang = a_gang()
    saving(gang)
    assert gang.save(10, 1) == []  # a save is about to come anyway
    pass_step(gang, 120, 1_000)
    assert gang.save(70_000, 1_000) == []
    assert gang.save(120_000, 1_000) != []


def test_a_gang_with_slower_steps_than_before_is_told_its_interval_again() -> None:
    gang = a_gang()
    saving(gang)
    pass_step(gang, 120, 1_000, step_us=500_000)
    (announced,) = gang.save(60_000, 1_000)
    assert isinstance(announced, Announce)
    assert announced.every == 60


def test_a_process_that_was_replaced_does_not_know_the_interval() -> None:
    gang = a_gang()
    saving(gang)
    pass_step(gang, 120, 1_000, board=8)
    assert gang.save(60_000, 1_000) != []


def test_nothing_is_announced_before_all_ranks_have_passed_the_step_before() -> None:
    gang = a_gang()
    saving(gang)
    assert gang.leave(60_000, 1) == []
    pass_step(gang, 106, 500)
    (announced,) = gang.look(501)
    assert isinstance(announced, Announce)
    assert (announced.kind, announced.number) == (LEAVE, 2)


def test_a_rank_that_never_passes_the_step_is_not_waited_for_without_end() -> None:
    gang = a_gang()
    saving(gang)
    gang.leave(60_000, 1)
    assert gang.look(2_000) == []
    assert len(gang.look(5_000)) == 1


def test_a_wish_to_leave_replaces_a_save_that_is_not_decided() -> None:
    gang = a_gang()
    gang.save(0, 0)
    assert gang.leave(60_000, 1) == [Decide(number=1, is_kept=False), Announce(number=2, kind=LEAVE, step=106)]


def test_a_gang_that_was_formed_again_with_fewer_ranks_agrees_once_the_old_ones_are_stale() -> None:
    gang = GangAgreement()
    for rank in range(3):
        gang.heard(rank, news(rank, world=3))
    later_ms = STALE_MS + 1
    for worker, rank in ((1, 0), (2, 1)):
        gang.heard(rank, news(rank, worker=worker, board=8, heard_ms=later_ms))
    assert gang.is_complete(later_ms)
    assert gang.workers == {1, 2}


def a_saving_gang(took_ms: int = 1_000) -> GangAgreement:
    """A gang that saves every 20 s, and did so at step 106, 0.3 s after the announcement, which took as expected."""
    gang, time = a_gang(), SaveTime(cost_ms=100, took_ms=took_ms)
    saving(gang, 20_000, expected=time)
    pass_step(gang, 120, 1_000)
    gang.saved(106, time, 300 + took_ms + 300)
    return gang


def test_what_an_earlier_attempt_measured_is_expected_of_the_first_save() -> None:
    # It is safe 1.0 s after its step, has a copy 1.4 s later, and is known of 0.3 s after that. Twice 2.7 s are left.
    expected = SaveTime(cost_ms=100, took_ms=1_000)
    assert saving(a_gang(), 20_000, expected=expected).every == (20_000 - 2 * 2_700) * 9 // 500


def test_a_save_that_would_be_safe_too_late_is_announced_earlier() -> None:
    gang = a_saving_gang()
    pass_step(gang, 200, 8_000, step_us=100_000)
    assert gang.keep_pace(8_000) == []  # with slower steps they come to step 368 too late, but it is too early to tell
    pass_step(gang, 255, 13_500, step_us=100_000)
    (announced,) = gang.keep_pace(13_500)
    due_ms = 300 + 20_000 - 2 * 2_700
    assert announced == Announce(number=2, kind=SAVE, step=255 + (due_ms - 13_500) // 100, every=130)


def test_ranks_that_were_told_to_save_once_are_told_in_time_to_save_again() -> None:
    gang = a_gang(step=0, step_us=0)  # they are still restoring
    *_, announced = gang.save(5_000, 0)
    assert announced == Announce(number=1, kind=SAVE, step=1, every=0)
    gang.answered(N1, 1, shown(0, 0), 0)
    gang.answered(N2, 1, shown(1, 0), 0)
    pass_step(gang, 502, 8_100)
    assert gang.keep_pace(8_100) == []  # their save at step 501 is under way
    gang.saved(501, SaveTime(took_ms=200), 8_500)
    pass_step(gang, 525, 9_250)
    (again,) = gang.keep_pace(9_250)
    assert again == Announce(number=2, kind=SAVE, step=525 + (8_000 + 2_600 - 9_250) // 50, every=50)


def test_a_gang_that_saves_in_time_is_left_alone() -> None:
    gang = a_saving_gang(took_ms=10)
    for now_ms in range(1_000, 16_000, 200):
        pass_step(gang, 106 + now_ms // 50, now_ms)
        assert gang.keep_pace(now_ms) == []


def test_a_save_that_is_not_reported_yet_is_not_followed_by_an_earlier_one() -> None:
    gang = a_saving_gang()
    pass_step(gang, 370, 13_500)
    assert gang.keep_pace(13_500) == []
    gang.saved(368, SaveTime(took_ms=1_000), 13_900)
    pass_step(gang, 560, 26_500)
    assert gang.keep_pace(26_500) != []


def test_ranks_whose_steps_became_faster_are_told_another_number_of_them_at_their_next_save() -> None:
    gang = a_saving_gang(took_ms=10)
    pass_step(gang, 400, 2_000, step_us=10_000)
    (announced,) = gang.keep_pace(2_000)
    assert isinstance(announced, Announce)
    assert announced.step == 106 + 330
    assert announced.every > 4 * 330


def test_a_pace_that_the_ranks_do_not_agree_on_is_left_alone_for_a_while() -> None:
    gang = a_saving_gang()
    tried: list[float] = []
    for now_ms in range(14_000, 47_000, 200):
        pass_step(gang, 230, now_ms)  # they stand still, and their nodes do not answer
        tried += [now_ms for each in gang.keep_pace(now_ms) if isinstance(each, Announce)]
        gang.look(now_ms)
    assert 3 < len(tried) < 3 * TRIES


def test_ranks_that_leave_or_are_not_all_there_are_not_paced() -> None:
    for fields in ({"is_closed": True}, {"world": 3}, {"board": 8, "world": 3}):
        gang = a_saving_gang()
        pass_step(gang, 340, 14_500, **fields)
        assert gang.keep_pace(14_500) == []
    gang = a_saving_gang()
    pass_step(gang, 340, 14_500)
    gang.leave(60_000, 14_500)
    assert gang.keep_pace(14_500) == []


def test_a_gang_that_was_formed_again_saves_at_once_and_saves_steps_again() -> None:
    gang = a_saving_gang()
    gang.heard(0, news(0, step=90, heard_ms=6_800, board=8, world=3))
    assert gang.keep_pace(6_800) == []  # not all of them are there
    pass_step(gang, 90, 7_000, board=8)
    (announced,) = gang.keep_pace(7_000)
    assert announced == Announce(number=2, kind=SAVE, step=96, every=260)
    gang.answered(N1, announced.number, shown(0, 90, board=8), 7_000)
    gang.answered(N2, announced.number, shown(1, 90, board=8), 7_000)
    pass_step(gang, 97, 7_500, board=8)
    gang.saved(announced.step, SaveTime(took_ms=1_000), 8_500)
    pass_step(gang, 300, 21_000, board=8)
    assert gang.keep_pace(21_000) != []


def test_a_gang_that_was_formed_again_and_does_not_agree_is_left_alone_for_a_while() -> None:
    gang = a_saving_gang()
    tried: list[float] = []
    for now_ms in range(2_000, 30_000, 200):
        pass_step(gang, 90, now_ms, board=8)  # their nodes do not answer
        actions = [*gang.keep_pace(now_ms), *gang.look(now_ms)]
        tried += [now_ms for each in actions if isinstance(each, Announce)]
    assert TRIES <= len(tried) < 5 * TRIES
