"""The body of a submission -> its job, or a problem document that says what is wrong with it.

Independent of the web framework and of the server, since it also runs in the processes of `readers`.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from muster.api.problems.documents import problem, problem_of, problem_of_fields
from muster.api.schemas.jobs import Submission
from muster.api.schemas.problems import Problem
from muster.formats.admission.profiles import with_profile
from muster.formats.jobs.job_document import job_document
from muster.formats.jobs.job_file import job_from_document
from muster.formats.text.document import Document, parse_document
from muster.model.client_limits import JOB_FILE_VALUES, JOB_INLINE_BYTES
from muster.model.errors import InvalidInput, MusterError
from muster.model.records import Record
from muster.model.spec import JobSpec

Profiles = Mapping[str, Mapping[str, Any]]
"""What job files may name in `profile`."""
NO_PROFILES: Profiles = {}


class ReadSubmission(Record, frozen=True, kw_only=True):
    """A submission that was read without errors."""

    spec: JobSpec
    held: bool
    given: str = ""
    """The job file as JSON, with what its profile fills in. Admission rules see in it what the job says itself."""
    fingerprint: str
    """A digest that is equal for two submissions with the same job and `held`. Empty where no key makes it needed."""


def parsed_submission(body: bytes) -> Submission | Problem:
    """The body as a submission whose job file was not read yet."""
    try:
        value = json.loads(body)
    except json.JSONDecodeError as error:
        return problem(422, "invalid", f"body: is not JSON: {error.msg} at line {error.lineno}")
    except (UnicodeDecodeError, RecursionError, ValueError):
        return problem(422, "invalid", "body: is not JSON that can be read")
    try:
        return Submission.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)
        return problem_of_fields([{**each, "loc": ("body", *each["loc"])} for each in found])


def read_submission(body: bytes, profiles: Profiles = NO_PROFILES) -> ReadSubmission | Problem:
    """The job in a body of any length. Reading it may take long."""
    submission = parsed_submission(body)
    return submission if isinstance(submission, Problem) else read_job(submission, profiles)


def read_job(
    submission: Submission, profiles: Profiles = NO_PROFILES, *, is_keyed: bool = True
) -> ReadSubmission | Problem:
    """The job in a submission. `profiles` are those that it may name."""
    try:
        sent = _document(submission)
        document = with_profile(sent, profiles)
        spec = job_from_document(document, environment={})
        _check_copied(spec)
    except MusterError as error:
        return problem_of(error)
    fingerprint = _fingerprint(spec, sent, held=submission.held) if is_keyed else ""
    return ReadSubmission(
        spec=spec, held=submission.held, given=json.dumps(document.value, default=str), fingerprint=fingerprint
    )


def _check_copied(spec: JobSpec) -> None:
    """Raise when the files of a relative working directory were not sent: only the submitter has them."""
    if spec.is_workdir_copied and spec.bundle is None:
        raise InvalidInput(
            f"workdir: {spec.workdir!r} is relative, and its files were not sent along: submit the file with "
            "`muster submit`, which copies them, or give an absolute path on the nodes"
        )


def _fingerprint(spec: JobSpec, sent: Document, *, held: bool) -> str:
    """The digest of a request. A profile that has changed since makes no other request of it."""
    said = sent.value if spec.profile else job_document(spec)
    text = json.dumps([said, held], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _document(submission: Submission) -> Document:
    if submission.text is None:
        return Document(file=submission.file, value=submission.job)
    return parse_document(submission.text, file=submission.file, values_max=JOB_FILE_VALUES)


def read_if_short(
    body: bytes, profiles: Profiles = NO_PROFILES, *, is_keyed: bool = True
) -> ReadSubmission | Problem | None:
    """The job in a body that can be read in a millisecond or two; None when reading may take longer.

    A submission without a key is compared with no other, and gets no fingerprint.
    """
    if len(body) > JOB_INLINE_BYTES:
        return None
    submission = parsed_submission(body)
    if isinstance(submission, Problem):
        return submission
    return None if submission.text is not None else read_job(submission, profiles, is_keyed=is_keyed)
