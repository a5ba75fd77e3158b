"""Every error as a problem document (RFC 9457): what was wrong, where, and what to do."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import Route

from muster.api.schemas.problems import FieldError, Problem
from muster.formats.document import InvalidDocument
from muster.formats.units import shown
from muster.model.errors import InvalidFile, MusterError

MEDIA_TYPE = "application/problem+json"
RETRY_S = {429: 5, 503: 1}
"""When trying again makes sense, for the `Retry-After` header."""

_CODES = {
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
}


class ProblemResponse(JSONResponse):
    """A problem document."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        """What somebody sent may be half a character, and is shown to them as far as it can be."""
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        status = problem.status
        extra = {} if status not in RETRY_S else {"Retry-After": str(RETRY_S[status])}
        if status == HTTPStatus.UNAUTHORIZED:
            extra["WWW-Authenticate"] = "Bearer"
        content = problem.model_dump(exclude_none=True, mode="json")
        super().__init__(content, status_code=status, headers={**extra, **(headers or {})})


def install(app: FastAPI) -> None:
    """Have every error that a route or the framework raises answered with a problem document."""
    app.add_exception_handler(MusterError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_the_framework)


def problem_of(error: MusterError) -> Problem:
    """One of Muster's own errors, without what is for the server's log only."""
    message = str(error)
    if error.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # The writer's trouble may tell the whole story of a job, which is not for everybody.
        message = message.partition("\n")[0]
    return problem(error.http_status, error.code, message, retry_helps=error.retry_helps, errors=_places(error))


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    retry_helps: bool = False,
    errors: Sequence[FieldError] = (),
    incident: str | None = None,
) -> Problem:
    """A problem document of a status and a code."""
    return Problem(
        type=f"urn:muster:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        retry_helps=retry_helps,
        errors=list(errors) or None,
        incident=incident,
    )


def _places(error: MusterError) -> list[FieldError]:
    if isinstance(error, InvalidDocument):
        return [_place(each) for each in error.errors]
    return [_place(error)] if isinstance(error, InvalidFile) else []


def _place(error: InvalidFile) -> FieldError:
    return FieldError(
        field=error.path, problem=error.problem, hint=error.hint or None, line=error.line, file=error.file or None
    )


async def _of_ours(connection: Request | WebSocket, error: Exception) -> ProblemResponse:
    assert isinstance(error, MusterError)
    response = ProblemResponse(problem_of(error))
    if isinstance(connection, WebSocket):
        await connection.send_denial_response(response)
    return response


async def _of_validation(_: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, RequestValidationError)
    errors = [_field_error(each) for each in error.errors()]
    first = errors[0]
    detail = f"{first.field}: {first.problem}" + (f", and {len(errors) - 1} more" if len(errors) > 1 else "")
    return ProblemResponse(problem(422, "invalid", detail, errors=errors))


def _field_error(detail: Mapping[str, Any]) -> FieldError:
    where = ".".join(str(step) for step in detail.get("loc", ())) or "body"
    match detail["type"]:
        case "missing":
            return FieldError(field=where, problem="is required and was not given")
        case "extra_forbidden":
            return FieldError(field=where, problem="is not known here", hint="is it spelled right?")
        case "json_invalid":
            reason = str(detail.get("ctx", {}).get("error", "it cannot be read"))
            return FieldError(field="body", problem=f"is not JSON: {reason}")
        case _:
            given = shown(detail.get("input"))
            return FieldError(field=where, problem=f"{detail['msg']}, not {given}")


async def _of_the_framework(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, HTTPException)
    # A body that cannot be taken apart at all is wrong as written, like one with wrong fields.
    status = 422 if error.status_code == HTTPStatus.BAD_REQUEST else error.status_code
    code = _CODES.get(status, "refused" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal")
    headers = dict(error.headers or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
    return ProblemResponse(problem(status, code, _explained(request, status, str(error.detail))), headers)


def _methods(request: Request) -> list[str]:
    """What is possible at this address; the framework knows only of the first route that has it."""
    routes = (context.original_route for context in iter_route_contexts(request.app.routes))
    here = (route for route in routes if isinstance(route, Route) and route.path_regex.match(request.url.path))
    return sorted({method for route in here for method in route.methods or ()})


def _explained(request: Request, status: int, detail: str) -> str:
    match status:
        case HTTPStatus.NOT_FOUND:
            return "there is nothing at this address; /openapi.json says what there is"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{request.method} is not possible here; /openapi.json says what is"
        case _:
            return detail
