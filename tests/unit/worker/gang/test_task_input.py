import os
import selectors

import pytest

from muster.worker.gang.task_input import TaskInput


@pytest.fixture
def selector() -> selectors.BaseSelector:
    return selectors.DefaultSelector()


def test_what_a_task_does_not_take_is_counted_until_it_does(selector: selectors.BaseSelector) -> None:
    reading, writing = os.pipe()
    taken: list[int] = []
    task = TaskInput(writing, selector, lambda: taken.append(task.kept_bytes))
    task.type(b"x" * 200_000)
    task.type(None)
    left = task.kept_bytes
    assert 0 < left < 200_000
    seen = 0
    while data := os.read(reading, 50_000):
        seen += len(data)
        for key, _ in selector.select(0):
            key.data()
    assert (seen, task.kept_bytes, taken[-1]) == (200_000, 0, 0)
    assert not selector.get_map()


def test_a_task_that_does_not_read_any_more_keeps_nothing_waiting(selector: selectors.BaseSelector) -> None:
    reading, writing = os.pipe()
    task = TaskInput(writing, selector, lambda: None)
    os.close(reading)
    task.type(b"x" * 200_000)
    assert task.kept_bytes == 0
    task.type(b"more")
    assert task.kept_bytes == 0
