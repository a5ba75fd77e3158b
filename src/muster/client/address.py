"""The address of the server and the token to send: from arguments, then the environment, then files in Muster's home.

    url     MUSTER_URL     login.json (`muster login`)    server.json (`muster up`)
    token   MUSTER_TOKEN   login.json                     token

Where several control planes share a database, the addresses of all of them are given, separated by commas. A stored
token is sent only to the servers it was made for. The one in the file `token` goes only to the processes that
`server.json` and the files in `standbys` name, while they live. Another process that listens on this machine, even
later at the same port, does not get it.
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
    others: tuple["Address", ...] = ()
    """Where else to try: other control planes on the same database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs on this machine."""

    url: str
    pid: int
    start_ticks: int


def find_server(home: Path) -> Server | None:
    """The server that runs for this home, if there is one. Of several it is the one that leads."""
    return _server(Home(home).server)


def find_standbys(home: Path) -> list[Server]:
    """The control planes of this home that stand by."""
    found = [_server(record) for record in sorted(Home(home).standbys.glob("*.json"))]
    leader = find_server(home)
    return [each for each in found if each is not None and (leader is None or each.pid != leader.pid)]


def _server(path: Path) -> Server | None:
    record = read_record(path)
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
    given = token or environment.get("MUSTER_TOKEN")
    urls = _urls(url or environment.get("MUSTER_URL"), home)
    first, *others = [Address(url=each, token=given or _token(each, home)) for each in urls]
    return Address(url=first.url, token=first.token, others=tuple(others))


def read_record(path: Path) -> dict[str, object]:
    """One of the small JSON files in Muster's home; empty when it is missing or not readable as a JSON object."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _urls(said: str | None, home: Path) -> list[str]:
    if said:
        return checked_urls(said)
    for record in (Home(home).login, Home(home).server):
        url = read_record(record).get("url")
        if isinstance(url, str) and url:
            here = find_standbys(home) if record == Home(home).server else []
            return [*checked_urls(url), *(each.url for each in here if each.url != url)]
    raise Unreachable(f"no server is known: {Home(home).server} is not there; {START_A_SERVER}")


def checked_urls(urls: str) -> list[str]:
    """The addresses in a list that is separated by commas. Raises `InvalidInput` when one is not that of a server."""
    return list(dict.fromkeys(checked_url(url.strip()) for url in urls.split(",") if url.strip() or "," not in urls))


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
    if url in str(login.get("url") or "").split(","):
        return str(login.get("token") or "")
    if url not in [server.url for server in (find_server(home), *find_standbys(home)) if server is not None]:
        return ""
    try:
        return Home(home).token.read_text("utf-8").strip()
    except (OSError, UnicodeError):
        return ""
