"""The OpenAPI document: what FastAPI knows of the routes, with errors as the server really sends them."""

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from muster.api.schemas import job_file
from muster.api.schemas.jobs import Submission
from muster.api.schemas.problems import FieldError, Problem

TAGS = [
    {"name": "jobs", "description": "Submitting, watching and changing jobs."},
    {"name": "checkpoints", "description": "What jobs have saved."},
    {"name": "logs", "description": "What workers printed, and terminals."},
    {"name": "events", "description": "What happens, as it happens."},
    {"name": "nodes", "description": "The machines."},
    {"name": "rules", "description": "Teams and their quotas, tiers, pools and the policy."},
    {"name": "access", "description": "Who you are, tokens, and who did what."},
    {"name": "operation", "description": "How the control plane is."},
]

DESCRIPTION = """Everything that the command line, the dashboard and the client do goes through this.

Errors are problem documents (RFC 9457). Times are RFC 3339 in UTC, durations are seconds, memory is bytes. Lists are
pages: hand `next` in as `cursor`."""

_OWN = {"HTTPValidationError", "ValidationError"}


def schema_of(model: type[BaseModel]) -> dict[str, str]:
    """A reference to the schema of a body, for a route that reads its body itself."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def install(app: FastAPI) -> None:
    """Make the document describe errors as they are sent."""
    made = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _corrected(made())
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _corrected(document: dict[str, Any]) -> dict[str, Any]:
    schemas = document["components"]["schemas"]
    for name in _OWN:
        schemas.pop(name, None)
    for model in (Problem, FieldError, Submission):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schema.pop("$defs", None)
        for field in schema["properties"].values():
            if field.get("default", ...) is None:
                del field["default"]  # As the framework does: a default of null is not stated.
        schemas[model.__name__] = schema
    _refer(schemas)
    schemas[job_file.NAME] = job_file.job_file_schema()
    for operations in document["paths"].values():
        for operation in operations.values():
            _drop_unused(operation)
    return document


def _refer(part: Any) -> None:
    """Replace every placeholder of a job file by a reference to its schema."""
    children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for child in children:
        if isinstance(child, dict) and job_file.PLACE.items() <= child.items():
            del child["x-job-file"]
            child["$ref"] = f"#/components/schemas/{job_file.NAME}"
        else:
            _refer(child)


def _drop_unused(operation: dict[str, Any]) -> None:
    """Remove the error form that FastAPI adds to every route with parameters: errors are sent as problem documents."""
    answer = operation["responses"].get("422", {})
    if "application/json" in answer.get("content", {}):
        del answer["content"]["application/json"]
