"""Hides paths of the server: only its operator needs them, so callers see a placeholder instead.

Messages come from many places, also from old events in the log, so paths are replaced where messages are sent. The
server's own log has them in full.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HOME = "$MUSTER_HOME"
"""The placeholder for the folder in which the server keeps its files."""


@dataclass(frozen=True, slots=True)
class Concealing:
    """Folders and files of the server, each with its placeholder, longest path first."""

    places: tuple[tuple[str, str], ...] = ()

    def __call__(self, text: str) -> str:
        """The text without these paths."""
        for path, word in self.places:
            text = text.replace(path, word)
        return text


def concealing(home: Path, others: Iterable[tuple[Path, str]] = ()) -> Concealing:
    """The paths that a server with this home conceals, without `/` and `.`, which are in every path."""
    named = [(str(home), HOME), *((str(path), word) for path, word in others)]
    places = [each for each in named if each[0] not in ("", "/", ".")]
    return Concealing(tuple(sorted(places, key=lambda each: -len(each[0]))))
