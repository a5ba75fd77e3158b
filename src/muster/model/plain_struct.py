"""What records are made of where msgspec is not installed: on nodes to which an agent has brought itself.

It behaves as a msgspec struct does, as far as records use that. No code is generated for a class, because an agent
starts anew for every attempt, and to generate it for a hundred records took longer than the rest of the model.
"""

from typing import Any, ClassVar, Final, TypeVar


class _NoDefault:
    def __repr__(self) -> str:
        return "NODEFAULT"


NODEFAULT: Final = _NoDefault()

_S = TypeVar("_S", bound="Struct")


class Struct:
    """A value with named fields that cannot be changed."""

    __struct_fields__: ClassVar[tuple[str, ...]] = ()
    __struct_defaults__: ClassVar[tuple[object, ...]] = ()
    __given: ClassVar[dict[str, object]] = {}
    """The fields that have a default, with it."""

    def __init_subclass__(cls, **_options: bool) -> None:
        """Note the fields. The options are those of msgspec, which all records share."""
        super().__init_subclass__()
        found = dict(zip(cls.__struct_fields__, cls.__struct_defaults__, strict=True))
        found.update((name, cls.__dict__.get(name, NODEFAULT)) for name in cls.__annotations__)
        cls.__struct_fields__, cls.__struct_defaults__ = tuple(found), tuple(found.values())
        cls.__given = {name: default for name, default in found.items() if default is not NODEFAULT}

    def __init__(self, **values: object) -> None:
        """Take every field by its name."""
        whole = {**self.__given, **values}
        if len(whole) != len(self.__struct_fields__) or any(name not in whole for name in self.__struct_fields__):
            self.__complain(whole)
        self.__dict__.update(whole)

    def __complain(self, whole: dict[str, object]) -> None:
        missing = [name for name in self.__struct_fields__ if name not in whole]
        unknown = [name for name in whole if name not in self.__struct_fields__]
        wrong = f"needs {', '.join(missing)}" if missing else f"has no field {', '.join(unknown)}"
        raise TypeError(f"{type(self).__name__} {wrong}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"immutable type: {type(self).__name__!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"immutable type: {type(self).__name__!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return (type(self), *(self.__dict__[name] for name in self.__struct_fields__)).__hash__()

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({inside})"


def replace(record: _S, **changes: object) -> _S:
    """The record with some fields changed."""
    return type(record)(**{**record.__dict__, **changes})


def asdict(record: Any) -> dict[str, Any]:
    """The fields by name, in their order."""
    return {name: record.__dict__[name] for name in record.__struct_fields__}
