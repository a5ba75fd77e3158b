"""Digests that show whether a row is what was written: a SHA-256 of its values and, in a chain, of the row before.

Every value goes in with its type and its length. So no two different rows have the same text, and a value that is read
back as another type gives another digest.
"""

import hashlib
from collections.abc import Sequence

GENESIS = bytes(32)
"""The chain before the first row."""


def seal(*values: object) -> bytes:
    """The digest of a row with these values. For a chain, the first of them is the digest of the row before."""
    parts: list[bytes] = []
    for value in values:
        match value:
            case bytes():
                parts += (b"b%d:" % len(value), value)
            case str():
                text = value.encode("utf-8", "surrogatepass")
                parts += (b"s%d:" % len(text), text)
            case int():
                parts.append(b"i%d:" % value)
            case _:
                parts.append(f"o{value!r}:".encode())
    return hashlib.sha256(b"".join(parts)).digest()


def is_sealed(row: Sequence[object]) -> bool:
    """True when the last value of a row is the digest of those before it: the row is what was written."""
    return seal(*row[:-1]) == row[-1]
