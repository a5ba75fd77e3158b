"""Talk to a Muster server from Python: `Client` has a method for each thing that the API does.

    from muster import Client

    with Client() as muster:
        job = muster.submit({"name": "hello", "run": "echo hello"})
        print(muster.wait(job.id).state)

It is synchronous, needs nothing but an address and a token, and knows nothing of the engine.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client.client import Client as Client


def __getattr__(name: str) -> object:
    """The HTTP library is loaded with the client, not with the values in `answers`."""
    if name == "Client":
        return import_module("muster.client.client").Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
