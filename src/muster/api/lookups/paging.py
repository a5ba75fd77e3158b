"""Cursors: where a list continues, in an opaque form, so that clients do not take it apart."""

import base64

from muster.model.errors import InvalidInput


def cursor_of(kind: str, place: str | int) -> str:
    """A cursor for a list of some kind that continues after a place."""
    return base64.urlsafe_b64encode(f"{kind}:{place}".encode()).decode().rstrip("=")


def text_place(kind: str, cursor: str | None) -> str | None:
    """The place in a cursor for a list of this kind; None without a cursor."""
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        text = ""
    found, colon, place = text.partition(":")
    if not colon or found != kind:
        raise InvalidInput("this cursor is not one of this list; leave it out to begin anew")
    return place


def number_place(kind: str, cursor: str | None) -> int | None:
    """Like `text_place`, for lists whose places are numbers."""
    place = text_place(kind, cursor)
    if place is None:
        return None
    if not (place.isascii() and place.isdigit() and len(place) <= 18):
        raise InvalidInput("this cursor is not one of this list; leave it out to begin anew")
    return int(place)
