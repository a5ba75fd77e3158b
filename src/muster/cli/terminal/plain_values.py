"""Options and arguments whose words need no conversion.

typer converts every word with pydantic, and loading pydantic takes longer than most commands do. A word that already is
what the command wants, such as the id of a job, is taken as it is. Everything else, also every wrong value, goes the
usual way, so that messages stay those of typer.
"""

import os
import re
from enum import Enum
from pathlib import Path
from typing import Any

UNKNOWN = object()
"""Stands for a value that typer has to convert."""
_NUMBER = re.compile("[0-9]{1,9}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def take_plain_values(command: Any) -> None:
    """Let the parameters of a command take plain values as they are. Also `--help`, which typer adds later."""
    usual = command.get_params

    def parameters(ctx: Any) -> list[Any]:
        found: list[Any] = usual(ctx)
        for parameter in found:
            # A typer whose parameters have no descriptor converts words without pydantic.
            if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
                _take(parameter)
        return found

    command.get_params = parameters


def _take(parameter: Any) -> None:
    usual = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        plain = _plain(parameter, value)
        if plain is UNKNOWN or (parameter.required and parameter.value_is_missing(plain)):
            return usual(ctx, value)
        return plain if parameter.callback is None else parameter.callback(ctx, parameter, plain)

    parameter.process_value = process_value


def _plain(parameter: Any, value: Any) -> Any:
    """What the command gets for a value, or `UNKNOWN`."""
    described = parameter.type_descriptor
    is_repeated = parameter.multiple or parameter.nargs == -1
    if value is None:
        return () if is_repeated else None
    if described.parameter_info.parser is not None:
        return UNKNOWN
    if is_repeated:
        return list(value) if described.annotation == list[str] and _is_texts(value) else UNKNOWN
    return _plain_one(described.annotation, described.parameter_info, value)


def _plain_one(annotation: Any, bounds: Any, value: Any) -> Any:
    """The same for a parameter that is given once."""
    if annotation in (str, bool) and type(value) is annotation:
        return value
    if annotation is int:
        return _within(bounds, int(value)) if type(value) is int or _is(value, _NUMBER) else UNKNOWN
    if annotation is float:
        return _within(bounds, float(value)) if type(value) in (int, float) or _is(value, _DECIMAL) else UNKNOWN
    if annotation is Path and type(value) is str:
        return Path(value) if _may_be_any_path(bounds) and _is_readable_if_there(value) else UNKNOWN
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next((each for each in annotation if value in (each, each.value)), UNKNOWN)
    return UNKNOWN


def _is(value: Any, words: re.Pattern[str]) -> bool:
    return type(value) is str and words.fullmatch(value) is not None


def _within(bounds: Any, number: float) -> Any:
    is_too_small = bounds.min is not None and number < bounds.min
    return UNKNOWN if is_too_small or (bounds.max is not None and number > bounds.max) else number


def _may_be_any_path(bounds: Any) -> bool:
    """True for a parameter that asks for no more of a path than that it can be read, if anything is there."""
    asks = bounds.exists or bounds.writable or bounds.resolve_path or bounds.allow_dash or bounds.path_type
    return not asks and bounds.file_okay and bounds.dir_okay


def _is_readable_if_there(path: str) -> bool:
    return os.access(path, os.R_OK) or not os.path.exists(path)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(each) is str for each in value)
