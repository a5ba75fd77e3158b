"""Paths of the server are nobody's business but its operator's: what others are told names what lies where by a word.

Messages come from everywhere, and from histories that were written long ago, so this is done where they are sent. The
server's own log has them in full.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HOME = "$MUSTER_HOME"
"""What an operator knows, and others need not: where the server keeps its files."""


@dataclass(frozen=True, slots=True)
class Concealing:
    """Folders and files of the server, each with the word that stands for it, the longest path first."""

    places: tuple[tuple[str, str], ...] = ()

    def __call__(self, text: str) -> str:
        """The text without these paths."""
        for path, word in self.places:
            text = text.replace(path, word)
        return text


def concealing(home: Path, others: Iterable[tuple[Path, str]] = ()) -> Concealing:
    """What a server with this home conceals; a root that everything is below is not a secret."""
    named = [(str(home), HOME), *((str(path), word) for path, word in others)]
    places = [each for each in named if each[0] not in ("", "/", ".")]
    return Concealing(tuple(sorted(places, key=lambda each: -len(each[0]))))
