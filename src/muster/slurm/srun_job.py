"""An `srun` outside an allocation: a job whose script is that `srun`, followed to its end."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import PurePath

from muster.cli.following.following import follow_job
from muster.cli.following.input_sending import InputSender, given_input
from muster.cli.following.log_printers import RawPrinter
from muster.cli.terminal.interruptions import Interruptions
from muster.client.answers import Job
from muster.client.client import Client
from muster.formats.sbatch.options import SBATCH, Option
from muster.formats.text.document import InvalidDocument
from muster.model.errors import MusterError
from muster.model.ids import JobId, job_number
from muster.slurm.immediate import check_starts_now, immediate_s, wait_for_start
from muster.slurm.options import SlurmError
from muster.slurm.steps.step import StepRefused
from muster.slurm.steps.step_input import ALL, StepReaders
from muster.slurm.submitting import prepared
from muster.slurm.waiting import CANCELLED, exit_code_of

WRONG_USE = 2

OWN = frozenset(
    {"label", "unbuffered", "output", "error", "open-mode", "kill-on-bad-exit", "export", "gpu-bind", "mpi", "cpu-bind"}
    | {"quiet", "input", "chdir", "multi-prog"}
)
"""Options of the step, which the `srun` in the script gets. What the job asks for, the step has anyway."""

IDLE = "12h"
"""How long a shell on a terminal may be left alone."""


def run_job(options: Sequence[Option], command: Sequence[str]) -> int:
    """Submit, follow, and return the exit code of the program."""
    said = {option.name for option in options}
    if "pty" in said and not sys.stdin.isatty():
        raise StepRefused("--pty: standard input is not a terminal", WRONG_USE)
    try:
        return _run(options, command, has_terminal="pty" in said)
    except MusterError as error:
        raise StepRefused(str(error), error.exit_code) from None
    except SlurmError as error:
        raise StepRefused(str(error).removeprefix("srun: error: ")) from None


def _run(options: Sequence[Option], command: Sequence[str], *, has_terminal: bool) -> int:
    given = None if has_terminal or not reads_here(options) else given_input()
    with Client() as client, Interruptions() as interruptions:
        document = _document(client, options, command, has_terminal=has_terminal)
        if given is not None:
            document["stdin"] = True
        within_s = immediate_s(options, "srun")
        check_starts_now(client, document, within_s, "srun")
        with interruptions.kept():
            job = client.submit(document)
        try:
            interruptions.raise_kept()
            wait_for_start(client, job, within_s, "srun")
            ended = _follow(client, job, given, has_terminal=has_terminal)
        except (KeyboardInterrupt, BrokenPipeError):
            client.cancel(job.id, reason="its srun was interrupted")
            sys.stderr.write(f"srun: Force Terminated job {job_number(JobId(job.id))}\n")
            return CANCELLED
        return exit_code_of(ended, client)


def reads_here(options: Sequence[Option]) -> bool:
    """True when some task reads what this `srun` reads."""
    readers = StepReaders(option=next((each.value for each in reversed(options) if each.name == "input"), ALL))
    return readers.option.isdecimal() or readers.has(0)


def _document(
    client: Client, options: Sequence[Option], command: Sequence[str], *, has_terminal: bool
) -> dict[str, object]:
    """The job: its script is the same command, with what concerns the step."""
    own = [f"--{each.name}={each.value}" if each.value else f"--{each.name}" for each in options if each.name in OWN]
    step = [] if has_terminal else ["srun", *own]
    script = f"#!/bin/sh\nexec {shlex.join((*step, *command))}\n"
    known = SBATCH.flags | SBATCH.optional | SBATCH.valued
    asked = [
        each for each in options if each.name in known and (each.name not in OWN or each.name in ("export", "chdir"))
    ]
    terminal = {"idle_timeout": IDLE} if has_terminal else None
    name = PurePath(command[0]).name
    try:
        return prepared(client, script, file=name, options=asked, interactive=terminal, output="").document
    except InvalidDocument as error:
        raise StepRefused(str(error), WRONG_USE) from None


def _follow(client: Client, job: Job, given: int | None, *, has_terminal: bool) -> Job:
    if has_terminal:
        from muster.cli.terminal.raw_terminal import attach_when_running  # noqa: PLC0415 (it loads websockets)

        return attach_when_running(client, job.id)
    sys.stdout.flush()
    printer = RawPrinter(sys.stdout.buffer)
    if given is None:
        return follow_job(client, job.id, printer, quiet=True)
    return follow_job(client, job.id, printer, quiet=True, began=InputSender(client, job.id, given).began)
