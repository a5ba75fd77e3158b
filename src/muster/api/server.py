"""Listening, and stopping in order: open streams end first, then requests in progress are answered."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
import uvloop
from fastapi import FastAPI

from muster.api.front.connections import bounded
from muster.api.services import Services
from muster.loopback import is_loopback
from muster.model.errors import InvalidInput, Unavailable
from muster.model.limits import CONNECTIONS_WAITING, KEEP_ALIVE_S, STOP_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where to listen, and how."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes any free port."""
    certificate: Path | None = None
    key: Path | None = None
    is_insecure_allowed: bool = False
    """Listen on the network without TLS, because something in front of the server does TLS."""


class StopRequest:
    """Lets another thread end `serve`, as a signal does."""

    def __init__(self, within_s: int = STOP_S) -> None:
        self.within_s = within_s
        """How long requests that are being answered may delay the end."""
        self.is_asked = False

    def ask(self) -> None:
        """End soon."""
        self.is_asked = True


def serve(
    app: FastAPI,
    listener: socket.socket,
    listening: Listening,
    *,
    on_listening: Callable[[str], None] = lambda _: None,
    ending: StopRequest | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. `on_listening` is called with the address once requests are accepted.

    The listener is left open, so that those who connect afterwards wait for the next server on it.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_on(app, listener.dup(), listening, on_listening=on_listening, ending=ending))


async def serve_on(
    app: FastAPI,
    listener: socket.socket,
    listening: Listening,
    *,
    on_listening: Callable[[str], None] = lambda _: None,
    ending: StopRequest | None = None,
) -> None:
    """Like `serve`, inside an event loop that already runs. The listener is closed at the end."""
    ending = ending or StopRequest()
    config = _config(app, listening, ending.within_s)
    server = _Server(config, address_of(listener, listening), on_listening, ending)
    app.state.server = server
    await server.serve(sockets=[listener])


def address_of(listener: socket.socket, listening: Listening) -> str:
    """The address of a server that listens there."""
    scheme = "http" if listening.certificate is None else "https"
    return f"{scheme}://{_authority(listener)}"


def bound(listening: Listening) -> socket.socket:
    """A socket that listens. Raises when that would show tokens to the network, or when the port is taken."""
    _check_safe(listening)
    with ExitStack() as undo:
        try:
            found = socket.getaddrinfo(listening.host, listening.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, kind, protocol, _, address = found[0]
            listener = undo.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(CONNECTIONS_WAITING)
        except OSError as error:
            where = f"{listening.host}:{listening.port}"
            reason = error.strerror or error
            raise Unavailable(f"cannot listen on {where}: {reason}; is Muster running already?") from error
        undo.pop_all()
    return listener


def _check_safe(listening: Listening) -> None:
    if (listening.certificate is None) != (listening.key is None):
        raise InvalidInput("TLS needs a certificate and its key; give both or neither")
    if is_loopback(listening.host) or listening.certificate is not None or listening.is_insecure_allowed:
        return
    raise InvalidInput(
        f"listening on {listening.host} without TLS would show every token to the network; give a certificate and a "
        "key, listen on 127.0.0.1, or say --insecure-bind if something in front of Muster does TLS"
    )


def _config(app: FastAPI, listening: Listening, stop_s: int) -> uvicorn.Config:
    http, websocket = bounded()
    return uvicorn.Config(
        app,
        http=http,
        ws=websocket,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=stop_s,
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
    )


class _Server(uvicorn.Server):
    """Reports the address it listens on, and ends the streams before it waits for requests to end."""

    def __init__(
        self, config: uvicorn.Config, url: str, on_listening: Callable[[str], None], ending: StopRequest
    ) -> None:
        super().__init__(config)
        self._url = url
        self._on_listening = on_listening
        self._ending = ending

    async def on_tick(self, counter: int) -> bool:
        return self._ending.is_asked or await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_listening(self._url)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal without ending the process, so that the caller can clean up the rest."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self.config.app
        assert isinstance(app, FastAPI)
        services: Services = app.state.services
        services.close()
        await super().shutdown(sockets)


def _authority(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
