"""Talk to a Muster server from Python: `Client` has a method for each thing that the API does.

    client            the methods
    address           where the server is and who asks
    transport pauses  one request and its answer, and how often to ask again
    streams           answers that go on
    job_source        a job file -> what is sent
    answers building  what the server answers, and how it is made of JSON
    problems          an answer that is not what was asked for

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
