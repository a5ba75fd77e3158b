"""All that an object holds, as plain values: what a property compares that says that nothing was written to it."""

from array import array
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any

from muster.model.records import Record

REMEMBERED = {
    ("JobClass", "_ids"): "the ids of `_names` as a tuple, made once",
    ("Capacity", "states"): "what fits into free states, and how much harm it does by the reference shapes of a plan",
    ("Ledger", "_chains"): "the teams above each team",
    ("Ledger", "_limits"): "the limits above each team",
    ("Ledger", "_shares"): "what demands use up of these",
    ("Snapshot", "emptied"): "what could be free if jobs left, kept for the next plan",
    ("Setting", "_filters"): "the nodes that jobs with equal wishes accept",
    ("Setting", "_tenancies"): "next to what jobs cannot be that the same reservations admit",
    ("_Curve", "_given_back"): "running sums of what jobs give back",
    ("TurnCandidates", "_bands"): "who may be told to leave at the time of the last question",
    ("TurnCandidates", "_gpu_milli"): "what these occupy",
    ("TurnCandidates", "_worst"): "the worst band that they were in",
    ("TurnCandidates", "_next"): "when they change next",
    ("TurnCandidates", "_now_ms"): "the time of the last question",
    ("_Course", "passed"): "how far a job has come by then",
}
"""What a reader may look up and keep: it follows from the rest, and makes no difference that could be seen."""


def held(thing: Any) -> object:
    """The contents of an object and of all that it leads to, without what is only remembered."""
    return _held(thing, {})


def _held(thing: Any, seen: dict[int, int]) -> object:
    match thing:
        case None | bool() | int() | str() | float() | bytes() | Enum() | Record():
            return thing
        case tuple() | list() | deque() | array():
            return [_held(each, seen) for each in thing]
        case Mapping():
            return [(_held(key, seen), _held(value, seen)) for key, value in thing.items()]
        case _:
            return f"number {seen[id(thing)]}" if id(thing) in seen else _opened(thing, seen)


def _opened(thing: Any, seen: dict[int, int]) -> object:
    seen[id(thing)] = len(seen)
    kind = type(thing).__name__
    names = _names(thing)
    assert names, f"nothing is known of what a {kind} holds"
    return (kind, [(name, _held(getattr(thing, name), seen)) for name in names if (kind, name) not in REMEMBERED])


def _names(thing: Any) -> list[str]:
    """What an object of a class of ours holds: plain, with slots, or compiled."""
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    names = getattr(type(thing), "__mypyc_attrs__", None) or [*slots, *getattr(thing, "__dict__", ())]
    return [name for name in names if hasattr(thing, name)]
