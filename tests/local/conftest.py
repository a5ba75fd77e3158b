from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.local.machine import Machine

MakeMachine = Callable[..., Machine]


@pytest.fixture
def make_machine(tmp_path: Path) -> Iterator[MakeMachine]:
    """Machines that end with the test, with everything they run."""
    made: list[Machine] = []

    def make(home: Path = tmp_path, nodes: tuple[str, ...] = ("n1",), options: tuple[str, ...] = ()) -> Machine:
        made.append(Machine(home, nodes, options=options))
        return made[-1]

    yield make
    for machine in made:
        machine.close()


@pytest.fixture
def machine(make_machine: MakeMachine) -> Machine:
    return make_machine()
