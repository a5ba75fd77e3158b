"""enroot: images are files, and a container is an unpacked image in which a process runs."""

import shlex
from collections.abc import Sequence

from muster.worker.containers.docker_like import SHELL
from muster.worker.containers.runtime import Bind, Container, Runtime, image_file, sorted_binds


class Enroot(Runtime):
    """Its containers have no limits, no network and no processes of their own."""

    name = "enroot"
    limits_containers = False

    def check(self) -> list[str]:
        """Its version."""
        return [self.name, *self._options, "version"]

    def has_image(self, image: str) -> list[str]:
        """An image is a file, which is there when it is whole."""
        return ["/usr/bin/test", "-f", self._file(image)]

    def pull(self, image: str, pull_options: Sequence[str]) -> list[str]:
        """Under another name first. It does not overwrite what an interrupted pull has left."""
        file = self._file(image)
        pulled = shlex.join(
            [self.name, *self._options, "import", *pull_options, "--output", f"{file}.new", _address(image)]
        )
        return [SHELL, "-c", f"rm -f {shlex.quote(f'{file}.new')}; {pulled} && exec mv {file}.new {file}"]

    def run(self, container: Container) -> list[str]:
        """Unpacked for this worker alone, because containers are writable."""
        unpacked = shlex.join(
            [self.name, *self._options, "create", "--name", container.name, self._file(container.image)]
        )
        begun = [
            *(self.name, *self._options, "start", "--rw"),
            *(word for each in sorted_binds(container.binds) for word in ("--mount", _mount(each))),
            *(word for name in container.passed for word in ("--env", name)),
            *(["--env", "NVIDIA_VISIBLE_DEVICES"] if container.gpus else []),
            *self._run_options,
            container.name,
            SHELL,
            container.script,
        ]
        devices = f"NVIDIA_VISIBLE_DEVICES={','.join(map(str, container.gpus)) or 'void'}"
        return [SHELL, "-c", f"{unpacked} >&2 && {devices} exec {shlex.join(begun)}"]

    def enter(self, container: Container, script: str) -> list[str]:
        """By the process of the container, which its script has written down."""
        folder = container.script.rpartition("/")[0]
        entered = shlex.join([self.name, *self._options, "exec"])
        return [SHELL, "-c", f'exec {entered} "$(cat {folder}/leader)" {SHELL} {script}']

    def end(self, name: str) -> list[str]:
        """Its processes are those of the worker. What was unpacked remains."""
        removed = shlex.join([self.name, *self._options, "remove", "--force", name])
        listed = shlex.join([self.name, *self._options, "list"])
        return [SHELL, "-c", f"{removed} >/dev/null 2>&1; ! {listed} | grep -qxF {shlex.quote(name)}"]

    def leftovers(self, badge: str) -> list[str]:
        """By the token in their names, which begins with the badge."""
        listed = shlex.join([self.name, *self._options, "list"])
        return [SHELL, "-c", f"{listed} | grep -- {shlex.quote(f'^muster-.*-{badge}')} || :"]

    def _file(self, image: str) -> str:
        return f"{self._store}/{image_file(image)}.sqsh"


def _address(image: str) -> str:
    """How it names an image: what stands before the first slash is a registry if it looks like a host."""
    host, slash, rest = image.partition("/")
    is_host = bool(slash) and ("." in host or ":" in host or host == "localhost")
    return f"docker://{host}#{rest}" if is_host else f"docker://{image}"


def _mount(bind: Bind) -> str:
    """As in a table of file systems. What is not there in the image is made: a folder or a file, as the source is."""
    return f"{bind.source}:{bind.target}:none:x-create=auto,rbind{',ro' if bind.read_only else ''}"
