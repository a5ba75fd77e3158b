"""podman on this machine, with a store of its own and images made for the tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.backends.local.backend import LocalBackend
from muster.backends.local.node_settings import NodeSettings
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import JobSpec
from muster.worker.containers.settings import ContainerSettings
from tests.capabilities import needs
from tests.containers.images import python_tar, shell_tar
from tests.containers.podman_store import Store, temporary_store
from tests.local.machine import NOTHING, Machine, a_spec

SHELL_IMAGE = "localhost/shell:1"
PYTHON_IMAGE = "localhost/python:1"


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with an image that has a shell."""
    needs("containers")
    with temporary_store() as made:
        made.podman("import", str(shell_tar(tmp_path_factory.mktemp("shell") / "shell.tar")), SHELL_IMAGE)
        yield made


@pytest.fixture(scope="session")
def python_image(store: Store, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image with Python."""
    store.podman("import", str(python_tar(tmp_path_factory.mktemp("python") / "python.tar")), PYTHON_IMAGE)
    return PYTHON_IMAGE


def in_image(run: str, image: str = SHELL_IMAGE, *, request: Request = NOTHING, **fields: Any) -> JobSpec:
    """A job in an image."""
    return evolve(a_spec(run, request=request), image=image, **fields)


class ContainerMachine(Machine):
    """This machine, whose nodes run images."""

    def __init__(self, home: Path, settings: ContainerSettings, nodes: tuple[str, ...] = ("n1",)) -> None:
        self.settings = settings
        super().__init__(home, nodes)

    def connect(self) -> LocalBackend:
        return LocalBackend(self.home, self.nodes, settings=NodeSettings(containers=self.settings))


MakeMachine = Callable[..., ContainerMachine]


@pytest.fixture
def make_machine(tmp_path: Path, store: Store) -> Iterator[MakeMachine]:
    """Machines that end with the test, and leave no container."""
    made: list[ContainerMachine] = []

    def make(nodes: tuple[str, ...] = ("n1",), settings: ContainerSettings | None = None) -> ContainerMachine:
        made.append(ContainerMachine(tmp_path, settings or store.settings, nodes))
        return made[-1]

    yield make
    for machine in made:
        machine.close()
    assert store.containers() == []


@pytest.fixture
def machine(make_machine: MakeMachine) -> ContainerMachine:
    return make_machine()
