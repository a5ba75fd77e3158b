"""Where the processes of a job are: each writes its stacks into a file when it is signalled, even while it hangs.

Only a process that has said so is signalled, because any other would die of the signal, and only if it belongs to the
worker. Of a process that does not answer, `py-spy` tells the stacks, where that program is installed and allowed.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from muster.model.node_limits import STACKS_BYTES, STACKS_MS
from muster.train.board import stack_name
from muster.worker.loop import Loop
from muster.worker.processes.bounded_command import BoundedCommand, CommandEnd, CommandLimits
from muster.worker.processes.companions import Companions
from muster.worker.training.worker_boards import FOLDER

LOOK_MS = 50
"""How often the files are looked at while processes write them."""

SPY = "py-spy"
SPY_MS = 5_000
"""How long `py-spy` may take. It stops the process for that time."""

SILENT = "it did not write its stacks, and py-spy is not installed on this node or not allowed to look\n"

Texts = dict[int, str]
"""The stacks of each rank, as text."""


@dataclass(slots=True, kw_only=True)
class StackRequest:
    """One process that is asked for its stacks."""

    rank: int
    pid: int
    worker_folder: Path
    begin: int = 0
    """How long the file was before."""
    size: int = 0
    """How long it was at the last look."""
    is_settled: bool = False

    @property
    def path(self) -> Path:
        """The file that the process writes."""
        return self.worker_folder / FOLDER / stack_name(self.rank)

    def ask(self) -> None:
        """Signal the process."""
        self.begin = self.size = self._length()
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGUSR2)

    def look(self) -> None:
        """Notice when the file has grown, and grows no more."""
        length = self._length()
        self.is_settled = length == self.size > self.begin
        self.size = length

    def text(self) -> str:
        """What it has written, as far as it is shown; empty when it wrote nothing."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return ""
        try:
            return os.pread(file, STACKS_BYTES, self.begin).decode(errors="replace")
        except OSError:
            return ""
        finally:
            os.close(file)

    def _length(self) -> int:
        try:
            return os.lstat(self.path).st_size
        except OSError:
            return 0


class StackDumps:
    """Asks processes for their stacks, and waits for them without keeping others waiting."""

    def __init__(self, loop: Loop, companions: Companions, search: Iterable[str] | None = None) -> None:
        self._loop = loop
        self._companions = companions
        self._search = tuple(os.get_exec_path() if search is None else search)

    def take(self, requests: list[StackRequest], answer: Callable[[Texts], None]) -> None:
        """Ask these processes, and pass on what they have written."""
        for each in requests:
            each.ask()
        self._wait(requests, STACKS_MS // LOOK_MS, answer)

    def _wait(self, requests: list[StackRequest], looks: int, answer: Callable[[Texts], None]) -> None:
        for each in requests:
            each.look()
        if looks > 0 and not all(each.is_settled for each in requests):
            self._loop.after(LOOK_MS, lambda: self._wait(requests, looks - 1, answer))
            return
        texts = {each.rank: each.text() for each in requests}
        silent = [each for each in requests if not texts[each.rank]]
        self._spy_on(silent, texts, answer)

    def _spy_on(self, silent: list[StackRequest], texts: Texts, answer: Callable[[Texts], None]) -> None:
        """Let `py-spy` look at one process after the other."""
        if not silent:
            answer(texts)
            return
        first, *others = silent

        def ended(end: CommandEnd) -> None:
            texts[first.rank] = end.output.decode(errors="replace") or SILENT
            self._spy_on(others, texts, answer)

        self._spy(first.pid, ended)

    def _spy(self, pid: int, ended: Callable[[CommandEnd], None]) -> None:
        paths = (os.path.join(folder, SPY) for folder in self._search)
        program = next((path for path in paths if os.access(path, os.X_OK)), None)
        if program is None:
            ended(CommandEnd(exit_code=127, output=b"", problem="it is not installed"))
            return
        command, limits = (program, "dump", "--pid", str(pid)), CommandLimits(time_ms=SPY_MS, output_bytes=STACKS_BYTES)
        try:
            BoundedCommand(command, os.environ, limits, loop=self._loop, companions=self._companions, done=ended)
        except OSError as error:
            ended(CommandEnd(exit_code=126, output=b"", problem=f"cannot be started: {error.strerror}"))
