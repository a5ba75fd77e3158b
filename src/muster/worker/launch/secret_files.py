"""Secrets by name: one per file under the home. The job's team wins, then the nearest team above it.

The token of the attempt itself is derived from a file that the server keeps there.
"""

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from muster.attempt_token import attempt_token, read_job_access
from muster.home import Home
from muster.model.ids import TeamPath
from muster.model.instructions import StartWorkers
from muster.model.node_limits import SECRET_BYTES

TOKEN = "MUSTER_TOKEN"
"""The variable with the token of the attempt, unless the job was given another token."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SecretMissing(Exception):
    """A secret cannot be given to the worker; the message says which, and what to do."""


def secrets_of(home: Path, team: TeamPath, names: Iterable[str]) -> dict[str, str]:
    """The values of these secrets for a job of this team."""
    return {name: _value(_found(Home(home).secrets, team, name), name, home) for name in names}


def own_access(home: Path, start: StartWorkers) -> dict[str, str]:
    """The variables with which an attempt calls the server that runs it; empty when no server is known."""
    access = read_job_access(home)
    if access is None:
        return {}
    token = attempt_token(access.key, start.job, start.attempt, start.run)
    return {"MUSTER_URL": access.url, TOKEN: token}


def _found(root: Path, team: TeamPath, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise SecretMissing(f"{name!r} cannot be the name of a secret: letters, digits and underscores only")
    parts = [part for part in team.split("/") if part not in ("", ".", "..")]
    places = [root.joinpath(*parts[:depth], name) for depth in range(len(parts), -1, -1)]
    for place in places:
        if place.is_file():
            return place
    own, shared = (_told(place, root.parent) for place in (places[0], places[-1]))
    raise SecretMissing(f"there is no secret {name}: put its value into {own} or {shared}, with mode 0600")


def _told(path: Path, home: Path) -> str:
    """The name of a file of the home in messages to team members, who must not learn where the home is."""
    return f"$MUSTER_HOME/{path.relative_to(home)}"


def _value(path: Path, name: str, home: Path) -> str:
    """What the file holds, without the newline that editors add. The value itself is in no message."""
    told = _told(path, home)
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise SecretMissing(f"the secret {name} can be read by others than its owner: chmod 600 {told}")
        data = file.read(SECRET_BYTES + 1)
    if len(data) > SECRET_BYTES:
        raise SecretMissing(f"the secret {name} in {told} is longer than {SECRET_BYTES} bytes")
    if b"\0" in data:
        raise SecretMissing(f"the secret {name} in {told} contains a NUL byte, which no environment can hold")
    return data.removesuffix(b"\n").removesuffix(b"\r").decode(errors="surrogateescape")
