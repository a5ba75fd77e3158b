"""Changing jobs that were submitted: a command for each request, such as `muster cancel`; `muster update`, `retry`."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.drawing.state_words import job_style
from muster.cli.terminal.amounts import pair, seconds
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import Because, JobIds, Output, Printed, Quiet
from muster.cli.terminal.screen import note, show, show_ids, show_json
from muster.model.errors import Conflict, InvalidInput, MusterError
from muster.model.requests import REQUESTS, RequestEvent

if TYPE_CHECKING:
    from muster.client.answers import Job

# ruff: noqa: PLC0415

ENDED = "ended"
"""The code of the conflict that a job has ended."""

listing = Listing(JOBS)


def _offer(request: type[RequestEvent]) -> None:
    """List the command that asks this of jobs."""
    words = request.words

    def command(jobs: JobIds, reason: Because = None, output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
        with connect() as client:

            def ask(job: str) -> "Job":
                return client.request(words.verb, job, reason=reason)

            _change_all(jobs, ask if request.may_come_late else _unless_ended(ask), output, quiet=quiet)

    command.__name__, command.__doc__ = words.verb, words.command
    listing.add(command)


for _request in REQUESTS:
    _offer(_request)


@listing.add
def update(
    jobs: JobIds,
    priority: Annotated[int | None, typer.Option(min=0, max=100, help="From 0 to 100, inside its tier.")] = None,
    tier: Annotated[str | None, typer.Option(metavar="TIER", help="Another tier.")] = None,
    max_duration: Annotated[str | None, typer.Option(metavar="TIME", help="How long it may run: 90m, 7d.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="All its tags from now on.")] = None,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,
) -> None:
    """Change what jobs asked for."""
    limit_s = None if max_duration is None else seconds(max_duration, "--max-duration")
    tags = None if tag is None else dict(pair(each, "--tag") for each in tag)
    if (priority, tier, limit_s, tags) == (None, None, None, None):
        raise InvalidInput("nothing to change: give --priority, --tier, --max-duration or --tag")
    with connect() as client:
        _change_all(
            jobs,
            _unless_ended(
                lambda job: client.update(job, priority=priority, tier=tier, max_duration_s=limit_s, tags=tags)
            ),
            output,
            quiet=quiet,
        )


@listing.add
def retry(jobs: JobIds, output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """Submit ended jobs once more; of an array, the tasks that failed."""
    with connect() as client:
        _change_all(jobs, client.retry, output, quiet=quiet)


def _unless_ended(change: "Callable[[str], Job]") -> "Callable[[str], Job]":
    """The change, with a `Conflict` for a job that has ended and so cannot be changed."""

    def changed(job: str) -> "Job":
        try:
            found = change(job)
        except Conflict as error:
            if error.code != ENDED:
                raise
        else:
            if not found.is_final:
                return found
        raise Conflict(f"{job} has ended; nothing was changed")

    return changed


def _change_all(jobs: Iterable[str], change: "Callable[[str], Job]", output: Output, *, quiet: bool) -> None:
    """Change one job after another. A job that cannot be changed does not stop the others."""
    changed: list[Job] = []
    failed: list[MusterError] = []
    for job in dict.fromkeys(jobs):
        try:
            changed.append(change(job))
        except MusterError as error:
            failed.append(error)
    _report(changed, output, quiet=quiet)
    if failed:
        for earlier in failed[:-1]:
            note(str(earlier))
        raise failed[-1]


def _report(changed: "list[Job]", output: Output, *, quiet: bool) -> None:
    if output is Output.JSON:
        show_json([job.document for job in changed])
    elif quiet:
        show_ids(job.id for job in changed)
    else:
        from muster.cli.terminal.text import Text

        for job in changed:
            show(Text.assemble((job.id, "bold"), f"  {job.name}  ", (job.state, job_style(job.state))))
