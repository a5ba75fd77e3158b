"""docker: a client whose containers are children of a service."""

from muster.worker.containers.docker_like import DockerLike


class Docker(DockerLike):
    """The client without its service is no runtime."""

    name = "docker"
    is_daemon = True

    def check(self) -> list[str]:
        """The version of the service."""
        return self._command("version", "--format", "{{.Server.Version}}")

    def _devices(self, gpus: tuple[int, ...]) -> list[str]:
        """The quotes are part of the value: it is read as comma-separated, and this comma is inside a device."""
        return [f'--gpus="device={",".join(map(str, gpus))}"'] if gpus else []
