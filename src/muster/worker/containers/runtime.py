"""The port for container runtimes: which commands they are given. Pure: nothing here runs anything.

A container runs one worker. It shares the network, the processes and the shared memory of its node, so that gangs meet
and signals arrive as they do without one. Everything that Muster and the job share is at the same path inside as
outside. What runs in it is a script in the folder of its worker (`inside`), so neither commands nor variables are among
the arguments that every user may read.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

LABEL = "muster.node"
"""The label of a container that says whose it is: the badge of its node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A path of the node in a container."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a container may use; None means as much as there is."""

    memory_bytes: int | None = None
    cpu_milli: int | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container, before it is started."""

    name: str
    """It begins with the job and ends in the token of its worker, which no other worker ever has."""
    badge: str
    """Stands for the node and its home."""
    image: str
    script: str
    """The file that its shell runs."""
    binds: tuple[Bind, ...]
    passed: tuple[str, ...] = ()
    """Variables that it takes from its surroundings, by name: what marks processes of a worker."""
    gpus: tuple[int, ...] = ()
    """Devices of the node; empty where it has none, or where they are only numbers."""
    limits: Limits = Limits()
    user: str = ""
    """`uid:gid` where the runtime would otherwise make the user of the node root."""
    has_terminal: bool = False
    has_input: bool = False
    """True when what runs in it reads from a pipe."""


class Runtime(ABC):
    """One container runtime, with the options that an operator has given."""

    name: ClassVar[str]
    """The word in `muster.toml`, and the program."""
    renumbers_gpus: ClassVar[bool] = True
    """True when the GPUs of a container are numbered from 0, because it sees no others."""
    is_daemon: ClassVar[bool] = False
    """True when the processes of containers are children of a service, and not of what started them."""
    limits_containers: ClassVar[bool] = True
    """True when it sets limits by itself; otherwise containers are in the control group of their worker."""

    def __init__(self, *, options: Sequence[str] = (), run_options: Sequence[str] = (), store: str = "") -> None:
        """`options` are given to every command, `run_options` to containers. `store` is a folder for image files."""
        self._options = tuple(options)
        self._run_options = tuple(run_options)
        self._store = store

    @abstractmethod
    def check(self) -> list[str]:
        """Succeeds when the runtime can be used here, and prints its version."""

    @abstractmethod
    def has_image(self, image: str) -> list[str]:
        """Succeeds when the image is on the node."""

    @abstractmethod
    def pull(self, image: str, pull_options: Sequence[str]) -> list[str]:
        """Brings the image to the node."""

    @abstractmethod
    def run(self, container: Container) -> list[str]:
        """Runs a container in the foreground, and ends with its exit code."""

    @abstractmethod
    def enter(self, container: Container, script: str) -> list[str]:
        """Runs another script in a container that runs."""

    @abstractmethod
    def end(self, name: str) -> list[str]:
        """Kills a container and removes what is left of it.

        It prints `true` when the container had run out of memory, and succeeds when there is no such container.
        """

    @abstractmethod
    def leftovers(self, badge: str) -> list[str]:
        """Prints the names of all containers of a node, running or not."""


def sorted_binds(binds: Sequence[Bind]) -> list[Bind]:
    """Outer paths before those inside of them, so that no mount hides another."""
    return sorted(binds, key=lambda each: (each.target.count("/"), each.target))


def image_file(image: str) -> str:
    """The name of the file of an image, for runtimes that keep images as files."""
    return sha256(image.encode()).hexdigest()[:32]
