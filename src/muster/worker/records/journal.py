"""The register's entries on disk, so that a supervisor's successor knows what it knew.

What was written survives the death of the supervisor. What was `synced` also survives a crash of the machine. The file
is rewritten when it has grown, or when it may be damaged. A full disk makes it stale but not wrong: nothing is appended
to a file that lacks something. The write is retried after a while. Until then the supervisor reports nothing that the
file lacks, except failed starts.
"""

import contextlib
import json
import os
import time
from pathlib import Path

from muster.model.node_limits import SUPERVISOR_JOURNAL_BYTES
from muster.worker.records.register import Entry, Register

JOURNAL = "journal"
"""The name of the journal in the node's folder."""

RETRY_MS = 1_000
"""Pause before a failed write is retried: the whole file is written, and a full disk stays full for a while."""


def recorded(path: Path) -> Register:
    """What a journal says, for a reader that does not write to it."""
    register = Register()
    _read_into(register, path)
    return register


def known_tokens(path: Path) -> frozenset[str]:
    """The tokens of workers that a journal knows, alive or not; empty when there is no such file."""
    return recorded(path).tokens if path.is_file() else frozenset()


def _read_into(register: Register, path: Path) -> tuple[int, ...]:
    """Apply every entry to the register. Returns the numbers of damaged lines."""
    damaged = []
    for number, line in enumerate(_lines(path), start=1):
        try:
            register.apply(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            damaged.append(number)
    return tuple(damaged)


class Journal:
    """A register that is kept on disk."""

    def __init__(self, path: Path, *, grown_bytes: int = SUPERVISOR_JOURNAL_BYTES) -> None:
        self.register = Register()
        self._path = path
        self._grown_bytes = grown_bytes
        self._lines: list[bytes] = []
        self._needs_sync = False
        self._written = 0
        self._file: int | None = None
        self._failed_s = 0.0
        """When a write last failed, by a monotonic clock."""
        self.unreadable = _read_into(self.register, path)
        """The numbers of damaged lines, counted from 1. Their entries are lost; all others are known."""
        self._rewrite()

    @property
    def is_stale(self) -> bool:
        """True while the disk does not take new entries."""
        return self._file is None

    def add(self, *entry: object, synced: bool = False) -> None:
        """Apply an entry to the register. The next `flush` writes it."""
        self.register.apply(entry)
        self._lines.append(_line(entry))
        self._needs_sync = self._needs_sync or synced

    def flush(self, *, at_once: bool = False) -> None:
        """Write all entries so far. If a `synced` entry is among them, they are on disk afterwards.

        A stale journal is rewritten when it is time to try again, or `at_once` for what cannot wait. It may stay stale.
        """
        if self._file is None:
            if at_once or time.monotonic() >= self._failed_s + RETRY_MS / 1000:
                self._rewrite()
            return
        if self._written > self._grown_bytes:
            self._rewrite()
            return
        if not self._lines:
            return
        data = b"".join(self._lines)
        try:
            if os.write(self._file, data) != len(data):
                raise OSError("written in part")
            if self._needs_sync:
                os.fdatasync(self._file)
        except OSError:
            self._close()
            self._rewrite()  # a partly written file is replaced at once, if there is room
            return
        self._written += len(data)
        self._lines, self._needs_sync = [], False

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.flush(at_once=True)
        self._close()

    def _rewrite(self) -> None:
        """Replace the file by one that has only what still matters."""
        self._lines, self._needs_sync = [], False
        self._close()
        try:
            self._file = self._written_anew()
        except OSError:
            self._failed_s = time.monotonic()
        else:
            self._written = 0

    def _written_anew(self) -> int:
        """Replace the file. Returns the new one, open for further entries."""
        fresh = self._path.with_suffix(".new")
        with contextlib.ExitStack() as opened:
            file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            opened.callback(os.close, file)
            with open(file, "wb", closefd=False) as stream:
                stream.writelines(_line(entry) for entry in self.register.entries())
            os.fsync(file)
            os.replace(fresh, self._path)
            opened.pop_all()
            return file

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _lines(path: Path) -> list[bytes]:
    """The complete lines. A last line that was cut off is left out."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    return text[: text.rfind(b"\n") + 1].split(b"\n")[:-1]
