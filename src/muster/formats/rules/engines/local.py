"""The machine of the server, named as one engine among others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from muster.formats.rules.engines.entry import EngineSettings, EngineWire
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.ids import LOCAL_ENGINE


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngineSettings(EngineSettings):
    """The machine of the server runs jobs beside what the other engines have."""


class LocalEngineWire(EngineWire):
    """The machine of the server. Left out, it takes part if it is described, or if no other engine has nodes."""

    kind: Literal["local"]

    def settings(self, folder: Path) -> LocalEngineSettings:  # noqa: ARG002 - it names no file
        """The settings that it stands for."""
        return LocalEngineSettings(name=LOCAL_ENGINE)

    def check(self, problems: Problems, at: Loc) -> None:
        """Note a name that its nodes would not have."""
        if self.name != LOCAL_ENGINE:
            problems.add((*at, "name"), f"this machine is the engine {LOCAL_ENGINE!r}, not {self.name!r}")
