"""Checks that the open files of a SQLite database are still the ones that lie under their names.

SQLite goes on writing to a file that was moved, deleted or replaced, and the next process that opens the database finds
none of it. So the file is checked before a write is acknowledged, and from time to time while nothing is written. A
file is identified by its device and inode number. It never shrinks by itself.
"""

import os
from pathlib import Path

from muster.model.errors import Corrupted, Unavailable


class DatabaseFiles:
    """The files of one database as they were when it was opened."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._journal_path = path.with_name(f"{path.name}-wal")
        self._name = name
        self._file = path.stat()
        self._size_bytes = self._file.st_size
        self._journal: os.stat_result | None = None

    @property
    def has_journal(self) -> bool:
        """True when some writes may not be in the file itself yet."""
        found = stat_of(self._journal_path)
        return found is not None and found.st_size > 0

    def forget_journal(self) -> None:
        """Accept another journal from now on: SQLite makes a new one after all connections were closed."""
        self._journal = None

    def check(self) -> None:
        """Check that the file is there and no shorter than before, and that its journal is still the same."""
        self._check_size(self.check_file())
        self._check_journal()

    def check_file(self) -> os.stat_result:
        """Check that the opened file lies under its name. Raises `Unavailable` while it does not."""
        found = stat_of(self._path)
        if found is None:
            raise Unavailable(
                f"{self._name}: its file was moved or deleted; nothing more is written. Move it back to "
                f"{self._path}, or stop the server, restore a copy and start it",
                brief="the database file was moved or deleted",
            )
        if not is_same(found, self._file):
            raise Unavailable(
                f"{self._name}: another file lies in its place; nothing more is written. Move the one back that was "
                "there, or stop the server and start it on this one",
                brief="the database file was replaced by another",
            )
        return found

    def _check_size(self, found: os.stat_result) -> None:
        if found.st_size < self._size_bytes:
            raise Corrupted(
                f"{self._name}: its file was cut from {self._size_bytes} to {found.st_size} bytes; stop the server and "
                "restore a copy"
            )
        self._size_bytes = found.st_size

    def _check_journal(self) -> None:
        found = stat_of(self._journal_path)
        if self._journal is None:
            self._journal = found
        elif not is_same(self._journal, found):
            raise Corrupted(
                f"{self._name}: its journal {self._journal_path} was deleted or replaced; stop the server with "
                "`muster down`, which writes what the journal held into the database, and start it again"
            )


def stat_of(path: Path) -> os.stat_result | None:
    """The file's status; None when there is no file, or its status cannot be read."""
    try:
        return path.stat()
    except OSError:
        return None


def is_same(one: os.stat_result, other: os.stat_result | None) -> bool:
    """True when both are the same file, whatever it contains."""
    return other is not None and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
