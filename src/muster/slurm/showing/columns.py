"""Field formats as users write them, and the tables that follow from them.

%.18i %.9P|%j          squeue and sinfo -o: a letter each, text between them
JobID:.10,Name:20      squeue and sinfo -O: names
JobID%20,State%-12     sacct, sacctmgr and sshare: names
"""

import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from muster.slurm.options import SlurmError

RowT = TypeVar("RowT")

WIDE_DEFAULT = 20
"""The width of a field of `-O` that gives none."""

_LETTER = re.compile(r"%(#?)(\.?)(\d*)([a-zA-Z])")
_WIDE = re.compile(r"([A-Za-z_-]+)(?::(\.?)(\d*)(.*))?")
_NAMED = re.compile(r"([A-Za-z_/-]+)(?:%(-?)(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Generic[RowT]):
    """One field: what it is called and its value."""

    name: str
    """As sacct writes it. Names are the same in any case."""
    value: Callable[[RowT], object]
    title: str = ""
    """The header of squeue and sinfo; the name in capitals when it is empty."""
    width: int = 10
    """The width that sacct gives it."""

    @property
    def header(self) -> str:
        """The header of squeue and sinfo."""
        return self.title or self.name.upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[RowT]):
    """A field in a table."""

    field: Field[RowT]
    title: str
    before: str = ""
    """The text between it and the column before it."""
    width: int = 0
    """0 for as wide as each value is."""
    is_right: bool = False
    is_fitted: bool = False
    """True when the column is as wide as its longest value."""
    mark: str = ""
    """Stands for what was cut off."""

    def cell(self, text: str) -> str:
        """A text in this column: padded, and cut."""
        if not self.width:
            return text
        if len(text) > self.width:
            return text[: self.width - len(self.mark)] + self.mark
        return text.rjust(self.width) if self.is_right else text.ljust(self.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout(Generic[RowT]):
    """A whole line: its columns and what follows the last."""

    columns: tuple[Column[RowT], ...]
    after: str = ""

    def lines(self, rows: Iterable[RowT], *, header: bool = True) -> list[str]:
        """The table."""
        texts = [[str(column.field.value(row)) for column in self.columns] for row in rows]
        columns = [_fitted(column, [line[at] for line in texts]) for at, column in enumerate(self.columns)]
        shown = [[column.title for column in columns], *texts] if header else texts
        return [
            "".join(column.before + column.cell(text) for column, text in zip(columns, line, strict=True)) + self.after
            for line in shown
        ]


def _fitted(column: Column[RowT], values: Sequence[str]) -> Column[RowT]:
    if not column.is_fitted:
        return column
    return replace(column, width=max([len(column.title), *map(len, values)]))


Fields = Mapping[str, Field[RowT]]


def catalog(fields: Iterable[Field[RowT]]) -> dict[str, Field[RowT]]:
    """Fields by their names in small letters."""
    return {field.name.lower(): field for field in fields}


def by_letters(text: str, letters: Mapping[str, str], fields: Fields[RowT], command: str) -> TableLayout[RowT]:
    """The columns of a format with letters."""
    columns: list[Column[RowT]] = []
    end = 0
    for match in _LETTER.finditer(text):
        fits, right, width, letter = match.groups()
        if letter not in letters:
            raise SlurmError(f'{command}: error: Invalid job format specification: "{letter}"')
        name, _, title = letters[letter].partition(" ")
        field = fields[name.lower()]
        columns.append(
            Column(
                field=field,
                title=title or field.header,
                before=text[end : match.start()],
                width=int(width or 0),
                is_right=bool(right),
                is_fitted=bool(fits),
            )
        )
        end = match.end()
    return TableLayout(columns=tuple(columns), after=text[end:])


def by_wide_names(text: str, fields: Fields[RowT], command: str) -> TableLayout[RowT]:
    """The columns of a format with names and colons."""
    columns: list[Column[RowT]] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = _WIDE.fullmatch(part)
        if match is None or match[1].lower() not in fields:
            raise SlurmError(f'{command}: error: Invalid job format specification: "{part}"')
        field = fields[match[1].lower()]
        width = int(match[3] or WIDE_DEFAULT)
        columns.append(Column(field=field, title=field.header, width=width, is_right=bool(match[2])))
    return TableLayout(columns=tuple(columns))


def by_names(text: str, fields: Fields[RowT], command: str) -> tuple[Column[RowT], ...]:
    """The columns of a format of sacct."""
    columns: list[Column[RowT]] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = _NAMED.fullmatch(part)
        if match is None or match[1].lower() not in fields:
            raise SlurmError(f'{command}: error: Invalid field requested: "{part.partition("%")[0]}"')
        field = fields[match[1].lower()]
        is_right = not match[2] and field.name != "JobID"
        width = int(match[3] or field.width)
        columns.append(Column(field=field, title=field.name, width=width, is_right=is_right, mark="+"))
    return tuple(columns)


def named_lines(text: str, fields: Fields[RowT], rows: Iterable[RowT], given: Namespace, command: str) -> list[str]:
    """The table that the options of sacct, sacctmgr and sshare ask for."""
    columns = by_names(text, fields, command)
    if given.parsable or given.parsable2:
        delimiter = getattr(given, "delimiter", "|")
        return parsable_lines(columns, rows, header=not given.noheader, delimiter=delimiter, ends=not given.parsable2)
    return table_lines(columns, rows, header=not given.noheader)


def table_lines(columns: Sequence[Column[RowT]], rows: Iterable[RowT], *, header: bool) -> list[str]:
    """A table as sacct prints it: a rule below the header, and a space after each column."""
    lines = ["".join(f"{column.cell(column.title)} " for column in columns)] if header else []
    lines += ["".join(f"{'-' * column.width} " for column in columns)] if header else []
    return lines + ["".join(f"{column.cell(str(column.field.value(row)))} " for column in columns) for row in rows]


def parsable_lines(
    columns: Sequence[Column[RowT]], rows: Iterable[RowT], *, header: bool, delimiter: str, ends: bool
) -> list[str]:
    """The same for programs: values with a delimiter between them, and with `ends` also after the last."""
    texts = [[column.title for column in columns]] if header else []
    texts += [[str(column.field.value(row)) for column in columns] for row in rows]
    return [delimiter.join(line) + (delimiter if ends else "") for line in texts]
