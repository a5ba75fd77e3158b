"""A PostgreSQL server of its own for the tests: in a temporary folder, on a unix socket, gone when they end."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

DEADLINE_S = 60
USER = "postgres"

_schemas = count(1)


class Server:
    """A running server. Every store gets a schema of its own in it."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self.folder = folder
        self.process = process

    def new_url(self) -> str:
        """The address of a store that was never used."""
        schema = f"store_{next(_schemas)}"
        self.run(f"CREATE SCHEMA {schema}")
        options = quote(f"-csearch_path={schema}")
        return f"postgresql:///postgres?host={self.folder}&user={USER}&options={options}"

    def run(self, statement: str) -> None:
        with self.connect() as connection:
            connection.execute(statement)

    def connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(host=str(self.folder), user=USER, dbname="postgres", autocommit=True)


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server, and end it. Under root it runs as another user, because it refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="muster-pg-"))
    identity: dict[str, str] = {}
    if os.geteuid() == 0:
        identity = {"user": USER, "group": USER}
        shutil.chown(folder, USER, USER)
    try:
        with _started(folder, identity) as process:
            server = Server(folder, process)
            _await_answer(server)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _started(folder: Path, identity: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    binaries, data, log = find_binaries(), folder / "data", folder / "server.log"
    init = [binaries / "initdb", "-D", data, "-U", USER, "-A", "trust", "-N", "--no-locale", "-E", "UTF8"]
    made = subprocess.run(init, capture_output=True, text=True, check=False, cwd="/", **identity)  # type: ignore[call-overload]
    assert made.returncode == 0, made.stderr
    settings = ("fsync=off", "listen_addresses=", f"unix_socket_directories={folder}", "max_connections=200")
    # The server is told when this process dies, however that happens.
    serve = ["setpriv", "--pdeathsig", "QUIT", binaries / "postgres", "-D", data]
    serve += [part for setting in settings for part in ("-c", setting)]
    with log.open("wb") as output:
        process = subprocess.Popen(serve, stdout=output, stderr=output, cwd="/", **identity)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(DEADLINE_S)


def find_binaries() -> Path:
    """Where the server's programs are: not on the path in Debian."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = str(homes[-1]) if homes else shutil.which("initdb")
    assert found, "PostgreSQL is not installed; `make services` installs it or says how"
    return Path(found).parent


def _await_answer(server: Server) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            server.connect().close()
        except psycopg.OperationalError:
            log = (server.folder / "server.log").read_text("utf-8", "replace")
            assert server.process.poll() is None, log
            assert time.monotonic() < end_s, log
            time.sleep(0.05)
        else:
            return
