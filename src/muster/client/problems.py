"""An error answer -> the exception for it.

The server describes errors as RFC 9457 problem documents. A proxy, or a server that is not Muster, does not. Then the
HTTP status decides.
"""

from collections.abc import Iterable
from typing import Any

import httpx

from muster.client.address import START_A_SERVER
from muster.model.errors import (
    Conflict,
    InvalidFile,
    InvalidInput,
    MusterError,
    NotFound,
    Refused,
    TimedOut,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from muster.model.plan import ReasonCode

_KINDS: tuple[type[MusterError], ...] = (
    InvalidInput,
    TooLarge,
    Unauthenticated,
    Refused,
    NotFound,
    Conflict,
    TooMany,
    Unavailable,
    TimedOut,
)
_BY_CODE = {kind.code: kind for kind in _KINDS}
_BY_STATUS = {kind.http_status: kind for kind in reversed(_KINDS)}
_NEVER_RUNS = tuple(ReasonCode)
"""A job that can never run in the current configuration is refused, and the code says why."""


def problem(response: httpx.Response, *, file: str = "the request") -> MusterError:
    """The exception for a response. `file` is the name of the file that the request was made from."""
    document = _document(response)
    kind = _kind(str(document.get("code")), response.status_code)
    errors = document.get("errors")
    if isinstance(errors, list) and errors and issubclass(kind, InvalidInput):
        return kind("\n".join(_each(errors, str(document.get("file") or file))))
    detail = document.get("detail") or document.get("title") or _plain(response)
    error = kind(_with_advice(kind, str(detail)))
    if document.get("code"):
        error.code = str(document["code"])  # More exact than the class: why it conflicts, why a job never runs.
    return error


_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""What OpenSSL calls it."""


def unreachable(error: httpx.TransportError, url: str, *, submits: bool = False) -> Unreachable:
    """The error when no answer came: what the client sees, and what the user can do.

    A job that was sent may have been accepted, although nobody heard so.
    """
    again = "look with `muster ps` whether the job is there before you try again" if submits else "try again"
    match error:
        case httpx.ConnectError() if _UNTRUSTED in str(error):
            reason = str(error).partition(_UNTRUSTED)[2].strip(" ]:") or "it cannot be verified"
            advice = "SSL_CERT_FILE names a file with the certificate of your authority"
            return Unreachable(f"the certificate of {url} is not trusted ({reason}); {advice}")
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return Unreachable(f"no server answers at {url}; is it running? {START_A_SERVER}")
        case httpx.TimeoutException():
            return Unreachable(f"the server at {url} takes too long to answer; {again}, and look at its server.log")
        case _:
            return Unreachable(f"the server at {url} broke off its answer ({error}); {again}")


def _kind(code: str, status: int) -> type[MusterError]:
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code in _NEVER_RUNS:
        return Refused
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return Unavailable
    return InvalidInput if status >= httpx.codes.BAD_REQUEST else Unreachable


def _document(response: httpx.Response) -> dict[str, Any]:
    try:
        value = response.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _each(errors: Iterable[object], file: str) -> Iterable[str]:
    for each in errors:
        if isinstance(each, dict):
            line = each.get("line")
            yield str(
                InvalidFile(
                    file=str(each.get("file") or file),
                    path=str(each.get("field") or ""),
                    problem=str(each.get("problem") or "is wrong"),
                    hint=str(each.get("hint") or ""),
                    line=line if isinstance(line, int) else None,
                )
            )


def _plain(response: httpx.Response) -> str:
    """The message for an answer that does not come from a Muster server."""
    words = f"{response.status_code} {response.reason_phrase}".strip()
    return f"{response.request.url} answered {words}; is there a Muster server?"


def _with_advice(kind: type[MusterError], detail: str) -> str:
    if kind is Unauthenticated:
        return f"{detail}; set MUSTER_TOKEN, or use `muster login`"
    return detail
