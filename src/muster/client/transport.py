"""One request and its answer: the token, timeouts and retries.

A request is repeated only when that cannot do anything twice: it never left this machine, the server said that nothing
was done (429, 503), or doing it twice is the same as doing it once (`repeatable`). A request with a key is repeated
under its key also when the answer takes too long: a user who has to do that by hand would have two jobs.
"""

import os
import random
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
CONNECT_TRIES = 3
"""A user who forgot to start a server wants to know at once. A server that restarts is back in a second or two."""
KEYED_TRIES = 2
"""How often a request with a key is sent to a server that takes too long to answer."""
KEY = "Idempotency-Key"
FIRST_PAUSE_S = 0.2
PAUSE_MAX_S = 10.0
"""A user at a prompt does not wait longer than this, even if the server asks for it."""

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
        self.address = address
        self.sleep = sleep
        self._tries = tries
        headers = {"Authorization": f"Bearer {address.token}"} if address.token else {}
        self._http = httpx.Client(
            base_url=address.url,
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
            transport=below,
            verify=_trusted(address.url),
            trust_env=not is_loopback_url(address.url),  # A proxy cannot reach a server on loopback.
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

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
        request = self._http.build_request(
            method, path, params=_given(query), json=body, content=content, headers=headers, timeout=timeout
        )
        tried, keyed = 0, KEY in request.headers
        while True:
            tried += 1
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                if tried >= self._tries or not _may_repeat(error, repeatable=repeatable, keyed=keyed, tried=tried):
                    raise unreachable(error, self.address.url, submits=keyed) from None
                self.sleep(backoff_s(tried))
                continue
            if response.is_success:
                return response
            failure = problem(response, file=file)
            if response.status_code not in (429, 503) or not failure.retry_helps or tried >= self._tries:
                raise failure
            self.sleep(_asked_pause_s(response) or backoff_s(tried))

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
                    raise problem(response)
                begun = True
                yield response
        except httpx.ReadTimeout as error:
            raise Silent(self.address.url) if begun else unreachable(error, self.address.url) from None
        except httpx.TransportError as error:
            raise unreachable(error, self.address.url) from None


class Silent(Unreachable):
    """A stream was silent for too long."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the server at {url} has fallen silent; try again, and look at its server.log")


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


def _may_repeat(error: httpx.TransportError, *, repeatable: bool, keyed: bool, tried: int) -> bool:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return tried < CONNECT_TRIES
    if isinstance(error, httpx.TimeoutException):
        return keyed and tried < KEYED_TRIES
    return repeatable and isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)


def _asked_pause_s(response: httpx.Response) -> float:
    """The seconds in `Retry-After`, up to `PAUSE_MAX_S`; 0 when there are none. A date is not understood."""
    said = str(response.headers.get("Retry-After", ""))
    return min(PAUSE_MAX_S, float(said)) if said.isdecimal() else 0.0


def _given(query: Query | None) -> dict[str, Any]:
    """The parameters to send: those that are None are left out, and booleans are spelled `true` and `false`."""
    given = {key: value for key, value in (query or {}).items() if value is not None}
    return {key: str(value).lower() if isinstance(value, bool) else value for key, value in given.items()}
