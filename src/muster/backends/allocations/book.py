"""The records of allocations in the home, so that a control plane that comes back finds each again.

A record is written before the engine is asked, and removed once everything about the allocation is in the log. So an
allocation whose record is there may exist, and one without a record may not: whatever turns up of it is ended.
"""

import json
import logging
import secrets
from collections.abc import Iterator
from pathlib import Path

from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.engine import AllocationId
from muster.home import Home
from muster.model.ids import EngineName, JobId
from muster.private_files import write_private
from muster.worker.messages import BadMessage, plain, worker_from

SUFFIX = ".json"

_log = logging.getLogger("muster.allocations")


class AllocationBook:
    """The records of one home."""

    def __init__(self, home: Path) -> None:
        self._folder = Home(home).allocations

    @property
    def mark(self) -> str:
        """Tells allocations of this home from those of other Musters that the same user runs."""
        path = self._folder / "mark"
        if not path.exists():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            write_private(path, secrets.token_hex(4))
        return path.read_text("utf-8").strip()

    def note(self, allocation: EngineAllocation) -> None:
        """Write down what is known now. Raises `OSError`."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        record = {
            "id": allocation.id,
            "engine": allocation.engine,
            "job": allocation.job,
            "attempt": allocation.attempt,
            "workers": [plain(worker) for worker in allocation.workers],
            "engine_id": allocation.engine_id,
        }
        write_private(self._path(allocation.id), json.dumps(record))

    def forget(self, allocation: AllocationId) -> None:
        """Everything about it is in the log."""
        self._path(allocation).unlink(missing_ok=True)

    def read(self) -> Iterator[EngineAllocation]:
        """All allocations that may exist. A record that cannot be read is left out, and said so."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            try:
                record = json.loads(path.read_text("utf-8"))
                yield EngineAllocation(
                    id=AllocationId(record["id"]),
                    engine=EngineName(record["engine"]),
                    job=JobId(record["job"]),
                    attempt=int(record["attempt"]),
                    workers=tuple(worker_from(each) for each in record["workers"]),
                    engine_id=record["engine_id"],
                    is_asked=True,
                )
            except (OSError, ValueError, KeyError, TypeError, BadMessage) as error:
                _log.warning(
                    "the record of an allocation cannot be read", extra={"file": path.name, "cause": str(error)}
                )

    def _path(self, allocation: AllocationId) -> Path:
        return self._folder / f"{allocation}{SUFFIX}"
