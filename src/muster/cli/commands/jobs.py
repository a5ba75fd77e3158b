"""`muster ps`, `muster show`, `muster why`: looking at jobs."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.drawing.wording import now
from muster.cli.terminal.amounts import time_before
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import JobId, Output, Printed, Quiet
from muster.cli.terminal.screen import note, screen, show_ids, show_json
from muster.cli.terminal.screen import show as show_text
from muster.cli.terminal.screen import show_text as print_text
from muster.model.errors import InvalidInput
from muster.model.job import JobState

if TYPE_CHECKING:
    from muster.client.answers import JobBundle

# Drawing imports the answers, and with them the client. It is imported in the commands, so that all start fast.
# ruff: noqa: PLC0415

LISTED = 200
"""More than a person reads on a screen. `--limit` asks for more."""

States = Annotated[
    list[str] | None,
    typer.Option("--state", metavar="STATE", help="queued, running, failed …, or active or ended; repeatable."),
]

Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Submitted since then: 2h, 7d (before now), or 2026-01-31T08:00:00Z."),
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Submitted before then, written like --since.")]

listing = Listing(JOBS)


@listing.add
def ps(
    everything: Annotated[bool, typer.Option("-a", "--all", help="Ended jobs too.")] = False,
    state: States = None,
    team: Annotated[str | None, typer.Option(metavar="TEAM", help="Jobs of this team and those below it.")] = None,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Jobs that this user submitted.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Jobs with this name.")] = None,
    tier: Annotated[str | None, typer.Option(metavar="TIER", help="Jobs of this tier.")] = None,
    array: Annotated[str | None, typer.Option(metavar="JOB", help="The tasks of this array.")] = None,
    since: Since = None,
    until: Until = None,
    start: Annotated[
        bool, typer.Option("--start", help="When the jobs that wait may start, the soonest first.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")] = LISTED,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,
) -> None:
    """List jobs: those that wait or run, or with --all, --since or --until those that ended too."""
    _check_states(state or ())
    filters: dict[str, Any] = {"team": team, "user": user, "name": name, "tier": tier, "array": array}
    filters |= {"since": _moment("--since", since), "until": _moment("--until", until)}
    if start:
        if state or everything:
            raise InvalidInput("--start is about jobs that wait; leave out --state and --all")
        _show_starts(filters, limit, output, quiet=quiet)
        return
    wanted = state or (None if everything or array or since or until else ["active"])
    with connect() as client:
        found = list(client.jobs(state=wanted, **filters, limit=limit + 1))
    jobs = found[:limit]
    if output is Output.JSON:
        show_json([job.document for job in jobs])
    elif quiet:
        show_ids(job.id for job in jobs)
    elif jobs:
        from muster.cli.drawing.job_list import job_list

        console = screen()
        show_text(job_list(jobs, console, now()), console)
    else:
        note("no such jobs" if everything or state else "nothing waits or runs; -a shows what has ended")
    if len(found) > limit:
        note(f"there are more than {limit}; --limit shows more, --team and --state fewer")


def _moment(option: str, said: str | None) -> datetime | None:
    return None if said is None else time_before(said, option)


def _check_states(said: Sequence[str]) -> None:
    known = (*JobState, "active", "ended")
    wrong = next((each for each in said if each not in known), None)
    if wrong is not None:
        raise InvalidInput(f"--state: {wrong!r} is not a state; there are {', '.join(known)}")


@listing.add
def show(
    job: JobId,
    events: Annotated[bool, typer.Option("--events", help="Also what happened to it, oldest first.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="How its copied workdir differed from the commit; nothing else.")
    ] = False,
    output: Printed = Output.TABLE,
) -> None:
    """Show everything about a job."""
    with connect() as client:
        found = client.job(job)
        history = list(client.job_events(job)) if events else []
        bundle = client.bundle(job) if diff or (output is Output.JSON and "bundle" in found.spec) else None
    if output is Output.JSON:
        more = {"events": [each.document for each in history]} if events else {}
        show_json({**found.document, **more} | ({} if bundle is None else {"bundle": bundle.document}))
        return
    if bundle is not None:
        _show_diff(bundle)
        return
    from muster.cli.drawing.job_card import job_card

    console = screen()
    show_text(job_card(found, console, now()), console)
    if events:
        from muster.cli.drawing.event_lines import event_line

        console.print()
        for each in history:
            show_text(event_line(each, now()), console)


def _show_diff(bundle: "JobBundle") -> None:
    """Print the difference as it is, for a pager or for `git apply`."""
    if not bundle.kept:
        note("its files are not kept any more: no job has used them for a month")
    elif bundle.diff is None:
        note("no file of the commit was changed" if bundle.commit else "its files were in no git repository")
    else:
        print_text(bundle.diff)
        if bundle.diff_cut:
            note("the difference is longer, and only its beginning is kept")


@listing.add
def why(job: JobId, output: Printed = Output.TABLE) -> None:
    """Say why a job waits, what would help, and when it will start."""
    with connect() as client:
        answer = client.why(job)
    if output is Output.JSON:
        show_json(answer.document)
        return
    from muster.cli.drawing.reasons import why_text

    console = screen()
    show_text(why_text(answer, console, now()), console)


def _show_starts(filters: dict[str, Any], limit: int, output: Output, *, quiet: bool) -> None:
    """Print when queued jobs that match the filters may start, the soonest first."""
    with connect() as client:
        waiting = list(client.starts(**filters))
    shown = waiting[:limit]
    if output is Output.JSON:
        show_json([each.document for each in shown])
    elif quiet:
        show_ids(each.job for each in shown)
    elif shown:
        from muster.cli.drawing.start_list import grounds_texts, start_list

        show_text(start_list(shown, now()), screen())
        for text in grounds_texts(shown):
            note(text)
    else:
        note("no such job waits for its start")
    if len(waiting) > limit:
        note(f"there are more than {limit}; --limit shows more")
