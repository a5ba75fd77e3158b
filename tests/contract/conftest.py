"""Stores to hold the contracts against: SQLite in a file, and a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.store.sql import SqlStore, open_store
from tests.postgres import Server


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
