"""Muster: a scheduler and cluster manager for machine-learning training on shared accelerators.

    model                the vocabulary: immutable values
    core                 pure decisions: order, plan, explain, lifecycle
    checker              the rules for plans, written a second time for tests
    formats              reads and writes job files, scenarios, rules and traces
    answers              what the API sends and the client receives
    engine               the only writer: appends events to the log and folds the log into state
    views                what readers see of that state
    estimates            when waiting jobs may start
    policies             policies by name
    store                where the log is kept
    backends             what starts processes
    worker               the supervisor that runs on a node
    train                what training code imports
    access               who may do what
    live                 the engine on a real clock
    sim                  the engine on a virtual clock: replays, faults, reports
    api                  the HTTP server
    client               the Python client
    cli                  the command line
    slurm                the commands of Slurm
    main                 the composition root: the only place that names concrete adapters

Small and shared:

    home                 the paths of files under Muster's home
    private_files locks  files that only their owner reads, and locks
    processes loopback   identify and end processes, and addresses that only this machine can reach
    token_store          the port to the store of tokens
    attempt_token        the token of one attempt of a job, derived and stored nowhere
    annotations          types, marks and texts of the fields of a class
    failpoints           places where a test can kill the process
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client import Client as Client
    from muster.client.functions.submitting import map_array as map_array
    from muster.client.functions.submitting import submit_function as submit_function

__version__ = "0.1.0"


_OFFERED = {
    "Client": "muster.client.client",
    "submit_function": "muster.client.functions.submitting",
    "map_array": "muster.client.functions.submitting",
}
"""What users import from here, and the module that has it."""


def __getattr__(name: str) -> object:
    """Load what is offered on first use, so that importing Muster does not load an HTTP library."""
    if name in _OFFERED:
        return getattr(import_module(_OFFERED[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What `dir` and the completion of a shell show: what is offered, and not what this file itself imports."""
    return sorted({*globals(), *_OFFERED} - {"TYPE_CHECKING", "import_module"})
