"""From an exception of a route to its answer: a problem document (RFC 9457)."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import Route

from muster.api.problems.concealing import Concealing
from muster.api.problems.documents import problem, problem_of, problem_of_fields
from muster.api.schemas.problems import Problem
from muster.model.errors import MusterError, TooMany

MEDIA_TYPE = "application/problem+json"
RETRY_S = {429: 5, 503: 1}
"""Seconds for the `Retry-After` header, by the statuses for which a retry makes sense."""

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
        """The document as JSON. Input with half a surrogate pair is shown with a replacement character."""
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        status = problem.status
        extra = {} if status not in RETRY_S else {"Retry-After": str(RETRY_S[status])}
        if status == HTTPStatus.UNAUTHORIZED:
            extra["WWW-Authenticate"] = "Bearer"
        content = problem.model_dump(exclude_none=True, mode="json")
        super().__init__(content, status_code=status, headers={**extra, **(headers or {})})


def install(app: FastAPI) -> None:
    """Answer every error that a route or the framework raises with a problem document."""
    app.add_exception_handler(MusterError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_the_framework)


def response_to(error: MusterError, conceal: Concealing) -> ProblemResponse:
    """The answer for one of Muster's own errors."""
    asked = error.retry_s if isinstance(error, TooMany) else None
    headers = {} if asked is None else {"Retry-After": str(asked)}
    document = error.problem if isinstance(error, WrittenProblem) else problem_of(error, conceal)
    return ProblemResponse(document, headers)


class WrittenProblem(MusterError):
    """An error that already is a problem document, written by the code that read a job file."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


async def _of_ours(connection: Request | WebSocket, error: Exception) -> ProblemResponse:
    assert isinstance(error, MusterError)
    response = response_to(error, connection.app.state.services.deps.settings.conceal)
    if isinstance(connection, WebSocket):
        await connection.send_denial_response(response)
    return response


async def _of_validation(_: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, RequestValidationError)
    return ProblemResponse(problem_of_fields(error.errors()))


async def _of_the_framework(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, HTTPException)
    # A body that cannot be parsed at all is invalid, like one with wrong fields.
    status = 422 if error.status_code == HTTPStatus.BAD_REQUEST else error.status_code
    code = _CODES.get(status, "refused" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal")
    headers = dict(error.headers or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
    return ProblemResponse(problem(status, code, _explained(request, status, str(error.detail))), headers)


def _methods(request: Request) -> list[str]:
    """The methods that this path allows. The framework considers only the first route that matches the path."""
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
