"""`muster run`: a command as a job of its own, followed to its end."""

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.terminal.amounts import pair
from muster.cli.terminal.connection import connect
from muster.cli.terminal.exits import Exit, exit_of_program
from muster.cli.terminal.interruptions import Interruptions
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note
from muster.model.errors import InvalidInput, MusterError
from muster.model.limits import JOB_NAME_CHARS

if TYPE_CHECKING:
    from muster.client import Client
    from muster.client.answers import Job
    from muster.client.bundles.packing import PackedFolder

# ruff: noqa: PLC0415

PASSED_ON = {"allow_interspersed_args": False}
"""Everything from the command's first word on belongs to the command. What stands before it is an option of `run`."""

listing = Listing(JOBS, settings=PASSED_ON)

Words = Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run; put -- in front of it.")]
Gpus = Annotated[float, typer.Option(min=0, metavar="N", help="GPUs of each worker; 0.25 is a share of one.")]
GpuType = Annotated[list[str] | None, typer.Option(metavar="TYPE", help="GPU types that will do; repeatable.")]
Cpus = Annotated[float, typer.Option(min=0, metavar="N", help="CPUs of each worker.")]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of each worker: 64GiB.")]
Workers = Annotated[int, typer.Option(min=1, metavar="N", help="How many workers.")]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="What to call it; else after its program.")]
Team = Annotated[str | None, typer.Option(metavar="TEAM", help="For which team.")]
Tier = Annotated[str | None, typer.Option(metavar="TIER", help="In which tier.")]
Env = Annotated[
    list[str] | None, typer.Option("-e", "--env", metavar="NAME[=VALUE]", help="A variable, or one of yours.")
]
Limit = Annotated[str | None, typer.Option("--max-duration", metavar="TIME", help="How long it may run: 90m, 7d.")]
Workdir = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="Where it runs; a relative one, such as `.`, is copied as it is now."),
]
Pty = Annotated[bool, typer.Option("--pty", help="On a terminal, for a shell or anything else that you type to.")]
Idle = Annotated[str, typer.Option(metavar="TIME", help="With --pty: it ends after so long without a sign of life.")]


@listing.add
def run(
    command: Words,
    gpus: Gpus = 0,
    gpu_type: GpuType = None,
    cpus: Cpus = 0,
    memory: Memory = None,
    workers: Workers = 1,
    name: Name = None,
    team: Team = None,
    tier: Tier = None,
    env: Env = None,
    max_duration: Limit = None,
    workdir: Workdir = None,
    pty: Pty = False,
    idle_timeout: Idle = "30m",
    output: Printed = Output.TABLE,
) -> None:
    """Run a command as a job and show its output. Ctrl-C cancels it; the exit code is that of the command.

    What comes to its standard input through a pipe or from a file, the first worker reads.
    """
    from muster.cli.following.input_sending import given_input

    if pty and not sys.stdin.isatty():
        raise InvalidInput("--pty: standard input is not a terminal, so nobody could type; leave --pty out")
    resources = {"gpus": gpus or None, "gpu_type": gpu_type, "cpus": cpus or None, "memory": memory}
    job: dict[str, Any] = {
        "name": name or _name(command),
        "team": team,
        "tier": tier,
        "workers": workers if workers > 1 else None,
        "resources": _given(resources) or None,
        "run": command[0] if len(command) == 1 else shlex.join(command),
        "env": _environment(env or ()) or None,
        "max_duration": max_duration,
        "workdir": workdir,
        "interactive": {"idle_timeout": idle_timeout} if pty else None,
        "stdin": True if (given := given_input()) is not None else None,
    }
    from muster.client.bundles.workdirs import packed_workdir

    document = _checked(_given(job))
    packed = packed_workdir(document, Path())
    for each in () if packed is None else packed.notes:
        note(each)
    with connect() as client, Interruptions(_tell_kept) as interruptions:
        with interruptions.kept():
            sent = _sent(client, document, packed)
        _watch(client, sent, output, interruptions, pty=pty, given=given)


def _sent(client: "Client", document: dict[str, Any], packed: "PackedFolder | None") -> "Job":
    try:
        return client.submit(document, packed=packed)
    except KeyboardInterrupt:
        note("the server has not answered; look with `muster ps` whether the job is there, `muster cancel` ends it")
        raise typer.Exit(Exit.CANCELLED) from None


def _tell_kept() -> None:
    note("the job is cancelled as soon as the server has answered; Ctrl-C again leaves at once")


def _watch(
    client: "Client", job: "Job", output: Output, interruptions: Interruptions, *, pty: bool, given: int | None
) -> None:
    """Follow a job to its end, and cancel it when the user leaves."""
    from muster.cli.commands.submit import tell_effects, tell_end

    tell_effects([job])
    try:
        interruptions.raise_kept()
        ended = _attached(client, job) if pty else _followed(client, job, output, given)
    except (KeyboardInterrupt, BrokenPipeError):
        client.cancel(job.id, reason="whoever ran it left")
        note(f"{job.id} is cancelled")
        raise typer.Exit(Exit.CANCELLED) from None
    except MusterError:
        note(f"{job.id} goes on; `muster logs -f {job.id}` shows it again, `muster cancel {job.id}` ends it")
        raise
    tell_end(ended)
    raise typer.Exit(exit_of_program(ended.state, ended.exit_code))


def _followed(client: "Client", job: "Job", output: Output, given: int | None) -> "Job":
    from muster.cli.following.following import follow_job
    from muster.cli.following.input_sending import InputSender
    from muster.cli.following.log_printers import JsonPrinter, RawPrinter

    printer = JsonPrinter(job.id) if output is Output.JSON else RawPrinter()
    if given is None:
        return follow_job(client, job.id, printer)
    return follow_job(client, job.id, printer, began=InputSender(client, job.id, given).began)


def _attached(client: "Client", job: "Job") -> "Job":
    from muster.cli.terminal.raw_terminal import attach_when_running

    return attach_when_running(client, job.id)


def _checked(job: dict[str, Any]) -> dict[str, Any]:
    """The job as it is sent. An error names the options that are wrong."""
    from muster.client.job_source import completed
    from muster.formats.text.document import Document, InvalidDocument

    try:
        return completed(Document(file="run", value=job))
    except InvalidDocument as error:
        raise InvalidInput("\n".join(f"{_option(each.path)}: {each.problem}" for each in error.errors)) from None


def _option(path: str) -> str:
    words = {"run": "COMMAND", "interactive": "--idle-timeout", "env": "--env"}
    first = path.removeprefix("resources.").split(".")[0].split("[")[0]
    return words.get(first, f"--{first.replace('_', '-')}")


def _name(command: Sequence[str]) -> str:
    program = command[0].split()[0].rsplit("/", 1)[-1] if command[0].split() else ""
    return re.sub(r"[^a-z0-9-]+", "-", program.lower()).strip("-")[:JOB_NAME_CHARS] or "run"


def _environment(said: Sequence[str]) -> dict[str, str | None]:
    """`NAME=VALUE`, or `NAME` for the value that it has here."""
    return dict(pair(each, "--env") if "=" in each else (each, None) for each in said)


def _given(entries: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entries.items() if value is not None}
