"""A job file -> what is sent: checked on this machine, and completed with what only this machine knows."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.formats.jobs.job_document import job_document
from muster.formats.jobs.job_file import job_from_document
from muster.formats.text.document import Document, parse_document, read_document
from muster.model.errors import InvalidInput
from muster.model.records import evolve


def read_source(source: str | Path) -> tuple[dict[str, Any], str, Path]:
    """The job in a file or in a text, its name in messages, and the folder that a relative `workdir` is relative to.

    A string is the name of a file when it has one line, does not contain ": " and does not begin with "{".
    """
    is_text = isinstance(source, str) and ("\n" in source or ": " in source or source.lstrip().startswith("{"))
    document = parse_document(str(source), file="job") if is_text else read_document(source)
    return completed(document), document.file, Path() if is_text else Path(source).parent


def completed(document: Document, *, environment: Mapping[str, str] = os.environ, folder: str = "") -> dict[str, Any]:
    """The job in a document as plain values.

    If it names no `workdir`, it runs in `folder`, or in the current folder when `folder` is empty.
    """
    spec = job_from_document(document, environment=environment)
    return job_document(evolve(spec, workdir=spec.workdir or folder or present_folder()))


def present_folder() -> str:
    """The current folder."""
    try:
        return str(Path.cwd())
    except OSError:
        raise InvalidInput("the present folder is gone; go to another one, or give the job a workdir") from None
