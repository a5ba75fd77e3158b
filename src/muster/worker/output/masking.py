"""Keeps secrets out of the output that is stored, also where a value comes in pieces."""

import re
from collections.abc import Iterable
from itertools import pairwise

MASK = b"***"

LINE_BYTES_MIN = 8
"""Each line of a secret of several lines is masked too, if it is at least this long."""


PIECE_BYTES = 256
"""Long values are masked in pieces of at least this length, so that little is kept back and the search is cheap."""


class Mask:
    """Replaces every secret value in a stream of bytes.

    Bytes that may be the beginning of a value are kept back until that is certain. So less than the longest value is
    ever kept back.
    """

    def __init__(self, values: Iterable[str]) -> None:
        given = [value for value in values if value]
        lines = [line for value in given for line in value.splitlines() if len(line) >= LINE_BYTES_MIN]
        whole = (word.encode(errors="surrogateescape") for word in (*given, *lines))
        words = {piece for word in whole for piece in _pieces(word)}
        # Longest first: if one value begins with another, the rest of the longer one must not be shown.
        self._values = sorted(words, key=lambda word: (-len(word), word))
        self._pattern = re.compile(b"|".join(re.escape(value) for value in self._values)) if self._values else None
        self._kept = b""

    def feed(self, data: bytes) -> bytes:
        """Take more of the stream. Returns what may be shown now."""
        if self._pattern is None:
            return data
        text = self._kept + data
        cut = self._safe(text)
        shown, end = [], 0
        for found in self._pattern.finditer(text):
            if found.start() >= cut:
                break
            shown += [text[end : found.start()], MASK]
            end = found.end()
        cut = max(cut, end)
        self._kept = text[cut:]
        return b"".join((*shown, text[end:cut]))

    def close(self) -> bytes:
        """What was kept back, masked, now that nothing more comes."""
        kept, self._kept = self._kept, b""
        return kept if self._pattern is None else self._pattern.sub(MASK, kept)

    def _safe(self, text: bytes) -> int:
        """The length of the text before what may be the beginning of an incomplete value."""
        longest = len(self._values[0])
        for start in range(max(0, len(text) - longest + 1), len(text)):
            rest = text[start:]
            if any(len(value) > len(rest) and value.startswith(rest) for value in self._values):
                return start
        return len(text)


def _pieces(word: bytes) -> list[bytes]:
    """The word itself, or consecutive pieces of at least `PIECE_BYTES` bytes."""
    count = max(len(word) // PIECE_BYTES, 1)
    ends = [index * len(word) // count for index in range(count + 1)]
    return [word[start:end] for start, end in pairwise(ends)]
