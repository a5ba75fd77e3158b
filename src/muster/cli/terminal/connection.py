"""The connection to the server, the same for every command."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client import Client


def connect() -> "Client":
    """A client for the user's server. It is imported only here, so that offline commands start fast."""
    from muster.client import Client  # noqa: PLC0415

    return Client()
