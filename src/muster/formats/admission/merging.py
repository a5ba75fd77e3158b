"""Two documents in one: what a job says, and what a profile or a rule adds to it.

Mappings are merged key by key. Anything else, lists too, is one value: it is taken whole from one of the two.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Mapped = Mapping[str, Any]

GANG = ("workers", "resources", "run")
"""The keys of a job with one kind of worker. A job with `roles` has none of them."""


def filled(given: Mapped, defaults: Mapped) -> dict[str, Any]:
    """`given`, and what it leaves out as `defaults` say. A key without a value counts as left out."""
    found = dict(given)
    for key, value in defaults.items():
        own = found.get(key)
        if own is None:
            if value is not None:
                found[key] = value
        elif isinstance(own, dict) and isinstance(value, dict):
            found[key] = filled(own, value)
    return found


def replaced(given: Mapped, values: Mapped) -> dict[str, Any]:
    """`given`, with these values in place of its own."""
    found = dict(given)
    for key, value in values.items():
        own = found.get(key)
        found[key] = replaced(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return found


def completed(given: Mapped, defaults: Mapped) -> dict[str, Any]:
    """A job file with what it leaves out. One with `roles` takes no workers from the defaults, and vice versa."""
    if given.get("roles"):
        defaults = {key: value for key, value in defaults.items() if key not in GANG}
    elif any(given.get(key) is not None for key in GANG):
        defaults = {key: value for key, value in defaults.items() if key != "roles"}
    return filled(given, defaults)


def differences(before: Mapped, after: Mapped, above: str = "") -> Iterator[str]:
    """The keys that are not the same in both, as paths such as `checkpoint.every`."""
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new, f"{above}{key}.")
        elif isinstance(new, dict) and old is None and new:
            yield from differences({}, new, f"{above}{key}.")
        else:
            yield f"{above}{key}"
