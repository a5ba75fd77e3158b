"""What the parts of a file look like, before they mean anything: the base of the pydantic models and their field types.

`read_part` checks one part and turns whatever pydantic finds into problems that a user can act on.
"""

import difflib
import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, model_validator
from pydantic_core import ErrorDetails

from muster.formats import ranges, units
from muster.formats.document import Problems
from muster.formats.units import BadValue, shown
from muster.formats.yaml_text import Loc

TEXT_CHARS = 1 << 20
"""A command line or script; Linux passes no longer ones to a process."""
ID_CHARS = 200
TEAM_HINT = "such as nlp/pretraining; each name begins with a letter or a digit"


class Wire(BaseModel):
    """A part of a file: no unknown keys, no quiet conversions, and a key without a value counts as left out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_absent(cls, value: Any) -> Any:
        if not isinstance(value, dict) or None not in value.values():
            return value
        return {key: each for key, each in value.items() if each is not None or key not in cls.model_fields}


WireT = TypeVar("WireT", bound=Wire)


def read_part(model: type[WireT], value: object, problems: Problems, at: Loc) -> WireT | None:
    """The part as a wire model, or None after noting everything that is wrong with it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            if problems.has_enough:
                # Finding the words costs far more than finding the mistake, and nobody would read them.
                problems.add_untold()
                continue
            problem, hint = _explained(detail, model)
            problems.add((*at, *detail["loc"]), problem, hint)
        return None


def closest(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """A hint that names the known word nearest to the given one, or all of them when none is near."""
    candidates = list(known)
    begun = [each for each in candidates if len(word) > 1 and each.startswith(word.lower())]
    near = begun or difflib.get_close_matches(word.lower(), candidates, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    if not candidates or len(candidates) > 30:
        return otherwise
    return f"known: {', '.join(candidates)}"


def text(value: object) -> str:
    """Text as it stands; a whole number is taken for its digits."""
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


Text = Annotated[str, PlainValidator(text)]
Command = Annotated[str, PlainValidator(command)]
Name = Annotated[str, PlainValidator(name)]
Names = Annotated[tuple[str, ...], PlainValidator(names)]
Id = Annotated[str, PlainValidator(job_id)]
TeamPathText = Annotated[str, PlainValidator(team_path)]
Duration = Annotated[int, PlainValidator(units.duration_ms)]
PositiveDuration = Annotated[int, PlainValidator(positive_duration_ms)]
Time = Annotated[int, PlainValidator(units.time_ms)]
Memory = Annotated[int, PlainValidator(units.memory_bytes)]
Gpus = Annotated[int, PlainValidator(units.gpu_milli)]
Cpus = Annotated[int, PlainValidator(units.cpu_milli)]
Thousandths = Annotated[int, PlainValidator(units.milli)]
PositiveThousandths = Annotated[int, PlainValidator(positive_milli)]
Workers = Annotated[tuple[int, int], PlainValidator(ranges.worker_range)]


def _explained(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """What pydantic found, in the user's words, with a hint."""
    kind, given, context = detail["type"], shown(detail["input"]), detail.get("ctx", {})
    match kind:
        case "value_error" if isinstance(context.get("error"), BadValue):
            return context["error"].problem, context["error"].hint
        case "missing":
            return "is required and was not given", ""
        case "extra_forbidden":
            return _unknown_key(detail, model)
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"must be a mapping of keys to values, not {given}", ""
        case "list_type":
            return f"must be a list, not {given}", ""
        case "bool_type":
            return f"must be true or false, not {given}", ""
        case "int_type" | "int_from_float":
            return f"must be a whole number, not {given}", ""
        case "enum" | "literal_error":
            known = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
            return f"must be one of {', '.join(known)}, not {given}", closest(str(detail["input"]), known)
        case "greater_than_equal" | "less_than_equal" | "greater_than" | "less_than":
            return f"{detail['msg'].replace('Input should', 'must')}, not {given}", ""
        case _:
            return f"{detail['msg']}, not {given}", ""


def _unknown_key(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    *outer, key = detail["loc"]
    owner = _model_at(model, tuple(outer))
    return "unknown key", closest(str(key), owner.model_fields if owner else ())


def _model_at(annotation: Any, at: Loc) -> type[BaseModel] | None:
    """The model that a place inside another model belongs to, found by following the annotations."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        found = (_model_at(each, at) for each in get_args(annotation))
        return next((model for model in found if model is not None), None)
    if origin in (list, dict, Mapping):
        return _model_at(get_args(annotation)[-1], at[1:]) if at else None
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return None
    if not at:
        return annotation
    entry = annotation.model_fields.get(str(at[0]))
    return None if entry is None else _model_at(entry.annotation, at[1:])
