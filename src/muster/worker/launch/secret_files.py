"""Secrets by name: one per file under the home. The job's team wins, then the nearest team above it.

The token of the attempt itself is derived from a file that the server keeps there. A node on another machine has no
such home: the control plane reads both for it, and gives them with the start.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a control plane elsewhere gives to the workers of a start."""

    secrets: Mapping[str, str] = field(repr=False)
    access: Mapping[str, str] = field(repr=False)
    """The variable with the token of the attempt. Where the server is, the node knows."""
    problem: str = ""
    """Why a secret is missing; empty when none is."""
    devices: tuple[int, ...] = ()
    """Where an engine numbers GPUs itself: those of this post as the control plane numbers them, in the order in which
    the engine shows them. Empty where both number alike."""


def given_to(home: Path, start: StartWorkers) -> dict[str, object]:
    """What the workers of a start on another machine are given, as plain JSON values."""
    access = {name: value for name, value in own_access(home, start).items() if name == TOKEN}
    try:
        return {"secrets": secrets_of(home, start.spec.team, start.spec.secrets), "access": access}
    except SecretMissing as problem:
        return {"secrets": {}, "access": access, "problem": str(problem)}


def given_by(body: Any) -> Given | None:
    """What a control plane has given; None when it gave nothing, because it is on the same machine."""
    match body:
        case {"secrets": dict(secrets), "access": dict(access)}:
            devices = tuple(int(gpu) for gpu in body.get("devices", ()))
            return Given(secrets=secrets, access=access, problem=str(body.get("problem", "")), devices=devices)
        case _:
            return None


def provisions(home: Path, start: StartWorkers, given: Given | None) -> tuple[dict[str, str], dict[str, str]]:
    """The secrets of a start, and what its workers need to call the server. Raises `SecretMissing`."""
    if given is None:
        return secrets_of(home, start.spec.team, start.spec.secrets), own_access(home, start)
    if given.problem:
        raise SecretMissing(given.problem)
    return dict(given.secrets), dict(given.access)


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
