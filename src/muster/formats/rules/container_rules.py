"""The table `containers` of `muster.toml`: how nodes run jobs that have an image."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, PlainValidator

from muster.formats.parts.kinds import Text
from muster.formats.parts.wire import Wire
from muster.formats.text.units import BadValue, duration_ms, duration_text, shown
from muster.model.limits import START_TIMEOUT_MS
from muster.model.node_limits import PULL_MS

OPTIONS_MOST = 64
"""More options than anybody reads."""


def pull_ms(value: object) -> int:
    """How long a pull may take: its gang waits for it, and is given up when it takes too long to start."""
    limit_ms = duration_ms(value)
    if not 0 < limit_ms < START_TIMEOUT_MS:
        raise BadValue(f"{shown(value)} is not above zero and below {duration_text(START_TIMEOUT_MS)}")
    return limit_ms


class ContainersWire(Wire):
    """How nodes run jobs that have an `image`."""

    runtime: Literal["podman", "docker", "apptainer", "enroot"] | None = None
    """The only one that nodes look for. Left out, they take the first that works, in this order."""
    options: Annotated[list[Text], Field(max_length=OPTIONS_MOST)] = Field(default_factory=list)
    """Options of every command of the runtime, such as `--storage-driver=vfs`."""
    run_options: Annotated[list[Text], Field(max_length=OPTIONS_MOST)] = Field(default_factory=list)
    """Options of every container, such as `--ulimit=memlock=-1`."""
    pull_options: Annotated[list[Text], Field(max_length=OPTIONS_MOST)] = Field(default_factory=list)
    """Options of every pull, such as `--tls-verify=false`."""
    pull_timeout: Annotated[int, PlainValidator(pull_ms)] = PULL_MS
    """After this long a pull is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRules:
    """How nodes run images."""

    runtime: str = ""
    """Empty means the first that works."""
    options: tuple[str, ...] = ()
    run_options: tuple[str, ...] = ()
    pull_options: tuple[str, ...] = ()
    pull_timeout_ms: int = PULL_MS


def container_rules(wire: ContainersWire) -> ContainerRules:
    """The table as a value."""
    return ContainerRules(
        runtime=wire.runtime or "",
        options=tuple(wire.options),
        run_options=tuple(wire.run_options),
        pull_options=tuple(wire.pull_options),
        pull_timeout_ms=wire.pull_timeout,
    )
