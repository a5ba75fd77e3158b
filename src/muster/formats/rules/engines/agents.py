"""Machines elsewhere, on each of which people start an agent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from muster.formats.rules.engines.entry import EngineSettings, EngineWire
from muster.model.ids import EngineName


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsSettings(EngineSettings):
    """Machines whose nodes `[cluster]` describes."""


class AgentsWire(EngineWire):
    """Machines elsewhere: on each, `muster agent` connects the node of its name, which `[cluster]` describes."""

    kind: Literal["agents"]

    def settings(self, folder: Path) -> AgentsSettings:  # noqa: ARG002 - it names no file
        """The settings that it stands for."""
        return AgentsSettings(name=EngineName(self.name))
