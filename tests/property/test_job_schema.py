"""Whatever the generated schema of job files allows is read, key by key, and comes back from the document.

A key that is added to the declaration is tried here by itself.
"""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.api.schemas.job_file import job_file_schema
from muster.formats.jobs.job_document import job_document
from muster.formats.jobs.job_file import job_from_document
from muster.formats.text.document import Document, InvalidDocument

PROPERTIES: dict[str, Any] = job_file_schema()["properties"]
SMALLEST = {"name": "a", "run": "x"}
ABOUT_SEVERAL_KEYS = (
    "only one role may be elastic",
    "roles are too many",
    "too many workers in all",
    "something is at",
)
"""What no schema can say."""


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema allows: of the few keywords that ours are made of."""
    match schema:
        case {"oneOf": choices}:
            return st.one_of([values(each) for each in choices])
        case {"enum": words}:
            return st.sampled_from(words)
        case {"const": word}:
            return st.just(word)
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "integer"}:
            return st.integers(schema["minimum"], schema["maximum"])
        case {"type": "number"}:
            return _numbers(schema)
        case {"type": "array"}:
            return st.lists(values(schema["items"]), min_size=schema.get("minItems", 0), max_size=4)
        case {"type": "object"}:
            return _objects(schema)
        case {"pattern": _}:
            return _texts(schema)
        case _:
            raise AssertionError(f"the test does not know how to draw {schema}")


def _numbers(schema: dict[str, Any]) -> st.SearchStrategy[float]:
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    return st.floats(
        schema.get("minimum", above),
        schema.get("maximum", below),
        exclude_min=above is not None,
        exclude_max=below is not None,
    )


def _texts(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    drawn = st.from_regex(schema["pattern"].replace(r"\u0000", "\0").replace("$", r"\Z"), fullmatch=True)
    stored = drawn.filter(lambda text: text.encode("utf-8", "replace").decode() == text)
    return stored.filter(lambda text: schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 1000))


def _objects(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    if schema["additionalProperties"] is not False:
        names = values(schema["propertyNames"]) if "propertyNames" in schema else st.text("ab/ ü", max_size=5)
        return st.dictionaries(names, values(schema["additionalProperties"]), max_size=3)
    drawn = {name: values(each) for name, each in schema["properties"].items()}
    required = {name: drawn.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=drawn)


def _file(key: str, value: Any) -> dict[str, Any]:
    if key == "roles" and value:
        return {"name": "a", "roles": value}
    if key == "mounts":
        return {**SMALLEST, "image": "train:1", key: value}
    if key == "bundle":
        return {**SMALLEST, "workdir": ".", key: value}
    if key == "parallelism":
        gang = {"workers": value.get("pipeline", 1), "resources": {"gpus": value.get("tensor", 1)}}
        return {**SMALLEST, **gang, key: value}
    return {**SMALLEST, key: value}


def _complaints(refused: InvalidDocument) -> list[str]:
    """What is wrong with a file that a schema could have said."""
    return [str(each) for each in refused.errors if not any(said in str(each) for said in ABOUT_SEVERAL_KEYS)]


@pytest.mark.parametrize("key", PROPERTIES)
@settings(max_examples=25)
@given(data=st.data())
def test_what_fits_the_schema_is_read_and_comes_back(key: str, data: st.DataObject) -> None:
    file = _file(key, data.draw(values(PROPERTIES[key])))
    assert jsonschema_rs.is_valid(job_file_schema(), file)
    try:
        spec = job_from_document(Document(file="f", value=file))
    except InvalidDocument as refused:
        if _complaints(refused):
            raise
        return
    document = job_document(spec)
    assert document.keys() <= PROPERTIES.keys()
    assert job_from_document(Document(file="f", value=json.loads(json.dumps(document)))) == spec
