"""The OpenAPI document is complete: names, errors, descriptions, security, and job files that it describes are read."""

import asyncio
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from muster.api.__main__ import document as printed
from muster.api.schemas.job_file import job_file_schema
from muster.formats.jobs.job_file import job_from_document
from muster.formats.text.document import Document
from tests.api.world import a_world, job_file


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        async with world.client(None) as client:
            return dict((await client.get("/openapi.json")).json())

    with a_world(starts=False) as world:
        return asyncio.run(read())


def _operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]


def test_every_operation_has_a_name_a_tag_a_summary_and_a_description(document: dict[str, Any]) -> None:
    for name, operation in _operations(document):
        assert {"operationId", "tags", "summary", "description"} <= operation.keys(), name
    names = [operation["operationId"] for _, operation in _operations(document)]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in document["tags"]}
    assert {tag for _, operation in _operations(document) for tag in operation["tags"]} == tags


def test_the_dashboard_is_built_with_this_document() -> None:
    kept = (Path(__file__).parents[2] / "web" / "openapi.json").read_text("utf-8")
    assert kept == printed(), "`python -m muster.api > web/openapi.json` writes it anew; then `make web`"


def test_every_error_is_a_problem_document_and_every_guarded_operation_says_401(
    document: dict[str, Any],
) -> None:
    for name, operation in _operations(document):
        for status, answer in operation["responses"].items():
            if int(status) >= 400 and not (name == "GET /healthz" and status == "503"):
                schema = answer["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}, (name, status)
                assert answer["content"].keys() == {"application/problem+json"}
        assert "500" in operation["responses"], name
        if operation.get("security"):
            assert "401" in operation["responses"], name
    opened = [name for name, operation in _operations(document) if not operation.get("security")]
    assert opened == ["POST /session", "DELETE /session", "GET /healthz"]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_every_reference_leads_somewhere_and_nothing_of_the_framework_shows(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            if isinstance(target := part.get("$ref"), str):
                assert target.removeprefix("#/components/schemas/") in schemas
            for child in part.values():
                walk(child)
        elif isinstance(part, list):
            for child in part:
                walk(child)

    walk(document)
    assert not {"HTTPValidationError", "ValidationError"} & schemas.keys()
    described = [name for name, schema in schemas.items() if schema.get("type") == "object"]
    assert [name for name in described if not schemas[name].get("description")] == []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"workers": "4..16", "resources": {"gpus": 8, "gpu_type": ["h100", "a100"], "memory": "512GiB"}},
        {"resources": {"gpus": 0.25}, "max_duration": "12h", "retry": {"limit": 3, "on": ["error", "oom"]}},
        {"array": "0-99%8", "tags": {"a": "b"}, "depends_on": ["prep-1", {"job": "prep-2", "when": "failed"}]},
        {"checkpoint": {"path": "s3://bucket/run", "every": "auto", "keep": 3, "grace": "120s"}, "launch": "torchrun"},
    ],
)
def test_job_files_that_fit_the_schema_are_read(fields: dict[str, Any]) -> None:
    value = {**job_file(), **fields}
    assert jsonschema_rs.is_valid(job_file_schema(), value)
    job_from_document(Document(file="x", value=value))


def test_what_does_not_fit_the_schema_is_not_read() -> None:
    for fields in ({"name": "Big Job"}, {"gpus": 8}, {"priority": 101}, {"array": "x"}, {"launch": "mip"}):
        value = {**job_file(), **fields}
        assert not jsonschema_rs.is_valid(job_file_schema(), value)
        with pytest.raises(Exception, match=next(iter(fields))):
            job_from_document(Document(file="x", value=value))
