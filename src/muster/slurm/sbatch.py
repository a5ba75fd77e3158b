"""`sbatch`: submit a script, a command (`--wrap`) or what comes on standard input."""

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muster.client.answers import Job
from muster.client.client import Client
from muster.formats.sbatch.options import SBATCH, BadOption, Option, read_options
from muster.formats.sbatch.sbatch_file import variable_options
from muster.formats.text.document import InvalidDocument
from muster.model.ids import JobId, job_number
from muster.slurm.options import VERSION, SlurmError, complain, connected
from muster.slurm.submitting import prepared
from muster.slurm.waiting import exit_code_of

FAILED = 1

HELP = """\
Usage: sbatch [OPTIONS(0)...] [ : [OPTIONS(N)...]] script(0) [args(0)...]

Submits a batch script to Muster. The options are those of Slurm 22.05; docs/guides/slurm-commands.md says what each
does here.
"""


def main(arguments: Sequence[str]) -> int:
    """Submit, and print the number of the job."""
    try:
        options, rest = read_options(arguments, SBATCH)
    except BadOption as error:
        complain(f"sbatch: {error.problem}\n{error.hint}")
        return FAILED
    said = {option.name: option.value for option in options}
    if "help" in said or "usage" in said or "version" in said:
        sys.stdout.write(f"{VERSION}\n" if "version" in said else HELP)
        return 0
    if ":" in rest:
        raise SlurmError(
            "sbatch: error: heterogeneous jobs are not known here: roles in a job file are several kinds of workers"
        )
    script, file, arguments = _script(said, rest)
    with connected("sbatch") as client:
        return _submit(client, options, script, file, arguments)


def _submit(client: Client, options: Sequence[Option], script: str, file: str, arguments: Sequence[str]) -> int:
    said = {option.name for option in (*variable_options(os.environ), *options)}
    try:
        job = prepared(client, script, file=file, options=options, arguments=arguments)
        if "wrap" not in said and Path(file).exists():
            job.document["batch"]["file"] = str(Path(file).absolute())
    except InvalidDocument as error:
        raise SlurmError(f"sbatch: error: {error}\nBatch job submission failed: nothing was submitted") from None
    except BadOption as error:
        raise SlurmError(f"sbatch: error: {file}:{error.line}: {error.problem}") from None
    if not said & {"quiet", "parsable"}:
        for note in job.notes:
            complain(f"sbatch: {note}")
    if "test-only" in said:
        return _tell_start(client, job.document)
    submitted = client.submit(job.document, held=job.held)
    if submitted.admission and not said & {"quiet", "parsable"}:
        _tell_effects(submitted)
    number = job_number(JobId(submitted.id))
    if "parsable" in said:
        sys.stdout.write(f"{number}\n")
    elif "quiet" not in said:
        sys.stdout.write(f"Submitted batch job {number}\n")
    sys.stdout.flush()
    return exit_code_of(client.wait(submitted.id), client) if "wait" in said else 0


def _tell_effects(job: Job) -> None:
    """Say what admission rules did to a job."""
    from muster.cli.drawing.reasons import effect_text  # noqa: PLC0415 (drawing is slow to import, and few jobs need it)

    for effect in job.admission:
        complain(f"sbatch: {effect_text(effect)}")


def _script(said: dict[str, str], rest: Sequence[str]) -> tuple[str, str, list[str]]:
    """The text of the script, the name of its file, and its arguments."""
    if "wrap" in said:
        if rest:
            raise SlurmError("sbatch: error: Script arguments not permitted with --wrap option")
        return f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{said['wrap']}\n", "wrap", []
    if not rest:
        return sys.stdin.read(), "sbatch", []
    path = Path(said.get("chdir", "."), rest[0]) if not Path(rest[0]).exists() else Path(rest[0])
    try:
        text = path.read_text()
    except OSError as error:
        raise SlurmError(f"sbatch: error: Unable to open file {rest[0]}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SlurmError(f"sbatch: error: {rest[0]} is no script: it holds bytes that are no text") from None
    if "\r\n" in text:
        raise SlurmError(
            "sbatch: error: Batch script contains DOS line breaks (\\r\\n) instead of expected UNIX line breaks (\\n)."
        )
    return text, rest[0], list(rest[1:])


def _tell_start(client: Client, document: dict[str, Any]) -> int:
    """Say when and where the job would start, as `sbatch --test-only` does."""
    answer = client.submit(document, dry_run=True)
    if answer.placement:
        when = datetime.now(UTC)
        nodes = ",".join(dict.fromkeys(worker.node for worker in answer.placement))
        where = f" a using {len(answer.placement)} nodes on nodes {nodes}"
    elif answer.estimate is not None and answer.estimate.p50 is not None:
        when, where = answer.estimate.p50, ""
    else:
        raise SlurmError("sbatch: error: allocation failure: " + "; ".join(reason.message for reason in answer.reasons))
    partition = document["env"].get("SLURM_JOB_PARTITION", "")
    sys.stderr.write(f"sbatch: Job to start at {when:%Y-%m-%dT%H:%M:%S}{where} in partition {partition}\n")
    return 0
