"""Partial changes as JSON Merge Patch (RFC 7396): what is named changes, null removes, and the rest stays."""

from collections.abc import Mapping
from typing import Any


def patched(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The document with these changes. What is removed has its default when the document is read."""
    found = dict(document)
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict) and isinstance(found.get(key), dict):
            found[key] = patched(found[key], value)
        else:
            found[key] = value
    return found
