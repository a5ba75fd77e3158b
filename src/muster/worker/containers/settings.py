"""What a control plane says about containers, and which runtimes there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.model.node_limits import PULL_MS
from muster.worker.containers.apptainer import Apptainer
from muster.worker.containers.docker import Docker
from muster.worker.containers.enroot import Enroot
from muster.worker.containers.podman import Podman
from muster.worker.containers.runtime import Runtime
from muster.worker.messages import BadMessage

RUNTIMES: dict[str, type[Runtime]] = {each.name: each for each in (Podman, Docker, Apptainer, Enroot)}
"""By name, in the order in which a node looks for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """How the nodes of an engine run containers."""

    runtime: str = ""
    """The only one that is looked for; empty means any."""
    options: tuple[str, ...] = ()
    """For every command of the runtime."""
    run_options: tuple[str, ...] = ()
    pull_options: tuple[str, ...] = ()
    pull_timeout_ms: int = PULL_MS

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "ContainerSettings":
        """The settings in a message."""
        match body:
            case {"runtime": str(runtime), "pull_timeout_ms": int(pull_timeout_ms)} if runtime in ("", *RUNTIMES):
                return cls(
                    runtime=runtime,
                    options=_words(body.get("options")),
                    run_options=_words(body.get("run_options")),
                    pull_options=_words(body.get("pull_options")),
                    pull_timeout_ms=max(pull_timeout_ms, 1),
                )
            case _:
                raise BadMessage("not the settings of containers")

    def candidates(self, store: str) -> list[Runtime]:
        """The runtimes to look for. `store` is a folder for image files."""
        kinds = [RUNTIMES[self.runtime]] if self.runtime else list(RUNTIMES.values())
        return [kind(options=self.options, run_options=self.run_options, store=store) for kind in kinds]


def _words(given: object) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, list | tuple) else ()
