"""The address of the server and the token to send: from arguments, then the environment, then files in Muster's home.

    url     MUSTER_URL     login.json (`muster login`)    server.json (`muster up`)
    token   MUSTER_TOKEN   login.json                     token

A stored token is sent only to the server it was made for. The one in the file `token` goes only to the process that
`server.json` names, while that process lives. Another process that listens on this machine, even later at the same
port, does not get it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from muster.home import Home, home_folder
from muster.model.errors import InvalidInput, Unreachable
from muster.processes import is_same

START_A_SERVER = "start one here with `muster up -d`, or name one with MUSTER_URL or `muster login URL`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server and the token to send to it."""

    url: str
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs on this machine."""

    url: str
    pid: int
    start_ticks: int


def find_server(home: Path) -> Server | None:
    """The server that runs for this home, if there is one."""
    record = read_record(Home(home).server)
    match record.get("url"), record.get("pid"), record.get("start_ticks"):
        case str(url), int(pid), int(start_ticks) if is_same(pid, start_ticks):
            return Server(url=url, pid=pid, start_ticks=start_ticks)
        case _:
            return None


def find_address(
    url: str | None = None, token: str | None = None, *, environment: Mapping[str, str] = os.environ
) -> Address:
    """The address to use. Arguments win over the environment, and the environment wins over files."""
    home = home_folder(environment)
    found = _url(url or environment.get("MUSTER_URL"), home)
    return Address(url=found, token=token or environment.get("MUSTER_TOKEN") or _token(found, home))


def read_record(path: Path) -> dict[str, object]:
    """One of the small JSON files in Muster's home; empty when it is missing or not readable as a JSON object."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _url(said: str | None, home: Path) -> str:
    if said:
        return checked_url(said)
    for record in (Home(home).login, Home(home).server):
        url = read_record(record).get("url")
        if isinstance(url, str) and url:
            return checked_url(url)
    raise Unreachable(f"no server is known: {Home(home).server} is not there; {START_A_SERVER}")


def checked_url(url: str) -> str:
    """The address without a slash at its end. Raises `InvalidInput` when it is not the address of a server."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_is_fine = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise InvalidInput(f"{url!r} is not the address of a server; it looks like http://127.0.0.1:8470")
    return url.rstrip("/")


def _token(url: str, home: Path) -> str:
    """The token that is stored for exactly this server."""
    login = read_record(Home(home).login)
    if login.get("url") == url:
        return str(login.get("token") or "")
    server = find_server(home)
    if server is None or server.url != url:
        return ""
    try:
        return Home(home).token.read_text("utf-8").strip()
    except (OSError, UnicodeError):
        return ""
