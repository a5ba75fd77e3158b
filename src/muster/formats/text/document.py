"""A YAML, JSON or TOML file -> plain values with bounds, and all that is wrong with them -> one error.

Code that reads a document collects what is wrong in `Problems` and goes on. So the user sees every mistake at once,
each with its path and its line.
"""

import difflib
import json
import math
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from muster.formats.text.yaml_text import INTEGER_DIGITS_MAX, BadText, Loc, lines_of, path_text, read_yaml
from muster.model.errors import InvalidFile
from muster.model.limits import SCENARIO_FILE_BYTES

ERRORS_SHOWN = 20
"""More would scroll the first errors away. Repairing those often repairs the rest."""
STANDARD_INPUT = "-"
YAML_SUFFIXES = (".yaml", ".yml", ".json")
TOML_SUFFIX = ".toml"


class InvalidDocument(InvalidFile):
    """Everything that is wrong with one file. Its own fields are those of the first error."""

    def __init__(self, errors: tuple[InvalidFile, ...], *, more: int = 0) -> None:
        first = errors[0]
        super().__init__(file=first.file, path=first.path, problem=first.problem, hint=first.hint, line=first.line)
        self.errors = errors
        self.more = more
        rest = [f"{first.file}: and {more} more"] if more else []
        self.args = ("\n".join([*map(str, errors), *rest]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a file contains, and its text to find lines in."""

    file: str
    value: object
    text: str = ""
    """Empty for values that came from elsewhere. Errors then have no lines."""
    is_toml: bool = False


def read_document(source: str | Path) -> Document:
    """The document in a file, or on standard input when the name is `-`."""
    file, text = read_text(source)
    return parse_document(text, file=file)


def read_text(source: str | Path) -> tuple[str, str]:
    """What messages call a file, and its text. The name `-` means standard input."""
    if str(source) == STANDARD_INPUT:
        return _decoded("standard input", _standard_input())
    return _decoded(str(source), _file_bytes(Path(source)))


def _decoded(file: str, raw: bytes) -> tuple[str, str]:
    if len(raw) > SCENARIO_FILE_BYTES:
        _refuse(file, f"larger than {SCENARIO_FILE_BYTES >> 20} MiB", hint="is this the right file?")
    try:
        return file, raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        _refuse(file, "not UTF-8 text", line=line, hint="save it as UTF-8")


def read_settings(path: Path) -> Document:
    """The document in a settings file: YAML or JSON if its name ends so, else TOML."""
    file, text = _decoded(str(path), _file_bytes(path))
    if path.suffix.lower() in YAML_SUFFIXES:
        return parse_document(text, file=file)
    return _toml(text, file)


def parse_document(text: str, *, file: str, values_max: int | None = None) -> Document:
    """The document in a text from `file`: TOML or JSON if that name ends so, else YAML, or JSON if it looks like it.

    `values_max` bounds the parser events of YAML, because many values take a thousand times as long to read as a long
    text.
    """
    if file.lower().endswith(TOML_SUFFIX):
        return _toml(text, file)
    try:
        value = _value(text, is_json=file.lower().endswith(".json"), values_max=values_max)
    except BadText as error:
        _refuse(file, error.problem, line=error.line, hint=error.hint)
    if value is None:
        _refuse(file, "the file is empty")
    return Document(file=file, value=value, text=text)


def _toml(text: str, file: str) -> Document:
    """A TOML document. The parser does not say where values stand, so the lines of problems are looked for."""
    from muster.formats.text.toml_text import read_toml  # noqa: PLC0415 (it compiles patterns, and few files are TOML)

    try:
        return Document(file=file, value=read_toml(text), text=text, is_toml=True)
    except BadText as error:
        _refuse(file, error.problem)


class Problems:
    """What is wrong with a document, collected while reading on."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._found: list[tuple[Loc, str, str]] = []
        self._more = 0

    @property
    def count(self) -> int:
        """How many problems were noted, also those that will not be shown."""
        return len(self._found) + self._more

    def add(self, at: Loc, problem: str, hint: str = "") -> None:
        """Note one thing that is wrong at a place."""
        if len(self._found) < ERRORS_SHOWN:
            self._found.append((at, problem, hint))
        else:
            self._more += 1

    @property
    def has_enough(self) -> bool:
        """True when as many problems were noted as are shown. Further ones are only counted."""
        return len(self._found) >= ERRORS_SHOWN

    def add_untold(self) -> None:
        """Count one more problem, which will not be shown."""
        self._more += 1

    def note_misspelt(self, part: str) -> None:
        """Note every key of the document that may be a misspelling of this part, which is missing."""
        value = self._document.value
        keys = [str(key) for key in value] if isinstance(value, dict) else []
        for key in difflib.get_close_matches(part, keys, cutoff=0.8):
            self.add((key,), "unknown key", f"did you mean {part!r}?")

    def stop_if_any(self) -> None:
        """Raise all that was noted, in the order of the file."""
        if not self._found:
            return
        lines = self._lines()
        errors = [
            InvalidFile(file=self._document.file, line=_nearest(at, lines), path=path_text(at), problem=what, hint=hint)
            for at, what, hint in self._found
        ]
        raise InvalidDocument(tuple(sorted(errors, key=lambda error: error.line or 0)), more=self._more)

    def _lines(self) -> dict[Loc, int]:
        if not self._document.text:
            return {}
        if self._document.is_toml:
            from muster.formats.text.toml_text import lines_of_toml  # noqa: PLC0415 (as in `_toml`)

            return lines_of_toml(self._document.text)
        wanted = frozenset(at[:depth] for at, _, _ in self._found for depth in range(len(at) + 1))
        return lines_of(self._document.text, wanted)


def _nearest(at: Loc, lines: dict[Loc, int]) -> int | None:
    """The line of a place, or of what surrounds it if it was left out or came from an alias."""
    return next((lines[at[:depth]] for depth in range(len(at), -1, -1) if at[:depth] in lines), None)


def _standard_input() -> bytes:
    return sys.stdin.buffer.read(SCENARIO_FILE_BYTES + 1)


def _file_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(SCENARIO_FILE_BYTES + 1)
    except FileNotFoundError:
        _refuse(str(path), "there is no such file", hint="is the name right, and the folder you are in?")
    except IsADirectoryError:
        _refuse(str(path), "this is a folder", hint="name a file in it")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        _refuse(str(path), f"cannot be read: {reason}")


def _value(text: str, *, is_json: bool, values_max: int | None) -> object:
    """The value of a JSON or YAML text.

    JSON is read as JSON, which is faster. Other text is read as YAML, and so is JSON to find the lines of a repeated
    key.
    """
    if is_json or text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(
                text,
                object_pairs_hook=_no_key_twice,
                parse_int=_integer,
                parse_float=_decimal,
                parse_constant=_constant,
            )
        except _RepeatedKey as error:
            read_yaml(text, values_max=values_max)
            raise BadText(f"the key {error.args[0]!r} is given twice", hint="keep one") from None
        except RecursionError:
            raise BadText("nested too deeply") from None
        except json.JSONDecodeError as error:
            if is_json and text.strip():
                raise BadText(f"not JSON: {error.msg}", line=error.lineno) from None
    return read_yaml(text, values_max=values_max)


class _RepeatedKey(Exception):
    """A key occurs twice in one JSON object."""


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKey(next(key for key, count in counts.items() if count > 1))
    return entries


def _integer(text: str) -> int:
    if len(text) > INTEGER_DIGITS_MAX + 1:
        raise BadText(f"the number {text[:20]}… is too large")
    return int(text)


def _decimal(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadText(f"the number {text[:20]} is too large")
    return value


def _constant(text: str) -> NoReturn:
    raise BadText(f"{text} is not a number that means anything here")


def _refuse(file: str, problem: str, *, line: int | None = None, hint: str = "") -> NoReturn:
    raise InvalidDocument((InvalidFile(file=file, line=line, path="", problem=problem, hint=hint),))
