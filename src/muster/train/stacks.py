"""Where a process is, written into a file when the supervisor asks by a signal."""

import contextlib
import faulthandler
import os
import signal
from typing import IO, Any

from muster.train.board import stack_name
from muster.train.notice_pipe import NoticePipe

ASKED_BY = signal.SIGUSR2


class Stacks:
    """The stacks of all threads of this process, in a file beside its board. Each request adds to it."""

    def __init__(self, folder: str, rank: int, pipe: NoticePipe) -> None:
        self._file: IO[Any] | None = None
        # A program that uses the signal itself keeps it. An earlier training of this process has left it ignored.
        if signal.getsignal(ASKED_BY) not in (signal.SIG_DFL, signal.SIG_IGN):
            return
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            self._file = open(os.path.join(folder, stack_name(rank)), "w", encoding="utf-8")  # noqa: SIM115 (closed by close)
            faulthandler.register(ASKED_BY, file=self._file, all_threads=True, chain=False)
            pipe.tell(f"stacks {rank} {os.getpid()} {ASKED_BY.name}", patience_s=1)

    def close(self) -> None:
        """The signal has no meaning any longer. It is ignored from here on, because one may be under way."""
        if self._file is not None:
            faulthandler.unregister(ASKED_BY)
            with contextlib.suppress(ValueError):
                signal.signal(ASKED_BY, signal.SIG_IGN)
            self._file.close()
            self._file = None
