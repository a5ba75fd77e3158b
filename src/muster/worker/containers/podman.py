"""podman: no service, and containers are children of what started them."""

from muster.worker.containers.docker_like import DockerLike


class Podman(DockerLike):
    """Runs as root, or as any user with subordinate ids."""

    name = "podman"

    def check(self) -> list[str]:
        """It fails also where the OCI runtime below it is missing. `info` says more, and takes six times as long."""
        return self._command("version", "--format", "{{.Client.Version}}")

    def _command(self, *words: str) -> list[str]:
        """Only what it fails of is said. Otherwise it notes in the output of a job which signals came too late."""
        return [self.name, "--log-level=fatal", *self._options, *words]

    def _devices(self, gpus: tuple[int, ...]) -> list[str]:
        """By the Container Device Interface, whose files `nvidia-ctk cdi generate` writes."""
        return [f"--device=nvidia.com/gpu={gpu}" for gpu in gpus]
