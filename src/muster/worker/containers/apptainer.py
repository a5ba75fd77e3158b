"""Apptainer, which was Singularity: a container is a process like any other, and an image is a file."""

import shlex
from collections.abc import Sequence

from muster.worker.containers.docker_like import SHELL
from muster.worker.containers.runtime import Bind, Container, Runtime, image_file, sorted_binds


class Apptainer(Runtime):
    """Containers share network, processes and shared memory with the node unless they are told otherwise."""

    name = "apptainer"
    renumbers_gpus = False
    limits_containers = False

    def check(self) -> list[str]:
        """Its version."""
        return [self.name, *self._options, "version"]

    def has_image(self, image: str) -> list[str]:
        """An image is a file, which is there when it is whole."""
        return ["/usr/bin/test", "-f", self._file(image)]

    def pull(self, image: str, pull_options: Sequence[str]) -> list[str]:
        """Under another name first, so that nobody takes a part for the whole."""
        file = self._file(image)
        pulled = shlex.join(
            [self.name, *self._options, "pull", "--force", *pull_options, f"{file}.new", f"docker://{image}"]
        )
        return [SHELL, "-c", f"{pulled} && exec mv {shlex.join((f'{file}.new', file))}"]

    def run(self, container: Container) -> list[str]:
        """The environment of the node stays outside. What a job writes elsewhere goes with the container."""
        return [
            *(self.name, *self._options, "exec"),
            *("--cleanenv", "--no-home", "--writable-tmpfs"),
            *(["--nv"] if container.gpus else []),
            *(word for each in sorted_binds(container.binds) for word in ("--bind", _bind(each))),
            *self._run_options,
            self._file(container.image),
            SHELL,
            container.script,
        ]

    def enter(self, container: Container, script: str) -> list[str]:
        """Another container with the same view of the node: there is nothing else to enter."""
        return [*self.run(container)[:-1], script]

    def end(self, _name: str) -> list[str]:
        """Nothing is left of a container whose processes are gone."""
        return ["/bin/true"]

    def leftovers(self, _badge: str) -> list[str]:
        """None, as above."""
        return ["/bin/true"]

    def _file(self, image: str) -> str:
        return f"{self._store}/{image_file(image)}.sif"


def _bind(bind: Bind) -> str:
    return f"{bind.source}:{bind.target}{':ro' if bind.read_only else ''}"
