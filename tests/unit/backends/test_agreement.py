"""When ranks are told to save or leave, at which step, and when that is given up."""

import pytest

from muster.backends.agreement import (
    ANSWER_MS,
    STALE_MS,
    TRIES,
    Announce,
    Decide,
    GangAgreement,
    GiveUp,
    RankNews,
    ShownStep,
)
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


def saving(gang: GangAgreement, every_ms: int = 60_000, now_ms: float = 0) -> Announce:
    """Have a gang save, and answer its announcement."""
    *_, announced = gang.save(every_ms, now_ms)
    assert isinstance(announced, Announce)
    gang.answered(N1, announced.number, shown(0, 100), now_ms)
    assert gang.answered(N2, announced.number, shown(1, 100), now_ms) == [Decide(number=announced.number, is_kept=True)]
    return announced


def pass_step(gang: GangAgreement, step: int, now_ms: float, **fields: object) -> None:
    for rank in (0, 1):
        gang.heard(rank, news(rank, step=step, heard_ms=now_ms, **fields))  # type: ignore[arg-type]


def test_a_save_says_after_how_many_steps_the_next_one_is() -> None:
    assert saving(a_gang()) == Announce(number=1, kind=SAVE, step=106, every=1_080)
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
    assert announced.every == 108


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
