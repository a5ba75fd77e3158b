"""One declaration of a key is enough: from it follow reading, writing, the record and the schema."""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import TypeAdapter, ValidationError

from muster.api.schemas.job_file import job_file_schema
from muster.formats.jobs import job_document as writing
from muster.formats.jobs import job_file as reading
from muster.formats.jobs.job_wire import JobWire
from muster.formats.parts.kinds import Duration, Name, Text
from muster.formats.parts.parts import Given, NamedPart, Part, Stored
from muster.formats.parts.schema import part_schema
from muster.formats.parts.wire import read_by
from muster.formats.rules.rules import PolicyWire, PoolWire, TierWire
from muster.formats.rules.team_tree import TeamWire
from muster.formats.text.document import Document, Problems
from muster.model.records import Record, defaults
from muster.model.spec import JobSpec


class JobSpecWithFlavour(JobSpec, frozen=True, kw_only=True):
    """What a new field takes in `model/spec.py`: its line."""

    flavour: str = ""


class JobWireWithFlavour(JobWire, record=JobSpecWithFlavour, required=("name",)):
    """What a new field takes in `formats/jobs/job_wire.py`: its line."""

    flavour: Text
    """What it tastes of."""


@pytest.fixture
def with_flavour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "JobSpec", JobSpecWithFlavour)
    for module in (reading, writing):
        monkeypatch.setattr(module, "JobWire", JobWireWithFlavour)
    validated = TypeAdapter[Given](Annotated[Given, JobWireWithFlavour]).validate_python
    monkeypatch.setattr(reading, "_validated", validated)


@pytest.mark.usefixtures("with_flavour")
def test_an_invented_field_is_read_kept_written_and_described() -> None:
    value = {"name": "a", "run": "x", "flavour": "vanilla"}
    spec = reading.job_from_document(Document(file="f", value=value))
    assert isinstance(spec, JobSpecWithFlavour)
    assert spec.flavour == "vanilla"
    assert writing.job_document(spec) == {"name": "a", "workers": 1, "run": "x", "flavour": "vanilla"}
    assert part_schema(JobWireWithFlavour)["properties"]["flavour"] == {
        "type": "string",
        "maxLength": 1000,
        "pattern": r"^[^\u0000]*$",
        "description": "What it tastes of.",
    }


@pytest.mark.usefixtures("with_flavour")
def test_an_invented_field_has_the_default_of_its_record_and_the_errors_of_its_kind() -> None:
    spec = reading.job_from_document(Document(file="f", value={"name": "a", "run": "x", "flavour": None}))
    assert isinstance(spec, JobSpecWithFlavour)
    assert spec.flavour == ""
    assert "flavour" not in writing.job_document(spec)
    with pytest.raises(Exception, match=r"f: flavour: must be text, not 1\.5"):
        reading.job_from_document(Document(file="f", value={"name": "a", "run": "x", "flavour": 1.5}))
    with pytest.raises(Exception, match=r"flavor: unknown key \(did you mean 'flavour'\?\)"):
        reading.job_from_document(Document(file="f", value={"name": "a", "run": "x", "flavor": "x"}))


def _parts(part: type[Part]) -> Iterator[type[Part]]:
    yield part
    for hint in part.known_keys().values():
        yield from (inner for each in _types(hint) if issubclass(each, Part) for inner in _parts(each))


def _types(hint: Any) -> Iterator[type]:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if isinstance(hint, type):
        yield hint
    for argument in get_args(hint):
        yield from _types(argument)


@pytest.mark.parametrize("part", list(dict.fromkeys(_parts(JobWire))), ids=lambda part: part.__name__)
def test_every_field_of_a_record_is_a_key_of_the_file(part: type[Part]) -> None:
    kept = {field for key in part.keys.values() for field in key.stored}
    names = {"name"} if issubclass(part, NamedPart) else set()
    found_out = {"effects"} if part is JobWire else set()  # what admission rules did, which no file says
    assert {field for field, _ in defaults(part.record)} <= kept | names | found_out
    assert part.keys.keys() == part_schema(part)["properties"].keys()


@pytest.mark.parametrize("part", [PolicyWire, TierWire, PoolWire, TeamWire], ids=lambda part: part.__name__)
def test_every_field_of_what_an_operator_configures_is_a_key_of_the_file(part: type[Part]) -> None:
    kept = {field for key in part.keys.values() for field in key.stored}
    names = {"name", "path"} if issubclass(part, NamedPart) else set()
    assert {field for field, _ in defaults(part.record)} <= kept | names


