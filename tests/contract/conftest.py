"""Stores to hold the contracts against: SQLite in a file, and a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.store.sql import SqlStore, open_store
from tests.postgres import Server

ENGINES = ("kubernetes", "ray", "slurm")
"""Worlds on engines that run for real."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the contract of backends, engines hold a few tests in `make test`, and the rest in `make engines`."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        is_on_engine = callspec is not None and callspec.params.get("world") in ENGINES
        if is_on_engine and not item.get_closest_marker("on_engines"):
            item.add_marker("engines_only")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that was never used."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/muster.db"
    server: Server = request.getfixturevalue("postgres")
    return server.new_url()


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    """An empty store, open for writing."""
    with open_store(url, write=True) as opened:
        yield opened
