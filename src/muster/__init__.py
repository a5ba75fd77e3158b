"""Muster: a scheduler and cluster manager for machine-learning training on shared accelerators."""

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
