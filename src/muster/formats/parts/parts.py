"""A part of a file <-> a record of the model, by one declaration of its keys.

A subclass of `Part` lists its keys, each with its kind. From that follow how the part is read (`read`), how it is
written (`document`, or `complete` with its defaults) and its JSON Schema (`part_schema`):

    class TopologyWire(Part, record=TopologySpec):
        within: Name
        prefer: Name
        relax_after: Duration

A key is kept in the field with its name and the unit of its kind, or in the fields that `Stored` names. If a key is
left out or has no value, the default of the record holds, or the default declared here if the record has none. With
neither, a part, a list or a mapping is empty, and any other key has to be given. A value equal to its default is not
written. Mappings are kept as sorted pairs, mappings of named parts as records, and lists as tuples.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from inspect import get_annotations
from operator import attrgetter
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from muster.annotations import marks, unmarked, without_none
from muster.formats.parts.kinds import Kind
from muster.formats.parts.wire import read_by
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.records import REQUIRED, Record, defaults

Given = dict[str, Any]
"""The keys of a part that were given, with the values that their kinds made of them."""

Convert = Callable[[Any], Any]


class Stored(tuple[str, ...]):
    """The fields of its record in which a key is kept, if its name does not say it. Two fields take a pair.

    `Stored()` is for a key that the record does not keep: the code that reads the part looks at what was given.
    """

    __slots__ = ()

    def __new__(cls, *fields: str) -> "Stored":
        """Name the fields."""
        return super().__new__(cls, fields)


ALWAYS = "always"
"""In an annotation: the key is written even if its value is the default."""
ONCE = "once"
"""In an annotation: an entry that a list names twice counts once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a part, and where its value is kept."""

    name: str
    hint: Any
    stored: tuple[str, ...]
    default: object
    """What holds when the key is left out. `REQUIRED` when it has to be given."""
    is_always_written: bool
    made: Convert | None
    """What its kind read -> what the record keeps. None when that is the same."""
    written: Convert | None
    """What the record keeps -> what a file says. None when that is the same."""


class Part:
    """Base of all declarations. They have no instances: reading a part gives a record."""

    record: ClassVar[type[Record]] = Record
    keys: ClassVar[dict[str, Key]] = {}
    """All keys that may be given. Those of a part that this part extends come first."""
    required: ClassVar[tuple[str, ...]] = ()
    """Keys without which a job can be planned but not run."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Keys of other tools that people may write, each with what is written here instead."""
    _kept: ClassVar[dict[str, Key]] = {}
    """The keys whose values the record keeps, without the keys of a part that has another record."""
    _adapter: ClassVar[TypeAdapter[Any] | None] = None
    """What checks and reads the part, made when it is first read because that takes milliseconds."""
    _assumed: ClassVar[dict[str, object]]
    _making: ClassVar[dict[str, tuple[tuple[str, ...], Convert | None]]]
    _writing: ClassVar[tuple[tuple[str, Convert, object, Convert | None], ...]]

    def __init_subclass__(cls, *, record: type[Record], required: tuple[str, ...] = ()) -> None:
        """Work out once what is done with every key."""
        extended = cls._kept if issubclass(record, cls.record) else {}
        cls.record, cls.required, cls._adapter = record, required, None
        hints = get_type_hints(cls, include_extras=True)
        own = {name: _key(name, hints[name], cls) for name in get_annotations(cls)}
        cls.keys = {**cls.keys, **own}
        cls._kept = {**extended, **{name: key for name, key in own.items() if key.stored}}
        known = dict(defaults(record))
        cls._assumed = {}
        for key in cls._kept.values():
            if key.default is not REQUIRED and known[key.stored[0]] is REQUIRED:
                cls._assumed |= _spread(key, key.default)
        cls._making = {key.name: (key.stored, key.made) for key in cls._kept.values()}
        # A key that is always written is compared with `REQUIRED`, which no value equals.
        cls._writing = tuple(
            (key.name, attrgetter(*key.stored), REQUIRED if key.is_always_written else key.default, key.written)
            for key in cls._kept.values()
        )

    @classmethod
    def known_keys(cls) -> Mapping[str, Any]:
        """The annotation of each key."""
        return {key.name: key.hint for key in cls.keys.values()}

    @classmethod
    def fields(cls, given: Given) -> dict[str, Any]:
        """The fields to make the record of: what was given, and the defaults declared here."""
        found = cls._assumed.copy()
        making = cls._making
        for name, value in given.items():
            entry = making.get(name)
            if entry is None:
                continue  # A key that this record does not keep.
            stored, made = entry
            if len(stored) == 1:
                found[stored[0]] = value if made is None else made(value)
            else:
                found.update(zip(stored, value, strict=True))
        return found

    @classmethod
    def value(cls, given: Given) -> Any:
        """What reading the part gives."""
        return cls.record(**cls.fields(given))

    @classmethod
    def read(cls, value: object, problems: Problems, at: Loc) -> Any:
        """What reading the part gives, or None after noting everything that is wrong with it."""
        if cls._adapter is None:
            cls._adapter = TypeAdapter(cls)
        return read_by(cls._adapter.validate_python, cls, value, problems, at)

    @classmethod
    def document(cls, record: Any) -> dict[str, object]:
        """The part as a person would write it, in the order of the declaration."""
        found: dict[str, object] = {}
        for name, kept, default, written in cls._writing:
            value = kept(record)
            if value != default:
                found[name] = value if written is None else written(value)
        return found

    @classmethod
    def complete(cls, record: Any) -> dict[str, Any]:
        """The part with all keys that its record keeps. A key without a value is None."""
        found: dict[str, Any] = {}
        for name, kept, _, written in cls._writing:
            value = kept(record)
            found[name] = value if written is None or value is None else written(value)
        return found

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A mapping with no unknown keys and no silent conversions. A key without a value counts as left out."""
        hints = cls.known_keys()
        fields = {
            key.name: core_schema.typed_dict_field(handler.generate_schema(key.hint), required=key.default is REQUIRED)
            for key in cls.keys.values()
        }
        config = core_schema.CoreConfig(strict=True, extra_fields_behavior="forbid")
        mapping = core_schema.typed_dict_schema(fields, config=config)

        def without_empty(value: Any) -> Any:
            if not isinstance(value, dict) or None not in value.values():
                return value
            return {key: each for key, each in value.items() if each is not None or key not in hints}

        before = core_schema.no_info_before_validator_function(without_empty, mapping)
        return core_schema.no_info_after_validator_function(cls.value, before)


class NamedPart(Part, record=Record):
    """A part under a name in a mapping. Its record keeps the name, so the code that knows the name makes the record."""

    @classmethod
    def value(cls, given: Given) -> Given:
        """What was given, until the name is known."""
        return given

    @classmethod
    def named(cls, name: str, given: Given) -> Any:
        """The record of the part that stands under this name."""
        return cls.record(name=name, **cls.fields(given))


def _key(name: str, hint: Any, part: type[Part]) -> Key:
    kind = next((mark for mark in marks(hint) if isinstance(mark, Kind)), None)
    named = next((mark for mark in marks(hint) if isinstance(mark, Stored)), None)
    usual = f"{name}_{kind.unit}" if kind is not None and kind.unit else name
    stored = (usual,) if named is None else tuple(named)
    known = dict(defaults(part.record))
    missing = [field for field in stored if field not in known]
    if missing:
        raise TypeError(
            f"{part.__name__}.{name} would be kept in {part.record.__name__}.{missing[0]}, which is not there"
        )
    made, written = _conversions(hint)
    default = part.__dict__.get(name, known[stored[0]] if stored else REQUIRED)
    if default is REQUIRED:
        default = _nothing_in_it(unmarked(hint))
    return Key(
        name=name,
        hint=hint,
        stored=stored,
        default=default,
        is_always_written=ALWAYS in marks(hint),
        made=made,
        written=written,
    )


def _nothing_in_it(hint: Any) -> object:
    """What a part, a list or a mapping is when it is left out. Anything else has to be given."""
    if isinstance(hint, type) and issubclass(hint, Part):
        return hint.value({})
    return () if get_origin(hint) in (dict, list) else REQUIRED


def _spread(key: Key, value: Any) -> dict[str, object]:
    return {key.stored[0]: value} if len(key.stored) == 1 else dict(zip(key.stored, value, strict=True))


def _conversions(hint: Any) -> tuple[Convert | None, Convert | None]:
    """How a value that was read becomes what a record keeps, and how that is written. None if nothing changes."""
    bare = unmarked(hint)
    kind = next((mark for mark in marks(hint) if isinstance(mark, Kind)), None)
    if kind is not None:
        return None, kind.write
    if get_origin(bare) is dict:
        return _of_mapping(get_args(bare)[1])
    if get_origin(bare) is list:
        _, written = _conversions(get_args(bare)[0])
        return (_once if ONCE in marks(hint) else tuple), (list if written is None else _of_each(written))
    if isinstance(bare, type) and issubclass(bare, Part):
        return None, bare.document
    if isinstance(bare, type) and issubclass(bare, Enum):
        return None, _word
    return None, None


def _of_mapping(hint: Any) -> tuple[Convert, Convert]:
    if isinstance(hint, type) and issubclass(hint, NamedPart):
        return _of_named(hint)
    _, written = _conversions(without_none(hint))
    return _pairs, (dict if written is None else _of_pairs(written))


def _of_named(part: type[NamedPart]) -> tuple[Convert, Convert]:
    def made(given: dict[str, Given]) -> tuple[Any, ...]:
        return tuple(part.named(name, each) for name, each in given.items())

    def written(records: Iterable[Any]) -> dict[str, object]:
        return {record.name: part.document(record) for record in records}

    return made, written


def _of_each(written: Convert) -> Convert:
    return lambda values: [written(each) for each in values]


def _of_pairs(written: Convert) -> Convert:
    return lambda pairs: {key: written(each) for key, each in pairs}


def _pairs(mapping: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(mapping.items()))


def _once(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _word(value: Enum) -> Any:
    return value.value
