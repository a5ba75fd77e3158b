from muster.core.order.fair_service import FairService
from muster.model.ids import JobId


def line_of(capacity: int, *sizes: int) -> FairService:
    line = FairService(capacity)
    for place, size in enumerate(sizes):
        line.join(JobId(f"j{place}"), place, size)
    return line


def test_jobs_are_due_as_far_down_the_line_as_the_cluster_reaches() -> None:
    line = line_of(8, 4, 4, 1)
    assert line.advance() == ["j0", "j1"]
    assert line.advance() == []


def test_a_large_job_in_front_keeps_those_behind_it_waiting() -> None:
    assert line_of(8, 4, 8, 1).advance() == ["j0"]


def test_a_job_that_ends_makes_room_for_the_next_in_line() -> None:
    line = line_of(8, 4, 8, 1)
    line.advance()
    line.leave(JobId("j0"), 0)
    assert line.advance() == ["j1"]
    line.leave(JobId("j1"), 1)
    assert line.advance() == ["j2"]


def test_a_job_that_leaves_from_the_middle_lets_others_move_up() -> None:
    line = line_of(8, 4, 8, 1)
    line.advance()
    line.leave(JobId("j1"), 1)
    assert line.advance() == ["j2"]
    line.leave(JobId("gone"), 5)
    assert line.advance() == []


def test_a_job_that_comes_late_with_an_early_place_is_due_at_once() -> None:
    line = FairService(8)
    line.join(JobId("b"), 10, 4)
    assert line.advance() == ["b"]
    line.join(JobId("a"), 5, 8)
    line.join(JobId("c"), 20, 4)
    assert line.advance() == []
    line.leave(JobId("a"), 5)
    assert line.advance() == ["c"]
