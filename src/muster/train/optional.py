"""Packages that are imported when the state needs them, and not before."""

import importlib
import sys
from typing import Any


def loaded(name: str) -> Any:
    """A module if something else has imported it; None otherwise. What nobody imported cannot be in a state."""
    return sys.modules.get(name)


def module(name: str) -> Any:
    """Import a module now."""
    return importlib.import_module(name)


def storage_package(protocol: str) -> Any:
    """The package fsspec, which reaches storage that is no folder. Says what to install when it is missing."""
    try:
        return importlib.import_module("fsspec")
    except ImportError:
        raise ImportError(
            f"a path with {protocol}:// needs the package fsspec and its file system for {protocol}"
            " (for S3: pip install s3fs); install it in the image of the training, or use a file path"
        ) from None
