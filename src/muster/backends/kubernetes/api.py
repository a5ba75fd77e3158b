"""Requests to the API server, as plain JSON: the official client finds it, and says who asks.

Whatever is wrong becomes `EngineSilent` when nothing is known, `RequestRefused` when the answer was no.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from muster.backends.allocations.engine import EngineSilent, RequestRefused
from muster.model.node_limits import ENGINE_CALL_S

CONNECT_S = 5.0

BUSY = (408, 425, 429, 500, 502, 503, 504)
"""Answers of a server that may have another one later."""

MISTAKES = (400, 413, 422)
"""Answers that say that the request itself is wrong, however often it is made."""

UNKNOWN_USER = 401
FORBIDDEN = 403
GONE = 410
CONFLICT = 409
NOT_FOUND = 404

LINE_BYTES = 16 << 20
"""The longest line of a watch. Objects are at most 1.5 MiB there."""

Manifest = dict[str, Any]


class VersionGone(Exception):
    """The server does not remember so old a version: everything has to be listed again."""


class KubernetesApi:
    """One API server."""

    def __init__(self, kubeconfig: Path | None, context: str = "") -> None:
        """None for the service account of the pod in which this process runs."""
        self._kubeconfig = kubeconfig
        self._context = context
        self._client: Any = None
        self._lock = threading.Lock()

    def read(self, path: str, **query: str) -> Manifest:
        """The object or the list that is there now."""
        return self._answer("GET", path, query=query)

    def create(self, path: str, body: Mapping[str, Any]) -> Manifest | None:
        """Make an object. None when there is one of this name, which a request has made whose answer was lost."""
        try:
            return self._answer("POST", path, body=body)
        except _Refused as refused:
            if refused.status == CONFLICT and refused.reason == "AlreadyExists":
                return None
            raise RequestRefused(refused.words, is_mistake=refused.status in MISTAKES) from None

    def patch(self, path: str, body: Mapping[str, Any]) -> bool:
        """Change some fields of an object. False when it is not there."""
        return self._did("PATCH", path, body, {"Content-Type": "application/merge-patch+json"})

    def delete(self, path: str) -> bool:
        """Delete an object once everything that it owns is gone. False when it is not there."""
        return self._did("DELETE", path, {"propagationPolicy": "Foreground"}, {})

    def delete_all(self, path: str, selector: str, grace_s: int) -> None:
        """Have objects deleted that bear some labels, of pods what runs killed after a while."""
        try:
            self._answer("DELETE", path, query={"labelSelector": selector}, body={"gracePeriodSeconds": grace_s})
        except _Refused as refused:
            raise EngineSilent(refused.words) from None

    def watch(self, path: str, seconds: int, **query: str) -> Iterator[Manifest]:
        """What changes, as it comes. The server ends a watch after a while. Raises `VersionGone`, `EngineSilent`."""
        query |= {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        try:
            answer = self._request("GET", path, query=query, timeout_s=seconds + ENGINE_CALL_S).response
        except _Refused as refused:
            if refused.status == GONE:
                raise VersionGone from None
            raise EngineSilent(refused.words) from None
        try:
            for line in _lines(answer):
                change = json.loads(line)
                if change["type"] == "ERROR":
                    if change["object"].get("code") == GONE:
                        raise VersionGone
                    raise EngineSilent(f"a watch ended: {change['object'].get('message', '')}")
                yield change
        except (OSError, ValueError, _http_errors()) as error:
            raise EngineSilent(f"the connection to the API server broke off ({_plain(error)})") from None
        finally:
            answer.close()

    def _did(self, method: str, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
        try:
            self._answer(method, path, body=body, headers=headers)
        except _Refused as refused:
            if refused.status in (NOT_FOUND, CONFLICT):
                return False
            raise EngineSilent(refused.words) from None
        return True

    def _answer(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Manifest:
        answer = self._request(method, path, query=query, body=body, headers=headers, timeout_s=ENGINE_CALL_S)
        try:
            return dict(json.loads(answer.read()))
        except (OSError, ValueError, _http_errors()) as error:
            raise EngineSilent(f"the API server broke off its answer ({_plain(error)})") from None

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float,
    ) -> Any:
        client = self._connected()
        asked = client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params={"Accept": "application/json", "Content-Type": "application/json", **(headers or {})},
            body=None if body is None else dict(body),
            auth_settings=["BearerToken"],
        )
        try:
            answer = client.call_api(*asked, _request_timeout=(CONNECT_S, timeout_s))
        except (OSError, _http_errors(), _api_errors()) as error:
            raise EngineSilent(f"the API server of Kubernetes does not answer ({_plain(error)})") from None
        if answer.status == UNKNOWN_USER:
            self._client = None  # its file may have a newer token
        if answer.status >= 400:
            raise _refusal(answer.status, answer.read())
        return answer

    def _connected(self) -> Any:
        """The client. A kubeconfig that is wrong now may be right later."""
        with self._lock:
            if self._client is None:
                self._client = _client(self._kubeconfig, self._context)
            return self._client


class _Refused(RequestRefused):
    """An answer that is a refusal."""

    def __init__(self, status: int, reason: str, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.reason = reason
        self.words = words


_ADVICE: Final = {
    UNKNOWN_USER: "the token or the certificate in the kubeconfig is not valid (any more)",
    FORBIDDEN: "what Muster may do there is in deploy/kubernetes/rbac.yaml",
    NOT_FOUND: "is the namespace there, and the address right?",
}


def _refusal(status: int, text: bytes) -> Exception:
    """What an answer means that is none of those that were hoped for."""
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    reason, message = str(said.get("reason") or ""), str(said.get("message") or text[:200].decode(errors="replace"))
    if status in BUSY:
        return EngineSilent(f"the API server of Kubernetes is not able to answer ({status} {message.strip()})")
    if status == UNKNOWN_USER:
        return EngineSilent(f"Kubernetes does not let Muster in ({message}): {_ADVICE[status]}")
    return _Refused(status, reason, _words(status, message))


def _words(status: int, message: str) -> str:
    if "exceeded quota" in message:
        return f"the quota of the namespace is used up: ask for less, or have it raised ({message})"
    if "is being terminated" in message:
        return f"the namespace is about to go ({message})"
    if "PodSecurity" in message:
        return f"the security standard of the namespace forbids it: see `run_as` and `mounts` in the guide ({message})"
    if status in _ADVICE and (status != FORBIDDEN or " cannot " in message):
        return f"{message}: {_ADVICE[status]}"
    return message


def _client(kubeconfig: Path | None, context: str) -> Any:
    try:
        from kubernetes import client, config  # noqa: PLC0415 - it is slow to load, and not everybody has it
    except ImportError:
        raise EngineSilent("Kubernetes needs its client: pip install 'muster-scheduler[kubernetes]'") from None
    settings = client.Configuration()
    try:
        if kubeconfig is None:
            config.load_incluster_config(client_configuration=settings)
        else:
            config.load_kube_config(str(kubeconfig), context or None, settings, persist_config=False)
    except Exception as error:  # noqa: BLE001 - the file may hold anything, and its readers raise as much
        what = "the service account of this pod" if kubeconfig is None else f"the kubeconfig {kubeconfig}"
        raise EngineSilent(f"{what} cannot be used: {_plain(error)}") from None
    settings.retries = False  # whoever asks tries again, within bounds of its own
    return client.ApiClient(settings)


def _http_errors() -> Any:
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - it comes with the client

    return HTTPError


def _api_errors() -> Any:
    from kubernetes.client.exceptions import ApiException  # noqa: PLC0415 - as above

    return ApiException


def _plain(error: Exception) -> str:
    said = " ".join(str(getattr(error, "reason", None) or error).split())
    return said[:300] or type(error).__name__


def _lines(answer: Any) -> Iterator[bytes]:
    """The lines of an answer that has no end yet."""
    left = b""
    for piece in answer.stream(amt=None, decode_content=False):
        left += piece
        *whole, left = left.split(b"\n")
        yield from filter(bytes.strip, whole)
        if len(left) > LINE_BYTES:
            raise ValueError(f"a line is longer than {LINE_BYTES} bytes")
