"""How routes describe their errors in the OpenAPI document."""

from typing import Any

from muster.api.problems.handlers import MEDIA_TYPE

_MEANINGS = {
    401: "No token was shown, or one that is not known.",
    403: "Not allowed.",
    404: "There is no such thing, or it is not for you to see.",
    405: "Not possible here.",
    409: "Something else is already so.",
    413: "The body is too large.",
    421: "This server is not called what `Host` says.",
    422: "Wrong as written.",
    429: "Too many at once, or too often; `Retry-After` says when to come again.",
    500: "A fault of Muster.",
    503: "Not now: the inbox or the disk is full, or the writer has stopped.",
}

Answers = dict[int | str, dict[str, Any]]


def errors(*statuses: int) -> Answers:
    """The error answers of a route: these statuses, and those that every route has."""
    return {
        status: {
            "description": _MEANINGS[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted({*statuses, 421, 429, 500})
    }


SEEN = errors(401, 403, 422)
"""Errors of a route that only shows something."""

FOUND = errors(401, 403, 404, 422)
"""Errors of a route that shows one thing."""

CHANGED = errors(401, 403, 404, 409, 413, 422, 503)
"""Errors of a route that changes something."""
