"""Sweeps a node in the background: it may take seconds, and other nodes are talked to meanwhile."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from muster.worker.loop import Loop
from muster.worker.records.orphan_cleanup import sweep

_log = logging.getLogger("muster.backends.local")


class Sweeping:
    """One sweep, in a thread of its own."""

    def __init__(self, folder: Path, loop: Loop, finished: Callable[[bool], None]) -> None:
        """The loop calls `finished` and says whether everything is known to be gone and its end recorded."""
        self._folder = folder
        self._loop = loop
        self._finished = finished
        self._is_clean = False
        self._done = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        loop.watch(self._done, readable=self._end)
        try:
            threading.Thread(target=self._run, name=f"sweep-{folder.name}", daemon=True).start()
        except RuntimeError as error:  # no thread can be started now
            self._log_failure(error)
            os.eventfd_write(self._done, 1)

    def _run(self) -> None:
        try:
            self._is_clean = not sweep(self._folder)
        except OSError as error:
            self._log_failure(error)
        except Exception:  # noqa: BLE001 - whatever it is, the link must hear that the sweep has ended
            _log.exception("a node could not be swept", extra={"node": self._folder.name})
        finally:
            os.eventfd_write(self._done, 1)

    def _log_failure(self, error: Exception) -> None:
        _log.warning("a node could not be swept", extra={"node": self._folder.name, "cause": str(error)})

    def _end(self) -> None:
        self._loop.watch(self._done)
        os.close(self._done)
        self._finished(self._is_clean)
