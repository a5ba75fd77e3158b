"""Runs Slurm's own programs, each for a bounded time.

A user may have the programs of the same names that Muster has for people who know Slurm (`muster slurm install`). These
are told apart, and never run: they would ask this very server.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muster.backends.allocations.engine import EngineSilent, RequestRefused
from muster.model.node_limits import ENGINE_CALL_S

OWN = b"from muster.slurm."
"""What stands in every program of that name that is Muster's."""

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "USER", "MUSTER_SCRATCH")
"""What Slurm's programs, and the workers that they start, get of the environment of the server."""

HEAD_BYTES = 4096

SILENCES = (
    "unable to contact slurm controller",
    "socket timed out",
    "connection refused",
    "zero bytes were transmitted",
    "unable to establish connection",
    "slurm_load_",
    "resolve",
    "protocol authentication error",
    "munge",
)
"""What Slurm's programs say when slurmctld, or what it needs, does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmPrograms:
    """Where Slurm's programs are, and which cluster they ask."""

    folder: Path | None = None
    """None: the first of each on the path that is Slurm's own."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What they need beside the environment of this process, such as `SLURM_CONF`."""

    def run(self, name: str, *words: str, given: str | None = None) -> str:
        """What a program prints. Raises `EngineSilent` when Slurm does not answer, `RequestRefused` when it says no."""
        configuration = Path(self.variables.get("SLURM_CONF", "/"))
        if not configuration.exists():  # Slurm's programs would wait for it, and say nothing meanwhile
            raise EngineSilent(f"{configuration} is not there: correct `config` of the engine in muster.toml")
        command = [str(self._find(name)), *words]
        try:
            done = subprocess.run(
                command,
                input=given,
                stdin=subprocess.DEVNULL if given is None else None,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=ENGINE_CALL_S,
                env={name: os.environ[name] for name in INHERITED if name in os.environ} | dict(self.variables),
            )
        except subprocess.TimeoutExpired:
            raise EngineSilent(f"{name} has not answered for {ENGINE_CALL_S:.0f} s: does slurmctld hang?") from None
        except OSError as error:
            raise EngineSilent(f"{command[0]} cannot be run: {error.strerror}") from None
        if done.returncode != 0:
            said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            if any(each in said.lower() for each in SILENCES):
                raise EngineSilent(f"Slurm does not answer ({said}): is slurmctld running?")
            raise RequestRefused(said.removeprefix(f"{name}: error: "))
        return done.stdout

    def _find(self, name: str) -> Path:
        if self.folder is not None:
            return self.folder / name
        found = next(_slurms_own(name, os.environ.get("PATH", "").split(os.pathsep)), None)
        if found is None:
            raise EngineSilent(f"there is no {name} of Slurm on the path: install Slurm's client, or say where it is")
        return found


def _slurms_own(name: str, folders: Iterable[str]) -> Iterator[Path]:
    for folder in filter(None, folders):
        program = Path(folder) / name
        if os.access(program, os.X_OK) and program.is_file() and not _is_musters(program):
            yield program


def _is_musters(program: Path) -> bool:
    with program.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return head.startswith(b"#!") and OWN in head
