"""Keeps secrets out of what is written down, also where a value comes in pieces."""

import re
from collections.abc import Iterable
from itertools import pairwise

MASK = b"***"

LINE_BYTES_MIN = 8
"""Of a secret of several lines each line is masked too, when it is long enough to be one."""


PIECE_BYTES = 256
"""Longer values are masked in pieces, so that little is kept back and looking for them stays cheap."""


class Mask:
    """Replaces every value in a stream of bytes.

    What may be the beginning of a value is kept back until it is known, so less than the longest value is ever kept.
    """

    def __init__(self, values: Iterable[str]) -> None:
        given = [value for value in values if value]
        lines = [line for value in given for line in value.splitlines() if len(line) >= LINE_BYTES_MIN]
        whole = (word.encode(errors="surrogateescape") for word in (*given, *lines))
        words = {piece for word in whole for piece in _pieces(word)}
        # Longest first: a value that begins with another one must not leave its rest behind.
        self._values = sorted(words, key=lambda word: (-len(word), word))
        self._pattern = re.compile(b"|".join(re.escape(value) for value in self._values)) if self._values else None
        self._kept = b""

    def feed(self, data: bytes) -> bytes:
        """What may be shown after this much more of the stream."""
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
        """What was kept back, now that nothing more comes."""
        kept, self._kept = self._kept, b""
        return kept if self._pattern is None else self._pattern.sub(MASK, kept)

    def _safe(self, text: bytes) -> int:
        """How much of the text cannot be the beginning of a value that is not complete yet."""
        longest = len(self._values[0])
        for start in range(max(0, len(text) - longest + 1), len(text)):
            rest = text[start:]
            if any(len(value) > len(rest) and value.startswith(rest) for value in self._values):
                return start
        return len(text)


def _pieces(word: bytes) -> list[bytes]:
    """The word itself, or pieces one after another of which none is short."""
    count = max(len(word) // PIECE_BYTES, 1)
    ends = [index * len(word) // count for index in range(count + 1)]
    return [word[start:end] for start, end in pairwise(ends)]
