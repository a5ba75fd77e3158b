"""A registry on loopback that keeps its images in a folder."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONFIGURATION = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
PATIENCE_S = 20.0


@contextmanager
def running_registry(folder: Path) -> Iterator[str]:
    """A registry that runs. Yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    file = folder / "registry.yml"
    file.write_text(CONFIGURATION.format(folder=folder / "images", port=port))
    with subprocess.Popen(
        ["docker-registry", "serve", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait(port)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait(port: int) -> None:
    give_up_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > give_up_s:
                raise
            time.sleep(0.05)
        else:
            return
