"""The terminal of an interactive job, or a command beside a worker, on the terminal that the command was typed in.

What a worker without a terminal reads goes the same way, and ends with the text `{"end_input": true}`.

Bytes go both ways as binary frames of a websocket. The size of the window is sent in text frames,
`{"resize": [rows, columns]}`. The terminal is raw meanwhile. It is always restored, also after an error.
"""

import json
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Thread
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from muster.cli.terminal.screen import note
from muster.client.answers import Job
from muster.client.client import Client
from muster.client.pauses import pauses_s
from muster.model.errors import Conflict, InvalidInput, MusterError, NotFound, Refused, Unauthenticated, Unreachable
from muster.model.job import JobState

READ_BYTES = 16 << 10
OPEN_TIMEOUT_S = 10.0
FRAME_BYTES = 1 << 20


def attach_when_running(client: Client, job_id: str) -> Job:
    """Attach to a job once it runs, and return it once it has ended."""
    pauses, is_new = pauses_s(), True
    while (job := client.job(job_id)).state != JobState.RUNNING and not job.is_final:
        if is_new and job.state == JobState.QUEUED:
            note(f"{job_id} is queued; `muster why {job_id}` says why")
        is_new = False
        time.sleep(next(pauses))
    if not job.is_final:
        attach_terminal(client, job_id)
    return client.wait(job_id)


def attach_terminal(client: Client, job_id: str) -> None:
    """Connect this terminal to the terminal of a job, until the job ends or closes the connection."""
    with _connected(client, job_id, "attach") as socket:
        _talk(socket, is_raw=True, ends_input=False)


def run_beside(client: Client, job_id: str, line: str, *, rank: int, has_terminal: bool) -> int:
    """Run a command beside a worker, on this terminal or with these files, and return its exit code."""
    query = urlencode({"command": line, "rank": rank, "terminal": str(has_terminal).lower()})
    with _connected(client, job_id, f"exec?{query}") as socket:
        end = _talk(socket, is_raw=has_terminal, ends_input=True)
    match end:
        case {"exit": int(code)}:
            return code
        case {"problem": str(problem)}:
            raise Conflict(f"{job_id}: {problem}")
        case _:
            raise Unreachable(f"the connection to the command beside {job_id} broke off; the command is ended")


class InputSource(Protocol):
    """Where what is typed comes from."""

    file: int
    """To wait for, unless it is ready."""

    @property
    def is_ready(self) -> bool:
        """True when reading does not wait."""
        ...

    def read(self, size: int) -> bytes:
        """The next bytes; empty at the end."""
        ...


class Typed:
    """What is typed here."""

    is_ready = False

    def __init__(self) -> None:
        self.file = sys.stdin.fileno()

    def read(self, size: int) -> bytes:
        """Wait for a key."""
        return os.read(self.file, size)


def send_input(client: Client, job_id: str, source: InputSource) -> dict[str, Any]:
    """Send what the first worker of a job reads. Returns what the server said at the end; nothing if it is away."""
    with _connected(client, job_id, "attach") as socket:
        return _talk(socket, is_raw=False, ends_input=True, source=source)


def _talk(
    socket: ClientConnection, *, is_raw: bool, ends_input: bool, source: InputSource | None = None
) -> dict[str, Any]:
    """Transfer bytes both ways until the other side ends. Returns what it said at the end."""
    woken, wake = os.pipe()
    end: dict[str, Any] = {}
    reader = Thread(target=_show, args=(socket, wake, end), daemon=True)
    with raw_terminal() if is_raw else nullcontext(), _window_watched(socket) if is_raw else nullcontext():
        reader.start()
        try:
            _type(socket, woken, source or Typed(), ends_input=ends_input)
        finally:
            socket.close()
            reader.join(timeout=OPEN_TIMEOUT_S)
            os.close(woken)
    return end


def _connected(client: Client, job_id: str, path: str) -> ClientConnection:
    url = f"ws{client.url.removeprefix('http')}/v1/jobs/{quote(job_id, safe='')}/{path}"
    headers = {"Authorization": f"Bearer {client.token}"}
    try:
        return connect(url, additional_headers=headers, open_timeout=OPEN_TIMEOUT_S, max_size=FRAME_BYTES, proxy=None)
    except InvalidStatus as error:
        raise _refusal(error) from None
    except (OSError, InvalidHandshake, TimeoutError) as error:
        raise Unreachable(f"cannot attach to {job_id} at {client.url}: {error}") from None


def _refusal(error: InvalidStatus) -> MusterError:
    """The error for a handshake that the server refused."""
    kinds: dict[int, type[MusterError]] = {
        401: Unauthenticated,
        403: Refused,
        404: NotFound,
        409: Conflict,
        422: InvalidInput,
    }
    kind = kinds.get(error.response.status_code, Unreachable)
    with suppress(ValueError, AttributeError):
        return kind(str(json.loads(error.response.body or b"{}").get("detail") or "the server does not attach to it"))
    return kind(f"the server does not attach to it: {error}")


def _show(socket: ClientConnection, wake: int, end: dict[str, Any]) -> None:
    """Copy what the job prints to this terminal, and note what is said at the end. Then closes `wake`."""
    try:
        for frame in socket:
            if isinstance(frame, bytes):
                sys.stdout.buffer.write(frame)
                sys.stdout.buffer.flush()
            else:
                end.update(json.loads(frame))
    except ConnectionClosed:
        pass
    finally:
        os.close(wake)


def _type(socket: ClientConnection, woken: int, source: InputSource, *, ends_input: bool) -> None:
    """Copy what is typed here to the job, until the job is gone. The end of the input ends only the typing.

    With `ends_input` the other side is told of it.
    """
    sources = [source.file, woken]
    while True:
        is_ready = source.is_ready and source.file in sources
        ready, _, _ = select.select(sources, [], [], 0 if is_ready else None)
        if woken in ready:
            return
        data = source.read(READ_BYTES)
        if not data:
            sources.remove(source.file)
            if not ends_input:
                continue
        try:
            socket.send(data or json.dumps({"end_input": True}))
        except ConnectionClosed:
            return


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Hand every key to the job, also Ctrl-C, and restore the terminal afterwards."""
    if not sys.stdin.isatty():
        yield
        return
    typed = sys.stdin.fileno()
    before = termios.tcgetattr(typed)
    try:
        # What the user typed while the job was starting is meant for the job. TCSAFLUSH would discard it.
        tty.setraw(typed, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(typed, termios.TCSADRAIN, before)


@contextmanager
def _window_watched(socket: ClientConnection) -> Iterator[None]:
    """Tell the job how large the window is, now and whenever that changes."""
    if not sys.stdout.isatty():
        yield
        return

    def tell(*_: object) -> None:
        size = os.get_terminal_size(sys.stdout.fileno())
        with suppress(ConnectionClosed):
            socket.send(json.dumps({"resize": [size.lines, size.columns]}))

    before = signal.signal(signal.SIGWINCH, tell)
    try:
        tell()
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
