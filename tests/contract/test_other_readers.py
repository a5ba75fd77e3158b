"""Other processes that read the database file while it is in use: they take nothing away from the writer."""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.model.events import HoldsSet
from muster.store.sql import open_store

READS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("select count(*) from events").fetchone()[0])
connection.close()
"""
BACKS_UP = """
import sqlite3, sys
source, target = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[1] + ".copy")
source.backup(target)
print(target.execute("select count(*) from events").fetchone()[0])
target.close()
source.close()
"""


@pytest.mark.parametrize("program", [READS, BACKS_UP], ids=["reads", "backs up"])
@pytest.mark.parametrize("is_verified", [False, True])
def test_a_journal_is_not_taken_for_left_behind(tmp_path: Path, program: str, is_verified: bool) -> None:
    path = tmp_path / "muster.db"
    with open_store(f"sqlite:///{path}", write=True) as store:
        for version in range(3):
            store.log.append([HoldsSet(at_ms=version, holds=())], version)
        if is_verified:
            assert store.audit.verify().is_whole
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout == "3\n"
        assert path.with_name("muster.db-wal").exists()
        store.log.check()
        assert store.log.append([HoldsSet(at_ms=9, holds=())], 3) == 4
