"""A job file -> what is sent: checked on this machine, and completed with what only this machine knows."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.formats.admission.merging import filled
from muster.formats.jobs.job_document import job_document
from muster.formats.jobs.job_file import check_keys, job_from_document
from muster.formats.text.document import Document, Problems, parse_document, read_document
from muster.model.errors import InvalidInput
from muster.model.records import evolve

PROFILE = "profile"


def read_source(source: str | Path) -> tuple[dict[str, Any], str, Path]:
    """The job in a file or in a text, its name in messages, and the folder that a relative `workdir` is relative to.

    A string is the name of a file when it has one line, does not contain ": " and does not begin with "{".
    """
    is_text = isinstance(source, str) and ("\n" in source or ": " in source or source.lstrip().startswith("{"))
    document = parse_document(str(source), file="job") if is_text else read_document(source)
    return completed(document), document.file, Path() if is_text else Path(source).parent


def completed(document: Document, *, environment: Mapping[str, str] = os.environ, folder: str = "") -> dict[str, Any]:
    """The job in a document as plain values.

    If it names no `workdir`, it runs in `folder`, or in the current folder when `folder` is empty. What a file says
    counts as said even if it is the default, because profiles and admission rules fill in only what it leaves out.
    """
    value = document.value
    if isinstance(value, dict) and value.get(PROFILE) is not None:
        return _for_a_profile(document, value, environment, folder)
    spec = job_from_document(document, environment=environment)
    found = job_document(evolve(spec, workdir=spec.workdir or folder or present_folder()))
    return filled(found, value) if isinstance(value, dict) else found


def _for_a_profile(
    document: Document, value: Mapping[str, Any], environment: Mapping[str, str], folder: str
) -> dict[str, Any]:
    """A job file that leaves something to a profile. Only the server can tell whether anything is missing in it."""
    problems = Problems(document)
    check_keys(value, problems, ())
    problems.stop_if_any()
    open_ = {key: environment.get(key) for key, each in (value.get("env") or {}).items() if each is None}
    found = filled(value, {"workdir": folder or present_folder(), "env": open_})
    return {key: each for key, each in found.items() if each not in (None, {})}


def present_folder() -> str:
    """The current folder."""
    try:
        return str(Path.cwd())
    except OSError:
        raise InvalidInput("the present folder is gone; go to another one, or give the job a workdir") from None
