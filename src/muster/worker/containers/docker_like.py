"""What docker and podman have in common: nearly all of their command line."""

import shlex
from abc import abstractmethod
from collections.abc import Sequence

from muster.worker.containers.runtime import LABEL, Bind, Container, Runtime, sorted_binds

SHELL = "/bin/sh"

_SHARED = (
    "--network=host",
    "--pid=host",
    "--ipc=host",
    # The image was pulled before, and its time was counted. A start does not wait for a registry.
    "--pull=never",
    # Muster keeps the output. A second copy would fill the disk of the node.
    "--log-driver=none",
    # A system with SELinux would otherwise hide the folders that Muster and the job share.
    "--security-opt=label=disable",
)


class DockerLike(Runtime):
    """A runtime with the command line of docker."""

    def has_image(self, image: str) -> list[str]:
        """Ask for nothing but the id."""
        return self._command("image", "inspect", "--format", "{{.Id}}", image)

    def pull(self, image: str, pull_options: Sequence[str]) -> list[str]:
        """Print no progress: it is no terminal."""
        return self._command("pull", "--quiet", *pull_options, image)

    def run(self, container: Container) -> list[str]:
        """Removed by `end` and not by itself, because it is asked first whether it ran out of memory."""
        return self._command(
            "run",
            f"--name={container.name}",
            f"--label={LABEL}={container.badge}",
            *_SHARED,
            *([f"--user={container.user}"] if container.user else []),
            *(["--interactive"] if container.has_terminal or container.has_input else []),
            *(["--tty"] if container.has_terminal else []),
            *(f"--env={name}" for name in container.passed),
            *_limits(container),
            *(word for each in sorted_binds(container.binds) for word in ("--mount", _mount(each))),
            *self._devices(container.gpus),
            *self._run_options,
            f"--entrypoint={SHELL}",
            container.image,
            container.script,
        )

    def enter(self, container: Container, script: str) -> list[str]:
        """The marks of the worker are on these processes too."""
        terminal = ["--interactive", "--tty"] if container.has_terminal else ["--interactive"]
        marks = [f"--env={name}" for name in container.passed]
        return self._command("exec", *terminal, *marks, container.name, SHELL, script)

    def end(self, name: str) -> list[str]:
        """One shell for both questions. What does not exist has been removed."""
        asked = shlex.join(self._command("container", "inspect", "--format", "{{.State.OOMKilled}}", name))
        removed = shlex.join(self._command("rm", "--force", "--volumes", name))
        there = shlex.join(self._command("container", "inspect", "--format", "{{.Id}}", name))
        return [SHELL, "-c", f"{asked} 2>/dev/null || exit 0; {removed} >/dev/null || ! {there} >/dev/null 2>&1"]

    def leftovers(self, badge: str) -> list[str]:
        """By the label, because names may be those of another home."""
        return self._command("ps", "--all", "--filter", f"label={LABEL}={badge}", "--format", "{{.Names}}")

    @abstractmethod
    def _devices(self, gpus: tuple[int, ...]) -> list[str]:
        """The options that give it these GPUs."""

    def _command(self, *words: str) -> list[str]:
        return [self.name, *self._options, *words]


def _limits(container: Container) -> list[str]:
    limits = container.limits
    words = []
    if limits.memory_bytes is not None:
        words.append(f"--memory={limits.memory_bytes}")
    if limits.cpu_milli is not None:
        words.append(f"--cpus={limits.cpu_milli / 1000:g}")
    if limits.processes is not None:
        words.append(f"--pids-limit={limits.processes}")
    return words


def _mount(bind: Bind) -> str:
    """The paths hold no comma: neither those of a job file nor those of Muster."""
    return f"type=bind,source={bind.source},target={bind.target}{',readonly' if bind.read_only else ''}"
