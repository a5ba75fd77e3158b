"""The kinds of values in files: how each is read, how it is written back, and what JSON Schema says of it.

A kind stands in the annotation of a key, as in `max_duration: RunLimit`, and everything that is done with the key
follows from it. A kind that cannot read a value raises `BadValue`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from muster.formats.parts.wire import ID_CHARS
from muster.formats.text import ranges, units
from muster.formats.text.units import BadValue, shown
from muster.model.limits import GANG_WORKERS, GPUS_PER_NODE

TEXT_CHARS = 1 << 20
"""The longest command line or script. Linux does not pass a longer one to a process."""
TEAM_HINT = "such as nlp/pretraining; each name begins with a letter or a digit"

JsonSchema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """How a plain value from YAML or JSON becomes a value of the model, and back."""

    read: Callable[[object], Any]
    write: Callable[[Any], object] | None = None
    """None when the model keeps the value as it is written."""
    unit: str = ""
    """What the name of the field in the model ends in: `max_duration` is kept as `max_duration_ms`."""
    schema: JsonSchema = field(default_factory=dict)
    """The common spelling. Reading accepts more."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validation is reading."""
        return core_schema.no_info_plain_validator_function(self.read)


class Spelling:
    """In an annotation: what JSON Schema says of a key besides what follows from its kind."""

    def __init__(self, **facts: Any) -> None:
        """Facts are keywords of JSON Schema."""
        self.facts = facts


def text(value: object) -> str:
    """Text as it is. A whole number becomes its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        hint = "put quotes round it" if isinstance(value, bool | float) else ""
        raise BadValue(f"must be text, not {shown(value)}", hint)
    if len(value) > TEXT_CHARS or "\0" in value:
        raise BadValue("is too long" if len(value) > TEXT_CHARS else "contains a NUL character")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise BadValue("contains half a character", "a surrogate without its other half cannot be stored or run")
    return value


def command(value: object) -> str:
    """What a shell is to run. `true` and `false` are commands too."""
    return shown(value) if isinstance(value, bool) else text(value)


def name(value: object) -> str:
    """The name of a domain, a pool, a tier, a GPU type."""
    word = text(value)
    if not ranges.is_name(word):
        raise BadValue(f"{shown(word)} is not a name", "no blanks, commas, slashes or brackets")
    return word


def names(value: object) -> tuple[str, ...]:
    """One name or a list of names, each once."""
    return tuple(dict.fromkeys(name(each) for each in (value if isinstance(value, list) else [value])))


def job_id(value: object) -> str:
    """The id of a job."""
    word = text(value)
    if not word or len(word) > ID_CHARS or not word.isprintable() or " " in word:
        raise BadValue(f"{shown(word)} is not an id", f"1 to {ID_CHARS} characters without blanks")
    return word


def team_path(value: object) -> str:
    """The path of a team, such as `nlp/pretraining`."""
    path = text(value)
    if not all(ranges.is_team_name(part) for part in path.split("/")):
        raise BadValue(f"{shown(path)} is not the path of a team", TEAM_HINT)
    return path


def positive_duration_ms(value: object) -> int:
    """A length of time above zero."""
    duration = units.duration_ms(value)
    if duration < 1:
        raise BadValue(f"must be longer than zero, not {shown(value)}")
    return duration


def positive_milli(value: object) -> int:
    """Thousandths of a plain number above zero."""
    thousandths = units.milli(value)
    if thousandths < 1:
        raise BadValue(f"must be above zero, not {shown(value)}")
    return thousandths


def whole(lowest: int, highest: int) -> JsonSchema:
    """The schema of a whole number between two bounds."""
    return {"type": "integer", "minimum": lowest, "maximum": highest}


NO_NUL = r"^[^\u0000]*$"
TEXT_SCHEMA: JsonSchema = {"type": "string", "maxLength": 1000, "pattern": NO_NUL}
NAME_SCHEMA: JsonSchema = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_-]{0,30}$"}
DURATION_SCHEMA: JsonSchema = {
    "description": "Such as 90s, 30m, 12h or 7d, or a number of seconds.",
    "oneOf": [{"type": "string", "pattern": "^[1-9][0-9]{0,2}[smh]$"}, whole(1, 1_000_000)],
    "examples": ["12h"],
}
SIZE_SCHEMA: JsonSchema = {
    "description": "Such as 512GiB, or a number of bytes.",
    "oneOf": [{"type": "string", "pattern": "^[1-9][0-9]{0,2}(KiB|MiB|GiB|KB|MB|GB)$"}, whole(0, 2**40)],
    "examples": ["512GiB"],
}
GPUS_SCHEMA: JsonSchema = {
    "description": "Whole GPUs, or a share of one.",
    "oneOf": [whole(1, GPUS_PER_NODE), {"type": "number", "exclusiveMinimum": 0.001, "exclusiveMaximum": 1}],
}
WORKERS_SCHEMA: JsonSchema = {
    "description": "How many, or from `4..16` for an elastic job.",
    "oneOf": [whole(1, GANG_WORKERS), {"type": "string", "pattern": r"^[1-9]\.\.[1-9][0-9]{1,2}$"}],
    "examples": [2, "4..16"],
}
TEAM_SCHEMA: JsonSchema = {
    "type": "string",
    "pattern": "^[a-z]{1,9}(/[a-z]{1,9}){0,2}$",
    "examples": ["nlp/pretraining"],
}

Text = Annotated[str, Kind(read=text, schema=TEXT_SCHEMA)]
Command = Annotated[str, Kind(read=command, schema=TEXT_SCHEMA)]
Name = Annotated[str, Kind(read=name, schema=NAME_SCHEMA)]
Names = Annotated[
    tuple[str, ...],
    Kind(
        read=names,
        write=list,
        schema={"oneOf": [NAME_SCHEMA, {"type": "array", "items": NAME_SCHEMA, "minItems": 1, "maxItems": 8}]},
    ),
]
Id = Annotated[str, Kind(read=job_id)]
TeamPathText = Annotated[str, Kind(read=team_path, schema=TEAM_SCHEMA)]
Duration = Annotated[int, Kind(read=units.duration_ms, write=units.duration_text, unit="ms", schema=DURATION_SCHEMA)]
PositiveDuration = Annotated[
    int, Kind(read=positive_duration_ms, write=units.duration_text, unit="ms", schema=DURATION_SCHEMA)
]
Time = Annotated[int, Kind(read=units.time_ms, write=units.time_text, unit="ms")]
Memory = Annotated[int, Kind(read=units.memory_bytes, write=units.memory_value, unit="bytes", schema=SIZE_SCHEMA)]
Gpus = Annotated[int, Kind(read=units.gpu_milli, write=units.plain_number, unit="milli", schema=GPUS_SCHEMA)]
Cpus = Annotated[
    int,
    Kind(
        read=units.cpu_milli,
        write=units.plain_number,
        unit="milli",
        schema={"type": "number", "minimum": 0, "maximum": 1024},
    ),
]
Thousandths = Annotated[int, Kind(read=units.milli, write=units.plain_number, unit="milli")]
PositiveThousandths = Annotated[
    int,
    Kind(
        read=positive_milli,
        write=units.plain_number,
        unit="milli",
        schema={"type": "number", "minimum": 0.01, "maximum": 1000},
    ),
]
Workers = Annotated[
    tuple[int, int],
    Kind(read=ranges.worker_range, write=lambda size: ranges.worker_range_value(*size), schema=WORKERS_SCHEMA),
]
