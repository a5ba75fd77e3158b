"""Records on nodes without msgspec: made of `plain_struct`, they behave as they do elsewhere."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import muster
from muster.model.plain_struct import Struct, asdict, replace
from muster.model.records import Record, defaults

SHOW_DEFAULTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from muster.model.records import Record, defaults
from muster.worker import messages
records = Record.__subclasses__()
print(json.dumps({kind.__name__: [[name, repr(each)] for name, each in defaults(kind)] for kind in records}))
"""


class Point(Struct):
    """A record."""

    x: int
    y: int = 2
    """With a default."""


class Mark(Point):
    """One that has a field more."""

    label: str = ""


def test_a_plain_record_has_its_fields_and_defaults() -> None:
    assert asdict(Mark(x=1, label="a")) == {"x": 1, "y": 2, "label": "a"}
    assert repr(Mark(x=1)) == "Mark(x=1, y=2, label='')"
    assert Mark.__struct_fields__ == ("x", "y", "label")


def test_plain_records_with_equal_fields_are_equal() -> None:
    assert Point(x=1) == Point(x=1, y=2) != Point(x=2)
    assert len({Point(x=1), Point(y=2, x=1), Point(x=1, y=3)}) == 2
    assert Point(x=1) != Mark(x=1)


def test_a_plain_record_is_not_changed_but_replaced() -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match="immutable"):
        point.x = 2
    with pytest.raises(AttributeError, match="immutable"):
        del point.x
    assert (replace(point, y=5), point.y) == (Point(x=1, y=5), 2)


@pytest.mark.parametrize(
    ("values", "said"),
    [({}, "Point needs x"), ({"x": 1, "z": 2}, "Point has no field z"), ({"y": 1, "z": 2}, "needs x")],
)
def test_a_plain_record_names_what_is_wrong(values: dict[str, object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Point(**values)


def test_all_records_have_the_same_fields_and_defaults_without_msgspec() -> None:
    import_module("muster.worker.messages")
    kinds = (kind for kind in Record.__subclasses__() if kind.__module__.startswith("muster."))  # tests have some, too
    known = {kind.__name__: [[name, repr(each)] for name, each in defaults(kind)] for kind in kinds}
    source = str(Path(muster.__file__).parents[1])
    bare = [sys.executable, "-S", "-E", "-P", "-c", SHOW_DEFAULTS, source]
    found = json.loads(subprocess.run(bare, check=True, capture_output=True, text=True).stdout)
    assert len(found) > 40
    assert {name: known[name] for name in found} == found
