"""How a row tells that it is what was written: a SHA-256 over its values, and over the row before it in a chain.

Every value goes in with its type and its length, so that no two rows have the same text, and a value that came back
as another type is another value.
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
