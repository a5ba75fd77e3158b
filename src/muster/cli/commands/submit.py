"""`muster submit`: hand in job files."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.drawing.wording import now
from muster.cli.terminal.amounts import pair
from muster.cli.terminal.connection import connect
from muster.cli.terminal.exits import Exit
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import Output, Printed, Quiet
from muster.cli.terminal.screen import note, screen, show, show_ids, show_json, show_text
from muster.model.errors import InvalidInput, MusterError, Refused, Unavailable

if TYPE_CHECKING:
    from muster.cli.commands.job_reading import ReadJob
    from muster.client import Client
    from muster.client.answers import DryRun, Job

# ruff: noqa: PLC0415

Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Job files in YAML, JSON or TOML; - is standard input.")
]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="Another name than the file's.")]
Team = Annotated[str | None, typer.Option(metavar="TEAM", help="Another team than the file's.")]
Tier = Annotated[str | None, typer.Option(metavar="TIER", help="Another tier than the file's.")]
Priority = Annotated[int | None, typer.Option(min=0, max=100, help="From 0 to 100, inside its tier.")]
Gpus = Annotated[float | None, typer.Option(min=0, metavar="N", help="GPUs of each worker; 0.25 is a share of one.")]
Workers = Annotated[str | None, typer.Option(metavar="N", help="How many workers; 4..8 for an elastic job.")]
DryRunOnly = Annotated[bool, typer.Option("--dry-run", help="Say where it would go, or why it would wait; no more.")]
Held = Annotated[bool, typer.Option("--held", help="It does not start until `muster release`.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it has ended; exit code 1 if it failed.")]
FollowIt = Annotated[bool, typer.Option("-f", "--follow", help="Show its output until it has ended.")]
Key = Annotated[
    str | None, typer.Option(metavar="KEY", help="Submitting again under the same key is the same submission.")
]
Sbatch = Annotated[bool, typer.Option("--sbatch", help="The files are batch scripts with #SBATCH lines.")]
TierOf = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=TIER", help="With --sbatch: the tier of a partition or QOS; repeatable."),
]
PrintOnly = Annotated[bool, typer.Option("--print", help="Print the job file that would be submitted; no more.")]

listing = Listing(JOBS)


@listing.add
def submit(
    files: Files,
    name: Name = None,
    team: Team = None,
    tier: Tier = None,
    priority: Priority = None,
    gpus: Gpus = None,
    workers: Workers = None,
    dry_run: DryRunOnly = False,
    held: Held = False,
    wait: Wait = False,
    follow: FollowIt = False,
    key: Key = None,
    sbatch: Sbatch = False,
    tier_of: TierOf = None,
    print_only: PrintOnly = False,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,
) -> None:
    """Submit jobs. Every file is checked before the first is sent."""
    from muster.cli.commands.job_reading import Overrides, read_jobs

    _check_use(files, follow=follow, key=key)
    changes = Overrides(name=name, team=team, tier=tier, priority=priority, gpus=gpus, workers=workers)
    tiers = dict(pair(each, "--tier-of") for each in tier_of or ())
    jobs = read_jobs(files, changes, sbatch=sbatch, tiers=tiers)
    for each in (told for job in jobs for told in job.notes):
        note(each)
    if print_only:
        _print_files(jobs, output)
        return
    with connect() as client:
        if dry_run:
            _report_dry_runs(jobs, [_dry_run(client, job, held=held) for job in jobs], output)
            return
        submitted = _submitted(client, jobs, held=held, key=key)
        if follow or wait:
            tell_effects(submitted)
        if follow:
            _follow(client, submitted[0], output, quiet=quiet)
        elif wait:
            _wait(client, submitted, output, quiet=quiet)
        else:
            report_submitted(submitted, output, quiet=quiet)


def _check_use(files: Sequence[str], *, follow: bool, key: str | None) -> None:
    if follow and len(files) > 1:
        raise InvalidInput("-f shows the output of one job; submit the files one by one, or use --wait")
    if key is not None and len(files) > 1:
        raise InvalidInput("--key is for one file: several jobs under one key would be the same job")


def _submitted(client: "Client", jobs: "Sequence[ReadJob]", *, held: bool, key: str | None) -> "list[Job]":
    """Submit all jobs, one after another. When one fails, the jobs before it stay and are named."""
    done: list[Job] = []
    for job in jobs:
        try:
            done.append(client.submit(job.document, held=held or job.held, key=key, packed=job.packed))
        except Exception as error:
            if done:
                note(f"submitted before this went wrong: {' '.join(each.id for each in done)}")
            if len(jobs) > 1 and isinstance(error, MusterError) and not isinstance(error, Unavailable):
                error.args = (_in_file(job.file, str(error)),)
            raise
    return done


def _in_file(file: str, problem: str) -> str:
    """What the server said about one of several files, with the file in place of `job`."""
    return "\n".join(f"{file}: {line.removeprefix('job: ')}" for line in problem.splitlines())


def report_submitted(jobs: "Sequence[Job]", output: Output, *, quiet: bool) -> None:
    """Print the submitted jobs with their ids. What admission rules did to them goes to stderr."""
    tell_effects(jobs)
    if output is Output.JSON:
        documents = [job.document for job in jobs]
        show_json(documents[0] if len(documents) == 1 else documents)
    elif quiet:
        show_ids(job.id for job in jobs)
    else:
        from muster.cli.drawing.job_list import job_list

        console = screen()
        show(job_list(jobs, console, now()), console)


def tell_effects(jobs: "Sequence[Job]") -> None:
    """Say on stderr what admission rules did to jobs."""
    for job in jobs:
        if job.admission:
            from muster.cli.drawing.reasons import effect_text

            for effect in job.admission:
                note(f"{job.id}: {effect_text(effect)}")


def _dry_run(client: "Client", job: "ReadJob", *, held: bool) -> "DryRun | Refused":
    """What would happen to a job. A refusal is an answer too."""
    try:
        return client.submit(job.document, held=held or job.held, dry_run=True, packed=job.packed)
    except Refused as error:
        return error


def _report_dry_runs(jobs: "Sequence[ReadJob]", answers: "Sequence[DryRun | Refused]", output: Output) -> None:
    if output is Output.JSON:
        documents = [
            {"refused": {"code": answer.code, "message": str(answer)}}
            if isinstance(answer, Refused)
            else answer.document
            for answer in answers
        ]
        show_json(documents[0] if len(documents) == 1 else documents)
    else:
        _show_dry_runs(jobs, answers)
    if any(isinstance(answer, Refused) for answer in answers):
        raise typer.Exit(Exit.REFUSED)


def _show_dry_runs(jobs: "Sequence[ReadJob]", answers: "Sequence[DryRun | Refused]") -> None:
    from muster.cli.drawing.reasons import dry_run_text
    from muster.cli.terminal.text import Text

    for job, answer in zip(jobs, answers, strict=True):
        show(Text.assemble((str(job.document.get("name", "")), "bold"), f"  {job.file}"))
        if isinstance(answer, Refused):
            show(Text.assemble(("would be refused", "red"), f": {answer}"))
        else:
            show(dry_run_text(answer, now(), has_limit=job.document.get("max_duration") is not None))


def _print_files(jobs: "Sequence[ReadJob]", output: Output) -> None:
    documents: list[Any] = [job.document for job in jobs]
    if output is Output.JSON:
        show_json(documents[0] if len(documents) == 1 else documents)
        return
    from muster.cli.drawing.job_card import job_text

    show_text("\n---\n".join(job_text(document) for document in documents))


def _wait(client: "Client", jobs: "Sequence[Job]", output: Output, *, quiet: bool) -> None:
    from muster.cli.following.following import leaving
    from muster.cli.following.waiting import report, wait_for

    ids = [job.id for job in jobs]
    with leaving(f"{' '.join(ids)}: submitted, and going on", code=Exit.CANCELLED):
        ended = wait_for(client, ids, timeout_s=None)
    report(ended, output, quiet=quiet)


def _follow(client: "Client", job: "Job", output: Output, *, quiet: bool) -> None:
    """Show the output of a job. An array has no output of its own, so it is only waited for."""
    from muster.cli.following.following import follow_job, leaving
    from muster.cli.following.log_printers import JsonPrinter, RawPrinter
    from muster.cli.terminal.exits import exit_of_state

    if job.tasks is not None:
        _wait(client, [job], output, quiet=quiet)
        return
    printer = JsonPrinter(job.id) if output is Output.JSON else RawPrinter(sys.stdout.buffer)
    with leaving(f"{job.id} goes on; `muster logs -f {job.id}` shows it again", code=Exit.CANCELLED):
        ended = follow_job(client, job.id, printer, quiet=quiet)
    tell_end(ended)
    raise typer.Exit(exit_of_state(ended.state))


def tell_end(job: "Job") -> None:
    """Say on stderr how a job ended, unless it ended well."""
    from muster.cli.drawing.job_list import outcome

    if not job.succeeded:
        because = f": {outcome(job)}" if outcome(job) else ""
        note(f"{job.id} {job.state.replace('_', ' ')}{because}")
