"""The shape of the parts of a file, before their meaning is checked: the base of the pydantic models.

`read_part` checks one part and turns what pydantic finds into problems that a user can act on.
"""

import difflib
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from muster.formats.text.document import Problems
from muster.formats.text.units import BadValue, shown
from muster.formats.text.yaml_text import Loc

ID_CHARS = 200

T = TypeVar("T")


class Keyed(Protocol):
    """A class that knows the keys of a part of a file: a model, or a declaration."""

    @classmethod
    def known_keys(cls) -> Mapping[str, Any]:
        """The annotation of each key."""


class Wire(BaseModel):
    """A part of a file: no unknown keys, no silent conversions, and a key without a value counts as left out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_absent(cls, value: Any) -> Any:
        if not isinstance(value, dict) or None not in value.values():
            return value
        return {key: each for key, each in value.items() if each is not None or key not in cls.model_fields}

    @classmethod
    def known_keys(cls) -> Mapping[str, Any]:
        """The annotation of each key."""
        return {name: info.rebuild_annotation() for name, info in cls.model_fields.items()}


WireT = TypeVar("WireT", bound=Wire)


def read_part(model: type[WireT], value: object, problems: Problems, at: Loc) -> WireT | None:
    """The part as a wire model, or None after noting everything that is wrong with it."""
    return read_by(model.model_validate, model, value, problems, at)


def read_by(
    validate: Callable[[object], T], keyed: type[Keyed], value: object, problems: Problems, at: Loc
) -> T | None:
    """What a validator makes of a part with these keys, or None after noting everything that is wrong with it."""
    try:
        return validate(value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            if problems.has_enough:
                # Wording a problem costs far more than finding it, and no more problems are shown.
                problems.add_untold()
                continue
            problem, hint = _explained(detail, keyed)
            problems.add((*at, *detail["loc"]), problem, hint)
        return None


def closest(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """A hint: the nearest known word, else all known words. `otherwise` if there are none, or more than 30."""
    candidates = list(known)
    begun = [each for each in candidates if len(word) > 1 and each.startswith(word.lower())]
    near = begun or difflib.get_close_matches(word.lower(), candidates, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    if not candidates or len(candidates) > 30:
        return otherwise
    return f"known: {', '.join(candidates)}"


def _explained(detail: ErrorDetails, keyed: type[Keyed]) -> tuple[str, str]:
    """What pydantic found, in the user's words, with a hint."""
    kind, given, context = detail["type"], shown(detail["input"]), detail.get("ctx", {})
    match kind:
        case "value_error" if isinstance(context.get("error"), BadValue):
            return context["error"].problem, context["error"].hint
        case "missing":
            return "is required and was not given", ""
        case "extra_forbidden":
            return _unknown_key(detail, keyed)
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


def _unknown_key(detail: ErrorDetails, keyed: type[Keyed]) -> tuple[str, str]:
    *outer, key = detail["loc"]
    owner = _owner(keyed, tuple(outer))
    elsewhere: Mapping[str, str] = getattr(owner, "elsewhere", {})
    return "unknown key", elsewhere.get(str(key)) or closest(str(key), owner.known_keys() if owner else ())


def _owner(annotation: Any, at: Loc) -> type[Keyed] | None:
    """The class that has the keys at a place inside a part, found by following the annotations."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType, Annotated):
        found = (_owner(each, at) for each in get_args(annotation))
        return next((owner for owner in found if owner is not None), None)
    if origin in (list, dict, Mapping):
        return _owner(get_args(annotation)[-1], at[1:]) if at else None
    if not hasattr(annotation, "known_keys"):
        return None
    keyed: type[Keyed] = annotation
    if not at:
        return keyed
    known = keyed.known_keys()
    return _owner(known[str(at[0])], at[1:]) if str(at[0]) in known else None
