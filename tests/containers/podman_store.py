"""podman with images and containers of its own."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from muster.worker.containers.settings import ContainerSettings

RUN_OPTIONS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000")
"""The limits of podman's own are above what some machines allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A store, by the options that name it."""

    options: tuple[str, ...]

    @property
    def settings(self) -> ContainerSettings:
        return ContainerSettings(runtime="podman", options=self.options, run_options=RUN_OPTIONS)

    def podman(self, *words: str) -> str:
        command = ["podman", *self.options, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def has(self, image: str) -> bool:
        return (
            subprocess.run(["podman", *self.options, "image", "exists", image], timeout=60, check=False).returncode == 0
        )

    def containers(self) -> list[str]:
        return self.podman("ps", "--all", "--format", "{{.Names}}").split()


@contextmanager
def temporary_store() -> Iterator[Store]:
    """A store that goes with the tests."""
    with TemporaryDirectory(prefix="pod-", dir="/tmp") as folder:  # podman takes no longer path than fifty characters
        places = (f"--root={folder}/root", f"--runroot={folder}/run")
        made = Store(options=("--runtime=runc", "--storage-driver=vfs", *places))
        yield made
        made.podman("rm", "--all", "--force")
