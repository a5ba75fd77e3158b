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
    main                 the composition root: the only place that names concrete adapters

Small and shared:

    home                 the paths of files under Muster's home
    private_files locks  files that only their owner reads, and locks
    processes loopback   identify and end processes, and addresses that only this machine can reach
    token_store          the port to the store of tokens
    annotations          types, marks and texts of the fields of a class
    failpoints           places where a test can kill the process
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client import Client as Client

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load `Client` on first use, so that importing Muster does not load an HTTP library."""
    if name == "Client":
        return import_module("muster.client").Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
