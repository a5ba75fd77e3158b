"""The terminal of an interactive job, on the terminal that the command was typed in.

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
from contextlib import contextmanager, suppress
from threading import Thread

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from muster.cli.terminal.screen import note
from muster.client.answers import Job
from muster.client.client import Client
from muster.client.pauses import pauses_s
from muster.model.errors import Conflict, MusterError, NotFound, Refused, Unauthenticated, Unreachable
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
    with _connected(client, job_id) as socket:
        woken, wake = os.pipe()
        reader = Thread(target=_show, args=(socket, wake), daemon=True)
        with raw_terminal(), _window_watched(socket):
            reader.start()
            try:
                _type(socket, woken)
            finally:
                socket.close()
                reader.join(timeout=OPEN_TIMEOUT_S)
                os.close(woken)


def _connected(client: Client, job_id: str) -> ClientConnection:
    url = f"ws{client.url.removeprefix('http')}/v1/jobs/{job_id}/attach"
    headers = {"Authorization": f"Bearer {client.token}"}
    try:
        return connect(url, additional_headers=headers, open_timeout=OPEN_TIMEOUT_S, max_size=FRAME_BYTES, proxy=None)
    except InvalidStatus as error:
        raise _refusal(error) from None
    except (OSError, InvalidHandshake, TimeoutError) as error:
        raise Unreachable(f"cannot attach to {job_id} at {client.url}: {error}") from None


def _refusal(error: InvalidStatus) -> MusterError:
    """The error for a handshake that the server refused."""
    kinds: dict[int, type[MusterError]] = {401: Unauthenticated, 403: Refused, 404: NotFound, 409: Conflict}
    kind = kinds.get(error.response.status_code, Unreachable)
    with suppress(ValueError, AttributeError):
        return kind(str(json.loads(error.response.body or b"{}").get("detail") or "the server does not attach to it"))
    return kind(f"the server does not attach to it: {error}")


def _show(socket: ClientConnection, wake: int) -> None:
    """Copy what the job prints to this terminal. Closes `wake` when there is no more."""
    try:
        for frame in socket:
            if isinstance(frame, bytes):
                sys.stdout.buffer.write(frame)
                sys.stdout.buffer.flush()
    except ConnectionClosed:
        pass
    finally:
        os.close(wake)


def _type(socket: ClientConnection, woken: int) -> None:
    """Copy what is typed here to the job, until the job is gone. The end of the input ends only the typing."""
    typed = sys.stdin.fileno()
    sources = [typed, woken]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if woken in ready:
            return
        data = os.read(typed, READ_BYTES)
        if not data:
            sources.remove(typed)
            continue
        try:
            socket.send(data)
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
