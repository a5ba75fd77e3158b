from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launchers.gangs import NODES
from tests.local.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Two nodes that end with the test, with everything they run."""
    home = tmp_path / "home"
    home.mkdir()
    made = Machine(home, NODES)
    yield made
    made.close()
