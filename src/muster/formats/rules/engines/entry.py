"""What entries of every kind say, and what those say besides whose engines are asked for nodes."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path

from muster.formats.parts.kinds import Name, Text
from muster.formats.parts.wire import Wire
from muster.formats.rules.container_rules import ContainersWire
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.ids import DEFAULT_POOL, EngineName, LevelName, PoolName

PYTHON = "python3"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """One engine as it is configured."""

    name: EngineName


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesSettings(EngineSettings):
    """An engine that is asked for nodes, and that starts an agent on each."""

    url: str = ""
    """Where agents reach this server; empty for the addresses that it has by its other settings."""
    ca: Path | None = None
    python: str = PYTHON
    agent: str = ""
    """Where all nodes find the agent's file; empty to send it along."""
    pool: PoolName = DEFAULT_POOL
    levels: tuple[LevelName, ...] = ()
    """What its levels are called if the cluster has none, outermost first."""


class EngineWire(Wire):
    """What every entry says. Each kind is a class of its own, with the keys that mean something for it."""

    name: Name
    """What nodes call it in their key `engine`, and its domain in the topology."""
    kind: str
    """What it is, which says what other keys there are."""
    containers: ContainersWire | None = None
    """How its nodes run images, if otherwise than `[containers]` says."""

    @abstractmethod
    def settings(self, folder: Path) -> EngineSettings:
        """The settings that it stands for. Files that it names are in `folder`, beside the configuration."""

    def check(self, problems: Problems, at: Loc) -> None:
        """Note what is wrong with it beyond the form of its keys."""


class NodesWire(EngineWire):
    """What entries say of engines that are asked for nodes."""

    url: Text | None = None
    """Where its nodes reach this server; several addresses are separated by commas. Left out: as in `server`."""
    ca: Text | None = None
    """A file with the certificate authorities that agents are to trust, in PEM, beside this file."""
    python: Text | None = None
    """The Python of its nodes, 3.11 or newer. Left out: python3."""
    pool: Name | None = None
    """The pool of its nodes. Left out: main."""

    @abstractmethod
    def settings(self, folder: Path) -> NodesSettings:
        """The settings that it stands for."""


def beside(folder: Path, name: str | None) -> Path | None:
    """A file that an entry names, if it names one."""
    return None if name is None else folder / Path(name).expanduser()
