from collections.abc import Callable

import pytest

from muster.worker.containers.images import Images, Pull, Pulled, WaitingWorker
from muster.worker.containers.podman import Podman
from muster.worker.processes.bounded_command import CommandEnd

WELL = CommandEnd(exit_code=0, output=b"")
ABSENT = CommandEnd(exit_code=125, output=b"", problem="exit code 125: Error: no such image")


class Runner:
    """Takes commands, which a test ends."""

    def __init__(self) -> None:
        self.begun: list[tuple[list[str], Callable[[CommandEnd], None]]] = []
        self.now_s = 100.0
        self.images = Images(self, lambda: self.now_s)
        self.told: list[Pulled] = []
        self.notes = 0

    def __call__(self, command: list[str], _ms: int, _bytes: int, done: Callable[[CommandEnd], None]) -> None:
        self.begun.append((command, done))

    def want(self, image: str = "train:1") -> None:
        worker = WaitingWorker(begun=self.note, done=self.told.append)
        self.images.provide(Podman(), image, Pull(limit_ms=1000), worker)

    def note(self) -> None:
        self.notes += 1

    def end(self, end: CommandEnd) -> None:
        self.begun.pop(0)[1](end)


def test_an_image_that_is_there_is_not_pulled() -> None:
    runner = Runner()
    runner.want()
    runner.end(WELL)
    assert (runner.told, runner.begun, runner.notes) == ([Pulled()], [], 0)


def test_it_is_pulled_once_for_all_that_wait_and_timed() -> None:
    runner = Runner()
    runner.want()
    runner.want()
    runner.end(ABSENT)
    assert (len(runner.begun), runner.notes) == (1, 2)
    runner.now_s += 12
    runner.end(WELL)
    assert runner.told == [Pulled(took_ms=12_000)] * 2


@pytest.mark.parametrize(
    ("words", "is_mistake", "said"),
    [
        ("exit code 125: reading manifest 9 in docker.io/x: manifest unknown", True, "not found: look at its name"),
        ("exit code 1: pull access denied for x", True, "its registry refuses it: log in there with `podman login`"),
        ("exit code 125: unauthorized: authentication required", True, "its registry refuses it"),
        ("exit code 125: dial tcp: lookup r: no such host", False, "cannot be pulled: exit code 125: dial tcp"),
        ("exit code 125: writing blob: no space left on device", False, "cannot be pulled"),
        ("it took longer than 1 s", False, "cannot be pulled: it took longer"),
    ],
)
def test_who_is_to_blame_for_a_failed_pull_is_read_from_its_words(words: str, is_mistake: bool, said: str) -> None:
    runner = Runner()
    runner.want()
    runner.end(ABSENT)
    runner.end(CommandEnd(exit_code=125, output=b"", problem=words))
    (told,) = runner.told
    assert told.is_mistake is is_mistake
    assert said in told.problem
    assert told.problem.startswith("image train:1")
