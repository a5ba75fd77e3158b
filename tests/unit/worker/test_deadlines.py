"""A supervisor that is alone acts a little later than a control plane would have."""

from muster.model.node_limits import ABSENCE_MARGIN_MS
from muster.worker.deadlines import Deadlines


def test_a_limit_leaves_time_to_save() -> None:
    due = Deadlines()
    assert due.next_ms(0) is None
    due.limit(1_000, 100_000, 30_000)
    assert (due.tell_ms, due.kill_ms) == (71_000 + ABSENCE_MARGIN_MS, 101_000 + ABSENCE_MARGIN_MS)
    assert due.next_ms(1_000) == 70_000 + ABSENCE_MARGIN_MS
    due.limit(1_000, 100, 30_000)
    assert due.tell_ms == 1_050 + ABSENCE_MARGIN_MS
    due.limit(1_000, None, 30_000)
    assert due.next_ms(1_000) is None


def test_first_it_is_told_and_then_it_is_killed() -> None:
    due = Deadlines()
    assert (due.has_to_leave(1e12), due.has_to_die(1e12)) == (False, False)
    due.limit(0, 100_000, 30_000)
    moments = (70_000, 70_000 + ABSENCE_MARGIN_MS, 100_000 + ABSENCE_MARGIN_MS)
    assert [(due.has_to_leave(now_ms), due.has_to_die(now_ms)) for now_ms in moments] == [
        (False, False),
        (True, False),
        (True, True),
    ]


def test_a_worker_that_was_told_has_its_grace_and_never_more_than_its_limit() -> None:
    due = Deadlines()
    due.told(0, 5_000)
    assert (due.tell_ms, due.kill_ms) == (None, 5_000 + ABSENCE_MARGIN_MS)
    due = Deadlines()
    due.limit(0, 1_000, 100)
    due.told(0, 5_000)
    assert due.kill_ms == 1_000 + ABSENCE_MARGIN_MS
    assert due.next_ms(due.kill_ms) == ABSENCE_MARGIN_MS  # overdue: looked at again later
