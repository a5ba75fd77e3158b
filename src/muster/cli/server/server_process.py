"""Finds, starts and stops the server process on this machine.

`server.json` under home says where the server listens and which process it is: `{"url", "pid", "start_ticks"}`. Pids
are reused, but a pid together with the start time of its process is unique.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from muster.client import Client
from muster.client.address import Server, find_server, find_standbys
from muster.home import Home
from muster.locks import is_taken
from muster.model.errors import InvalidInput, MusterError, NotFound, Refused, TimedOut, Unavailable
from muster.private_files import claim_folder, open_private
from muster.processes import Ending, end_process, entry

T = TypeVar("T")

START_S = 60.0
"""A first start makes a database. A later start folds the log. Either takes seconds."""
STOP_S = 60.0
"""Before it ends, the server answers its requests and saves its state."""
POLL_S = 0.05
LOG_LINES = 12
ANSWER_S = 2.0


def start_detached(command: Sequence[str], home: Path, *, beside: Server | None = None) -> Server:
    """Start a server in the background, and return it once it answers. `beside` is one that it stands by for."""
    claim_folder(home)
    begin = _size(Home(home).server_log)
    output_file = Home(home).server_output if beside is None else Home(home).standby_output
    with os.fdopen(open_private(output_file, os.O_TRUNC | os.O_APPEND), "wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, close_fds=True
        )

    def answers() -> Server | None:
        for server in (find_server(home), *find_standbys(home)):
            if server is not None and server.pid == process.pid and _is_well(server):
                return server
        if process.poll() is not None:
            said = _last_words(home, begin, output_file)
            raise _meant(process.returncode)(f"the server ended at once, with exit code {process.returncode}; {said}")
        return None

    server = _poll(answers, START_S)
    if server is None:
        # The server may still come up. The next command then finds it by its record.
        raise TimedOut(f"the server does not answer after {START_S:.0f} s; {_last_words(home, begin, output_file)}")
    return server


def start_warnings(home: Path) -> Sequence[str]:
    """What a server in the background warned of when it was started."""
    lines = _lines(Home(home).server_output, 0)
    return [line.removeprefix("muster: ") for line in lines if line.startswith("muster: warning: ")]


def unheeded(server: Server, options: Mapping[str, str]) -> Sequence[str]:
    """The given options that a running server was not started with."""
    said = set(pairwise([*_arguments(server.pid), ""]))
    return [f"--{name}" for name, value in options.items() if (f"--{name}", value) not in said]


def end_server(home: Path, *, then_kill: bool = False) -> Ending | None:
    """End the server of a home, also one that is just starting: how it ended, or None if there was none.

    A server that does not end in time is killed if `then_kill` is set. If it still runs, `TimedOut` is raised.
    """
    endings: list[Ending] = []

    def nobody_is_there() -> bool | None:
        # Those that stand by end first, so that none of them leads for a moment.
        for server in (*find_standbys(home), find_server(home)):
            if server is not None:
                endings.append(_end(server.pid, server.start_ticks, then_kill=then_kill))
        return None if is_taken(home) else True

    if _poll(nobody_is_there, START_S) is None:
        endings += [_end(pid, start_ticks, then_kill=True) for pid, start_ticks in _serving(home) if then_kill]
        if is_taken(home):
            raise TimedOut(f"a server is starting in {home}, and does not come up; try again when it has")
    return max(endings, key=lambda each: each is Ending.KILLED, default=None)


def _end(pid: int, start_ticks: int, *, then_kill: bool) -> Ending:
    ending = end_process(pid, start_ticks, patience_s=STOP_S, then_kill=then_kill)
    if ending is Ending.STAYS:
        raise TimedOut(f"the server (process {pid}) has not stopped after {STOP_S:.0f} s; it is still at it")
    return ending


def _serving(home: Path) -> Iterator[tuple[int, int]]:
    """Processes that were started as the server of a home, with or without a record."""
    for folder in Path("/proc").glob("[0-9]*"):
        found = entry(int(folder.name))
        said = set(pairwise(_arguments(int(folder.name))))
        if found is not None and {("muster.main", "serve"), ("--home", str(home))} <= said:
            yield found.pid, found.start_ticks


def _arguments(pid: int) -> list[str]:
    """The arguments of a process. Empty when the process is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", errors="replace").split("\0")
    except OSError:
        return []


def run_down(command: Sequence[str]) -> None:
    """Run the command that ends the supervisors of all nodes."""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix("muster: ") or f"exit code {done.returncode}"
        raise _meant(done.returncode)(f"not all jobs could be ended: {said}")


def _meant(exit_code: int) -> type[MusterError]:
    """The kind of error with this exit code. For any other code, such as after a crash, it is `Unavailable`."""
    kinds = (InvalidInput, Refused, NotFound, TimedOut)
    return next((kind for kind in kinds if kind.exit_code == exit_code), Unavailable)


def _is_well(server: Server) -> bool:
    if server.url.startswith("https:"):
        # Its certificate is for the name that clients use, and may not be valid for this address. The record is
        # enough: it says that the server listens.
        return True
    try:
        with Client(server.url, timeout=ANSWER_S, tries=1) as client:
            client.health()
    except MusterError:
        return False
    return True


def _poll(look: Callable[[], T | None], patience_s: float) -> T | None:
    until = time.monotonic() + patience_s
    while (found := look()) is None and time.monotonic() < until:
        time.sleep(POLL_S)
    return found


def _last_words(home: Path, begin: int, output: Path) -> str:
    """What the server printed since it was started, and what it logged."""
    places = (output, 0), (Home(home).server_log, begin)
    told = [(path, lines[-LOG_LINES:]) for path, start in places if (lines := _lines(path, start))]
    if not told:
        return f"it said nothing; see {Home(home).server_log}"
    return "\n".join(
        f"its last words, from {path}:\n" + "\n".join(f"  {line}" for line in lines) for path, lines in told
    )


def _lines(path: Path, begin: int) -> list[str]:
    try:
        with path.open("rb") as stream:
            stream.seek(begin if begin <= _size(path) else 0)  # a full log is put aside, and a new one begins
            return stream.read().decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
