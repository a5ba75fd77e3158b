"""What ends a command that watches a job of its own: Ctrl-C, a closed terminal, a stopped pipeline.

All of them raise `KeyboardInterrupt`, so that the job is ended too. A signal that comes while the job is being sent is
kept until the server has answered: before that the command knows no job to end, and leaving would leave it behind. The
second one is not kept. What the caller of the command ignores stays ignored, as `nohup` and `&` want it.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruptions:
    """Signals that end a command, as a context in which they do."""

    def __init__(self, on_kept: Callable[[], None] = lambda: None) -> None:
        """`on_kept` tells the user that a signal was heard and is kept."""
        self._on_kept = on_kept
        self._before: dict[signal.Signals, object] = {}
        self._is_keeping = self._is_kept = False

    def __enter__(self) -> "Interruptions":
        heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._hear) for number in heard}
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for number, action in self._before.items():
            signal.signal(number, action)  # type: ignore[arg-type]  # It is what `signal` returned.

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the first signal that comes meanwhile. `raise_kept` raises it."""
        self._is_keeping = True
        try:
            yield
        finally:
            self._is_keeping = False

    def raise_kept(self) -> None:
        """Raise what was kept, where it can be answered."""
        if self._is_kept:
            self._is_kept = False
            raise KeyboardInterrupt

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        if not self._is_keeping or self._is_kept:
            raise KeyboardInterrupt
        self._is_kept = True
        self._on_kept()
