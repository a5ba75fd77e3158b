"""Problem documents (RFC 9457) of errors: what was wrong, where, and what to do. Independent of the web framework."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from muster.api.problems.concealing import Concealing
from muster.api.schemas.problems import FieldError, Problem
from muster.formats.text.document import InvalidDocument
from muster.formats.text.units import shown
from muster.model.client_limits import BODY_ERRORS
from muster.model.errors import InvalidFile, MusterError
from muster.model.printable import one_line

NOTHING = Concealing()
PATH_CHARS = 200
"""The most that is shown of the name of an unknown field, which the caller may have made very long."""


def problem_of(error: MusterError, conceal: Concealing = NOTHING) -> Problem:
    """The document of one of Muster's own errors, without what is only for the server's log."""
    message = conceal(str(error))
    if error.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # An error of the writer may contain the whole story of a job, which not every caller may see.
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


def problem_of_fields(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """The document of what pydantic found wrong with a body or a query: the first errors, and the number of others."""
    told = [_field_error(each) for each in errors[:BODY_ERRORS]]
    first, more = told[0], len(errors) - 1
    detail = f"{first.field}: {first.problem}" + (f", and {more} more" if more else "")
    return problem(422, "invalid", detail, errors=told)


def _field_error(detail: Mapping[str, Any]) -> FieldError:
    where = ".".join(str(step)[:PATH_CHARS] for step in detail.get("loc", ())[:PATH_CHARS]) or "body"
    where = one_line(where[:PATH_CHARS])
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
