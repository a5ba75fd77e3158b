"""Muster: a scheduler and cluster manager for machine-learning training on shared accelerators.

    model                the vocabulary: values that nobody changes
    core                 pure decisions: order, plan, explain, lifecycle
    checker              the rules for plans stated a second time, for tests
    formats              job files, scenarios, rules and traces, read and written
    answers              what the API sends and the client gets
    engine               the only writer: events into the log, the log into state
    views                what readers see of that state
    estimates            when waiting jobs may start
    policies             policies by name
    store                where the log is kept
    backends             what starts processes
    worker               the supervisor that runs on a node
    access               who may do what
    live                 the engine on a real clock
    sim                  the engine on a virtual clock: replays, faults, reports
    api                  the HTTP server
    client               the Python client
    cli                  the command line
    main                 the composition root: the only place that names concrete adapters

Small and shared:

    home                 what lies where under Muster's home
    private_files locks  files that only their owner reads, and locks
    processes loopback   which process is which, and addresses of this machine
    token_store          the port behind which tokens are kept
    annotations          what a class says of its fields
    failpoints           where a test can end the process
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client import Client as Client

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`from muster import Client` without making everybody who imports Muster load an HTTP library."""
    if name == "Client":
        return import_module("muster.client").Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
