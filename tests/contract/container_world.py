"""The local backend with jobs in containers, as a world that a test can move."""

from pathlib import Path

from muster.backends.local.backend import LocalBackend
from muster.backends.local.node_settings import NodeSettings
from muster.model.ids import JobId, NodeName
from muster.model.instructions import StartWorkers
from muster.model.node import Node
from muster.model.records import evolve
from muster.model.spec import JobSpec, Mount
from tests.containers.images import shell_tar
from tests.containers.podman_store import Store
from tests.contract.local_world import LocalWorld

IMAGE = "localhost/shell:1"


class ContainerWorld(LocalWorld):
    """Runs scripted gangs in containers on two nodes."""

    def __init__(self, home: Path, store: Store) -> None:
        self._store = store
        store.podman("import", str(shell_tar(home / "shell.tar")), IMAGE)
        super().__init__(home)

    def alive(self, job: JobId) -> tuple[int, ...]:
        """A program in a container begins a moment after the worker, which is what starts the container."""
        self._observe()
        begun = [self._folder / f"{self._attempt(job)}-{rank}.ready" for rank in self._shadow.alive(job)]
        self._wait(lambda: all(file.exists() for file in begun))
        return super().alive(job)

    def close(self) -> None:
        super().close()
        self._wait(lambda: not self._store.containers())  # what a lost node ran is removed by a podman of its own

    def _attempt(self, job: JobId) -> int:
        gang = self._shadow._gangs.get(job)
        return 0 if gang is None else gang.attempt

    def _backend(self, home: Path) -> LocalBackend:
        nodes = [Node(name=NodeName(name), gpus=8) for name in ("n0", "n1")]
        return LocalBackend(home, nodes, settings=NodeSettings(containers=self._store.settings))

    def _scripted(self, command: StartWorkers) -> JobSpec:
        scripts = Mount(source=str(self._folder), target=str(self._folder))
        return evolve(super()._scripted(command), image=IMAGE, mounts=(scripts,))