class BranchWire(NamedPart, record=Record):
    """A branch of a tree."""

    below: Annotated[dict[str, Any], Stored()]


def test_a_key_that_the_record_does_not_keep_is_among_what_was_given() -> None:
    problems = Problems(Document(file="f", value={}))
    given = BranchWire.read({"below": {"twig": None}}, problems, ())
    assert given == {"below": {"twig": None}}
    assert BranchWire.fields(given) == BranchWire.complete(Record()) == {}
    assert BranchWire.read({"bellow": {}}, problems, ()) is None
    with pytest.raises(Exception, match=r"bellow: unknown key \(did you mean 'below'\?\)"):
        problems.stop_if_any()


def test_a_key_whose_record_has_no_such_field_is_found_out_at_once() -> None:
    with pytest.raises(TypeError, match=r"Lost\.flavour would be kept in JobSpec\.flavour, which is not there"):

        class Lost(Part, record=JobSpec):
            flavour: Text


class Preference(Record, frozen=True, kw_only=True):
    level: str | None = None
    relax_after_ms: int = 60_000
    size_min: int
    size_max: int
    weights: tuple[tuple[str, int], ...] = ()


class PreferenceWire(Part, record=Preference):
    """A preference."""

    level: Name
    relax_after: Duration
    size: Annotated[tuple[int, int], Stored("size_min", "size_max")] = (1, 1)
    weights: dict[Name, int]


read = TypeAdapter[Preference](Annotated[Preference, PreferenceWire]).validate_python


def test_what_is_left_out_or_empty_has_its_default_and_is_not_written() -> None:
    assert read({"level": None}) == Preference(size_min=1, size_max=1)
    assert PreferenceWire.document(Preference(size_min=1, size_max=1)) == {}


def test_a_complete_part_has_all_keys_and_none_where_there_is_no_value() -> None:
    found = PreferenceWire.complete(Preference(size_min=1, size_max=1))
    assert found == {"level": None, "relax_after": "1m", "size": (1, 1), "weights": {}}


def test_units_pairs_and_mappings_come_back() -> None:
    preference = read({"relax_after": "90s", "size": (2, 4), "weights": {"b": 1, "a": 2}})
    assert preference == Preference(relax_after_ms=90_000, size_min=2, size_max=4, weights=(("a", 2), ("b", 1)))
    assert PreferenceWire.document(preference) == {"relax_after": "90s", "size": (2, 4), "weights": {"a": 2, "b": 1}}


class Mount(Record, frozen=True, kw_only=True):
    source: str
    target: str = "/"


class MountWire(Part, record=Mount):
    """A folder of the node."""

    source: Text
    target: Text


class Mounts(Record, frozen=True, kw_only=True):
    mounts: tuple[Mount, ...]


class MountsWire(Part, record=Mounts):
    """Folders of the node."""

    mounts: list[MountWire]


def test_parts_stand_in_lists_and_what_neither_side_has_a_default_for_has_to_be_given() -> None:
    read_mounts = TypeAdapter[Mounts](Annotated[Mounts, MountsWire]).validate_python
    assert read_mounts({}) == Mounts(mounts=())
    found = read_mounts({"mounts": [{"source": "/data"}, {"source": "/x", "target": "/y"}]})
    assert found == Mounts(mounts=(Mount(source="/data"), Mount(source="/x", target="/y")))
    assert MountsWire.document(found) == {"mounts": [{"source": "/data"}, {"source": "/x", "target": "/y"}]}
    assert part_schema(MountsWire)["properties"]["mounts"]["items"]["required"] == ["source"]
    problems = Problems(Document(file="f", value={}))
    assert read_by(read_mounts, MountsWire, {"mounts": [{"target": "/"}, {"sorce": 1}]}, problems, ()) is None
    with pytest.raises(Exception, match=r"mounts\[0\]\.source: is required[\s\S]*mounts\[1\]\.sorce: unknown key"):
        problems.stop_if_any()


def test_unknown_keys_and_quiet_conversions_are_refused() -> None:
    wrong: tuple[object, ...] = ({"levl": "rack"}, {"weights": {"a": "1"}}, {"weights": {"a": True}}, [], "rack")
    for value in wrong:
        with pytest.raises(ValidationError):
            read(value)


def test_the_schema_says_what_a_key_is_for() -> None:
    schema = job_file_schema()
    assert schema["properties"]["priority"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 100,
        "description": "Inside its tier; higher goes first.",
    }
    assert schema["required"] == ["name"]
    assert schema["properties"]["roles"]["additionalProperties"]["required"] == ["run"]
    assert schema["properties"]["checkpoint"]["required"] == ["path"]
