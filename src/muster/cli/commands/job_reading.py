"""Job files -> what is sent: checked, with changes from the command line and with what only this machine knows."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster.client.bundles.workdirs import packed_workdir
from muster.client.job_source import completed, present_folder
from muster.formats.text.document import Document, InvalidDocument, read_document, read_text
from muster.formats.text.ranges import worker_range, worker_range_value
from muster.formats.text.units import BadValue, gpu_milli, plain_number
from muster.model.errors import InvalidInput

if TYPE_CHECKING:
    from muster.client.bundles.packing import PackedFolder
    from muster.formats.sbatch.sbatch_file import Imported, Submitter


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What the command line says instead of the file. None leaves it to the file."""

    name: str | None = None
    team: str | None = None
    tier: str | None = None
    priority: int | None = None
    gpus: float | None = None
    workers: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJob:
    """A job as it is sent, and the file it came from."""

    file: str
    document: dict[str, Any]
    held: bool = False
    """True when the file itself asks that the job not start."""
    notes: tuple[str, ...] = ()
    """What in the file is not part of the job, and what happens instead."""
    packed: "PackedFolder | None" = None
    """The files that are sent along with it."""


def read_jobs(
    files: Sequence[str], changes: Overrides, *, sbatch: bool = False, tiers: Mapping[str, str] | None = None
) -> list[ReadJob]:
    """The jobs in all files, or one error that names every mistake in every file."""
    if files.count("-") > 1:
        raise InvalidInput("standard input can be read only once")
    found: list[ReadJob] = []
    wrong: list[InvalidDocument] = []
    for file in files:
        try:
            found.append(_read_script(file, changes, tiers or {}) if sbatch else _read_file(file, changes))
        except InvalidDocument as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        raise InvalidInput("\n".join(map(str, wrong)))
    return found


def _read_file(file: str, changes: Overrides) -> ReadJob:
    document = changed(read_document(file), changes)
    job = completed(document)
    packed = packed_workdir(job, Path() if file == "-" else Path(file).parent)
    notes = () if packed is None else tuple(f"{document.file}: {each}" for each in packed.notes)
    return ReadJob(file=document.file, document=job, notes=notes, packed=packed)


def _read_script(file: str, changes: Overrides, tiers: Mapping[str, str]) -> ReadJob:
    from muster.formats.sbatch.sbatch_file import import_sbatch  # noqa: PLC0415 (most jobs are no scripts)

    name, text = read_text(file)
    return script_job(import_sbatch(text, file=name, tiers=tiers, submitter=this_submitter()), changes)


def this_submitter() -> "Submitter":
    """What this machine knows about whoever submits a script here."""
    from muster.formats.sbatch.sbatch_file import Submitter  # noqa: PLC0415

    return Submitter(folder=present_folder(), host=socket.gethostname(), variables=dict(os.environ))


def script_job(script: "Imported", changes: Overrides) -> ReadJob:
    """The job that a batch script describes. What could not be taken over is kept as notes."""
    if "workdir" in script.job:  # As in Slurm, nothing is copied: its folder is relative to this one.
        script.job["workdir"] = str(Path(present_folder(), script.job["workdir"]))
    try:
        document = completed(changed(script.document, changes))
    except InvalidDocument as error:
        raise script.placed(error) from None
    notes = tuple(f"{script.file}:{note.line}: {note.text}" for note in script.notes)
    return ReadJob(file=script.file, document=document, held=script.held, notes=notes)


def changed(document: Document, changes: Overrides) -> Document:
    """The document with the changes from the command line. The reader will refuse a document that is no mapping."""
    if not isinstance(document.value, dict):
        return document
    value = dict(document.value)
    for key in ("name", "team", "tier", "priority"):
        if (said := getattr(changes, key)) is not None:
            value[key] = said
    if changes.workers is not None:
        value["workers"] = _workers(changes.workers)
    if changes.gpus is not None:
        resources = value.get("resources")
        value["resources"] = {**(resources if isinstance(resources, dict) else {}), "gpus": _gpus(changes.gpus)}
    return replace(document, value=value)


def _workers(text: str) -> int | str:
    try:
        return worker_range_value(*worker_range(text))
    except BadValue as error:
        raise InvalidInput(f"--workers: {error.problem}{_hint(error)}") from None


def _gpus(count: float) -> float:
    try:
        return plain_number(gpu_milli(count))
    except BadValue as error:
        raise InvalidInput(f"--gpus: {error.problem}{_hint(error)}") from None


def _hint(error: BadValue) -> str:
    return f" ({error.hint})" if error.hint else ""
