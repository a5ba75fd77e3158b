"""A wire between one control plane and the database, which a test can cut."""

import contextlib
import selectors
import socket
import threading
from pathlib import Path

PIECE_BYTES = 64 << 10
LOOK_S = 0.05


class Wire:
    """Passes everything on between a port of this machine and the unix socket of a database."""

    def __init__(self, database: Path) -> None:
        self._database = str(database / ".s.PGSQL.5432")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._is_held = threading.Event()
        self._is_over = threading.Event()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Pass nothing on from now on, and close nothing: as when a switch drops every packet."""
        self._is_held.set()

    def tear(self) -> None:
        """Close all connections, and pass nothing on from now on."""
        self.hold()
        self._close_all()

    def mend(self) -> None:
        """Pass everything on again."""
        self._is_held.clear()

    def end(self) -> None:
        """Close everything for good."""
        self._is_over.set()
        self._listener.close()
        self._close_all()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(here,), daemon=True).start()

    def _serve(self, here: socket.socket) -> None:
        there = socket.socket(socket.AF_UNIX)
        with here, there, contextlib.suppress(OSError):
            self._wait_while_held()
            there.connect(self._database)
            with self._lock:
                self._pairs.append((here, there))
            self._pump(here, there)

    def _pump(self, here: socket.socket, there: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(here, selectors.EVENT_READ, there)
            selector.register(there, selectors.EVENT_READ, here)
            while not self._is_over.is_set():
                for key, _ in selector.select(LOOK_S):
                    self._wait_while_held()
                    source: socket.socket = key.fileobj  # type: ignore[assignment]
                    data = source.recv(PIECE_BYTES)
                    if not data:
                        return
                    key.data.sendall(data)

    def _wait_while_held(self) -> None:
        while self._is_held.is_set() and not self._is_over.wait(LOOK_S):
            pass

    def _close_all(self) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for side in pair:
                with contextlib.suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)
