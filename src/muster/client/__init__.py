"""Talk to a Muster server from Python: `Client` has a method for each operation of the API.

    client trainings governing  the methods
    address                     the address of the server and the token to send
    transport pauses            one request and its answer, and the pauses between polls
    streams                     answers that are streamed
    job_source                  a job file -> what is sent
    job_handle                  a job as the client returns it, with what one does next with it
    bundles                     the working directory of a job, sent along with it
    functions                   Python functions as jobs
    answers building            the answers of the server, and how they are built from JSON
    problems                    an error answer -> the exception for it

Usage:

    from muster import Client

    with Client() as muster:
        job = muster.submit({"name": "hello", "run": "echo hello"})
        print(muster.wait(job.id).state)

The client is synchronous. It needs only an address and a token, and does not depend on the engine.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client.client import Client as Client


def __getattr__(name: str) -> object:
    """Load the HTTP library only when `Client` is used, not when only `answers` is imported."""
    if name == "Client":
        return import_module("muster.client.client").Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
