"""YAML text -> plain values, without the traps of YAML 1.1 and within bounds.

Only what JSON could say comes out: mappings with text keys, lists, text, whole numbers, decimals, true, false, null.
So `on` stays a key, `12:30`, `2026-01-01` and `0x1F` stay text, and so does `007`. Anchors, aliases and merge keys
work. What they add is counted, so that a few lines cannot unfold into gigabytes. All tags are refused except those for
text, lists and mappings.
"""

import re
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field

import yaml

Loc = tuple[str | int, ...]
"""A place in a document: keys of mappings and places in lists, outermost first."""

DEPTH_MAX = 64
"""Deeper than any real file. Keeps code that walks a document from overflowing the stack."""
ALIASED_VALUES_MAX = 2_000_000
"""How many values aliases may add: enough for a template in each of ten thousand jobs, too few for a bomb."""
INTEGER_DIGITS_MAX = 18

_INTEGER = re.compile(rf"-?(?:0|[1-9][0-9]{{0,{INTEGER_DIGITS_MAX - 1}}})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,17})?(?:\.[0-9]{1,18})?(?:[eE][-+]?[0-9]{1,2})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MERGE = "<<"
_TEXT_TAG = "tag:yaml.org,2002:str"
_HARMLESS_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class BadText(ValueError):
    """The text is not a document that can be read. `line` is where that shows."""

    def __init__(self, problem: str, *, line: int | None = None, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.hint = hint


def path_text(at: Loc) -> str:
    """A place as people write it: `waiting[3].job.resources.gpus`."""
    text = ""
    for step in at:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            shown = step if step.isprintable() else ascii(step)
            text += f".{shown}" if text else shown
    return text


def read_yaml(text: str, *, values_max: int | None = None) -> object:
    """The one document in the text as plain values. More than `values_max` parser events are refused."""
    return _Builder(wanted=frozenset(), values_max=values_max).build(text)


def lines_of(text: str, wanted: Set[Loc]) -> dict[Loc, int]:
    """The lines of the wanted places. A place that cannot be found is left out.

    To read a wrong file again costs less than to keep a line for each value of a large file that is right.
    """
    builder = _Builder(wanted=wanted)
    # JSON may be indented with tabs, which not every YAML parser takes, and may use escapes that YAML does not know.
    # The lines found before such an error still help.
    with suppress(BadText):
        builder.build(text.replace("\t", " "))
    return builder.lines


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is being filled."""

    value: dict[str, object] | list[object]
    anchor: str | None
    values: int = 1
    """How many values it holds at any depth, for counting what an alias adds."""
    key: str | None = None
    key_line: int = 0
    key_lines: dict[str, int] = field(default_factory=dict)
    merged: list[dict[str, object]] = field(default_factory=list)


class _Builder:
    """Turns the events of the parser into values, without recursion."""

    def __init__(self, *, wanted: Set[Loc], values_max: int | None = None) -> None:
        self._values_max = values_max
        self._values = 0
        self.lines: dict[Loc, int] = {}
        self._wanted = wanted
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[object, int]] = {}
        self._aliased = 0
        self._root: list[object] = []

    def build(self, text: str) -> object:
        for event in _events(text):
            self._values += 1
            if self._values_max is not None and self._values > self._values_max:
                problem = f"holds more than {self._values_max} values"
                raise BadText(problem, line=_line(event), hint="is this the right file?")
            match event:
                case yaml.ScalarEvent():
                    self._scalar(event)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._open(event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._close()
                case yaml.AliasEvent():
                    self._alias(event)
                case yaml.DocumentStartEvent() if self._root:
                    raise BadText("a second document begins here", line=_line(event), hint="one document to a file")
        return self._root[0] if self._root else None

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        text = event.value
        plain = event.implicit[0]
        if not plain and event.tag not in (*_HARMLESS_TAGS, _TEXT_TAG):
            raise _tag_refused(event)
        frame = self._frames[-1] if self._frames else None
        is_key = frame is not None and isinstance(frame.value, dict) and frame.key is None
        value = resolved(text) if plain and not is_key else text
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        if frame is not None and is_key:
            self._begin_entry(frame, text, _line(event))
            return
        self._note_line(_line(event))
        self._put(value, 1)

    def _begin_entry(self, frame: _Frame, key: str, line: int) -> None:
        before = frame.key_lines.get(key)
        if before is not None and key != _MERGE:
            raise BadText(f"the key {key!r} is given twice, on lines {before} and {line}", line=line, hint="keep one")
        frame.key_lines[key] = line
        frame.key = key
        frame.key_line = line

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if event.tag not in _HARMLESS_TAGS:
            raise _tag_refused(event)
        if len(self._frames) >= DEPTH_MAX:
            raise BadText(f"more than {DEPTH_MAX} levels deep", line=_line(event))
        self._refuse_as_key(event)
        self._note_line(_line(event))
        empty: dict[str, object] | list[object] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._frames.append(_Frame(value=empty, anchor=event.anchor))

    def _close(self) -> None:
        frame = self._frames.pop()
        if frame.merged and isinstance(frame.value, dict):
            merged = {key: value for base in reversed(frame.merged) for key, value in base.items()}
            frame.value = {**merged, **frame.value}
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.value, frame.values)
        self._put(frame.value, frame.values)

    def _alias(self, event: yaml.AliasEvent) -> None:
        name = event.anchor or ""
        found = self._anchors.get(name)
        if found is None:
            raise BadText(f"*{name} refers to nothing before it", line=_line(event), hint=f"define &{name} first")
        self._refuse_as_key(event)
        value, values = found
        self._aliased += values
        if self._aliased > ALIASED_VALUES_MAX:
            problem = f"aliases unfold into more than {ALIASED_VALUES_MAX} values"
            raise BadText(problem, line=_line(event), hint="write it out, or make the anchored part smaller")
        self._note_line(_line(event))
        self._put(value, values)

    def _refuse_as_key(self, event: yaml.Event) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            raise BadText("a key must be plain text", line=_line(event))

    def _put(self, value: object, values: int) -> None:
        if not self._frames:
            self._root.append(value)
            return
        frame = self._frames[-1]
        frame.values += values
        if isinstance(frame.value, list):
            frame.value.append(value)
            return
        key, frame.key = frame.key, None
        if key == _MERGE:
            frame.merged.extend(_merge_bases(value, line=frame.key_line))
        elif key is not None:
            frame.value[key] = value

    def _note_line(self, line: int) -> None:
        if not self._wanted:
            return
        place = tuple(len(each.value) if isinstance(each.value, list) else str(each.key) for each in self._frames)
        if place in self._wanted:
            innermost = self._frames[-1] if self._frames else None
            # The line of an entry is that of its key, because its value may begin further down.
            at_key = innermost is not None and isinstance(innermost.value, dict)
            self.lines[place] = innermost.key_line if innermost is not None and at_key else line


def resolved(text: str) -> object:
    """What an unquoted word means."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-.0123456789":
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text) and any(digit in "0123456789" for digit in text):
            return float(text)
    return text


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(filter(None, (error.problem, error.context))) or "not YAML"
        # The parser counts the end of the text as a line of its own. People do not.
        line = None if mark is None else min(mark.line + 1, text.count("\n") + 1)
        if tabbed := _tabbed(text, line):
            hint = "YAML is indented with blanks: replace the tab"
            raise BadText("the line is indented with a tab", line=tabbed, hint=hint) from None
        raise BadText(f"not YAML: {problem}", line=line) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise BadText(f"not YAML: {' '.join(str(error).split())}") from None


def _tabbed(text: str, line: int | None) -> int | None:
    """The line that is indented with a tab, if that may be why the parser stopped at a line."""
    lines = ["", *text.splitlines()]
    near = () if line is None else (number for number in (line - 1, line) if 0 < number < len(lines))
    return next((number for number in near if "\t" in _indentation(lines[number])), None)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _merge_bases(value: object, *, line: int) -> list[dict[str, object]]:
    """The mappings that `<<` brings in. The first of several wins."""
    bases = value if isinstance(value, list) else [value]
    if not all(isinstance(base, dict) for base in bases):
        raise BadText("<< must name a mapping or a list of mappings", line=line)
    return [base for base in bases if isinstance(base, dict)]


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1


def _tag_refused(event: yaml.ScalarEvent | yaml.MappingStartEvent | yaml.SequenceStartEvent) -> BadText:
    return BadText(f"the tag {event.tag!r} is not allowed", line=_line(event), hint="plain values only")
