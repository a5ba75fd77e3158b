"""The connection to the server, the same for every command."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.client import Client

OTHER_COMMAND_LINE = "httpx._main"
"""The command line of httpx itself: progress bars, syntax colours. Importing it takes a third of importing httpx."""


def leave_out_other_command_lines() -> None:
    """Call it before anything imports the client."""
    modules: dict[str, Any] = sys.modules
    modules.setdefault(OTHER_COMMAND_LINE, None)  # Python takes this for a module that is not installed.


def connect(**settings: Any) -> "Client":
    """A client for the user's server. It is imported only here, so that offline commands start fast."""
    leave_out_other_command_lines()
    from muster.client import Client  # noqa: PLC0415

    return Client(**settings)
