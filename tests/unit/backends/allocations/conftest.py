"""A pretended engine, and control planes over it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.backends.allocations import allocations as module
from tests.unit.backends.allocations.desk import Desk, PretendedEngine, PromptCalls


@pytest.fixture
def engine() -> PretendedEngine:
    return PretendedEngine()


@pytest.fixture
def desk(tmp_path: Path, engine: PretendedEngine, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Desk]:
    """Makes a control plane; a second one in the same home is what a restart makes."""
    monkeypatch.setattr(module, "EngineCalls", PromptCalls)
    return lambda: Desk(tmp_path, engine)
