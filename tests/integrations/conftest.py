from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.machine import Machine

NODES = ("n1", "n2", "n3")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Three nodes that end with the test, with everything they run."""
    home = tmp_path / "home"
    home.mkdir()
    made = Machine(home, NODES)
    yield made
    made.close()
