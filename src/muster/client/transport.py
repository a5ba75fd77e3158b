"""One request and its answer: the token, timeouts and retries.

A request is repeated only when that cannot do anything twice: it never left this machine, the server said that nothing
was done (429, 503), or doing it twice is the same as doing it once (`repeatable`). A request with a key is repeated
under its key also when the answer takes too long: a user who has to do that by hand would have two jobs. With several
addresses the next try goes to the next one: any of them answers, or passes the request on to the leader.
"""

import os
import random
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import httpx

from muster.client.address import Address
from muster.client.problems import problem, unreachable
from muster.loopback import is_loopback_url
from muster.model.errors import Unreachable

TIMEOUT_S = 30.0
"""A commit waits for a disk, but never this long. The largest page takes a second."""
CONNECT_TIMEOUT_S = 5.0
SILENCE_S = 45.0
"""How long a stream may be silent. The server sends a heartbeat after 15 s without an event."""
TRIES = 5
NOTHING_DONE = (429, 503)
"""Statuses with which the server says that nothing was done."""
CONNECT_TRIES = 3
"""A user who forgot to start a server wants to know at once. A server that restarts is back in a second or two."""
KEYED_TRIES = 2
"""How often a request with a key is sent to a server that takes too long to answer."""
KEY = "Idempotency-Key"
FIRST_PAUSE_S = 0.2
PAUSE_MAX_S = 10.0
"""A user at a prompt does not wait longer than this, even if the server asks for it."""

FAILOVER_ROUNDS = 3
"""Rounds through several addresses beyond the usual tries: until another control plane leads."""
FAILOVER_TIMEOUT_S = 10.0
"""How long an answer may take where another address can be asked: the first may belong to a process that is stopped."""

Query = Mapping[str, Any]
Sleep = Callable[[float], None]


class Transport:
    """A connection to one server."""

    def __init__(
        self,
        address: Address,
        *,
        below: httpx.BaseTransport | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._addresses = (address, *address.others)
        self._at = 0
        self.sleep = sleep
        self._tries = (tries + FAILOVER_ROUNDS) * len(self._addresses) if address.others else tries
        timeout_s = min(timeout_s, FAILOVER_TIMEOUT_S) if address.others else timeout_s
        self._clients = [_client(each, below, timeout_s) for each in self._addresses]

    @property
    def address(self) -> Address:
        """The address that the next request goes to."""
        return self._addresses[self._at]

    @property
    def _http(self) -> httpx.Client:
        return self._clients[self._at]

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            client.close()

    def move_on(self) -> None:
        """Try the next address from now on, if there is another."""
        self._at = (self._at + 1) % len(self._addresses)

    def _pause(self, tried: int, asked_s: float = 0.0) -> None:
        """Move on to the next address, and wait after each round through all of them."""
        self.move_on()
        if tried % len(self._addresses) == 0:
            self.sleep(asked_s or backoff_s(tried // len(self._addresses)))

    def send(
        self,
        method: str,
        path: str,
        *,
        repeatable: bool = True,
        query: Query | None = None,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        file: str = "the request",
        timeout_s: float | None = None,
    ) -> httpx.Response:
        """The answer to a request, within the usual time or this one. Raises what an error answer stands for.

        `body` is sent as JSON, and `content` as it is.
        """
        timeout = self._http.timeout if timeout_s is None else httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
        tried, keyed = 0, headers is not None and KEY in headers
        while True:
            tried += 1
            request = self._http.build_request(
                method, path, params=_given(query), json=body, content=content, headers=headers, timeout=timeout
            )
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                if tried >= self._tries or not self._may_repeat(error, repeatable=repeatable, keyed=keyed, tried=tried):
                    raise unreachable(error, self.address.url, submits=keyed) from None
                self._pause(tried)
                continue
            if response.is_success:
                return response
            failure = problem(response, file=file)
            is_unanswered = response.status_code == HTTPStatus.GATEWAY_TIMEOUT and repeatable and self._has_others
            may_help = failure.retry_helps and (response.status_code in NOTHING_DONE or is_unanswered)
            if not may_help or tried >= self._tries:
                raise failure
            self._pause(tried, _asked_pause_s(response))

    @property
    def _has_others(self) -> bool:
        return len(self._addresses) > 1

    def _may_repeat(self, error: httpx.TransportError, *, repeatable: bool, keyed: bool, tried: int) -> bool:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return self._has_others or tried < CONNECT_TRIES
        if isinstance(error, httpx.TimeoutException):
            return (keyed and tried < KEYED_TRIES) or (repeatable and self._has_others)
        return repeatable and isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)

    def json(self, method: str, path: str, **details: Any) -> Any:
        """The JSON document in the answer to a request."""
        response = self.send(method, path, **details)
        try:
            return response.json()
        except ValueError:
            raise Unreachable(f"{response.request.url} did not answer with JSON; is there a Muster server?") from None

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        silence_s: float = SILENCE_S,
    ) -> Iterator[httpx.Response]:
        """An answer that is read as it comes. It is not retried here: only the reader knows how far it has read."""
        timeout = httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S, read=silence_s)
        begun = False
        try:
            with self._http.stream("GET", path, params=_given(query), headers=headers, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    self.move_on()
                    raise problem(response)
                begun = True
                yield response
        except httpx.ReadTimeout as error:
            url = self.address.url
            self.move_on()
            raise Silent(url) if begun else unreachable(error, url) from None
        except httpx.TransportError as error:
            url = self.address.url
            self.move_on()
            raise unreachable(error, url) from None


class Silent(Unreachable):
    """A stream was silent for too long."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the server at {url} has fallen silent; try again, and look at its server.log")


def _client(address: Address, below: httpx.BaseTransport | None, timeout_s: float) -> httpx.Client:
    """The connections to one address."""
    return httpx.Client(
        base_url=address.url,
        headers={"Authorization": f"Bearer {address.token}"} if address.token else {},
        timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
        transport=below,
        verify=_trusted(address.url),
        trust_env=not is_loopback_url(address.url),  # A proxy cannot reach a server on loopback.
    )


def _trusted(url: str) -> ssl.SSLContext | bool:
    """Who may vouch for the server. SSL_CERT_FILE counts on loopback too, where no other variable does.

    An address without TLS does not wait for certificates to load: the context that it gets trusts nobody.
    """
    if not url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    file = os.environ.get("SSL_CERT_FILE")
    return ssl.create_default_context(cafile=file) if file else True


def backoff_s(tried: int) -> float:
    """Seconds before the next try: longer each time, with jitter so that clients do not retry at the same moment."""
    return min(PAUSE_MAX_S, FIRST_PAUSE_S * 2.0 ** (tried - 1)) * random.uniform(0.75, 1.25)


def _asked_pause_s(response: httpx.Response) -> float:
    """The seconds in `Retry-After`, up to `PAUSE_MAX_S`; 0 when there are none. A date is not understood."""
    said = str(response.headers.get("Retry-After", ""))
    return min(PAUSE_MAX_S, float(said)) if said.isdecimal() else 0.0


def _given(query: Query | None) -> dict[str, Any]:
    """The parameters to send: those that are None are left out, and booleans are spelled `true` and `false`."""
    given = {key: value for key, value in (query or {}).items() if value is not None}
    return {key: str(value).lower() if isinstance(value, bool) else value for key, value in given.items()}
