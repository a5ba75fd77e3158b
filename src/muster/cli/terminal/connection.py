"""The way to the server, for every command alike."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client import Client


def connect() -> "Client":
    """A client for the server that this user means; imported only here, so that offline commands start fast."""
    from muster.client import Client  # noqa: PLC0415

    return Client()
