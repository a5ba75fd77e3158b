"""Waiting until jobs have ended, with a line that shows how far they are."""

import time
from collections.abc import Iterator, Sequence
from math import inf

import typer
from rich.console import Console
from rich.live import Live

from muster.cli.drawing.job_list import job_list, tasks_text
from muster.cli.drawing.state_words import job_style
from muster.cli.drawing.wording import count, duration, now
from muster.cli.terminal.exits import Exit, exit_of_states
from muster.cli.terminal.options import Output
from muster.cli.terminal.screen import note, screen, show, show_ids, show_json
from muster.cli.terminal.text import Text
from muster.client.answers import Job
from muster.client.client import Client
from muster.client.pauses import pauses_s

NAMED = 3
"""Unfinished jobs that the progress line names."""


def wait_for(client: Client, ids: Sequence[str], *, timeout_s: float | None) -> list[Job]:
    """All jobs once they have ended, or in their present state when time is up."""
    console = screen(stderr=True)
    jobs: list[Job] = []
    with Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False) as live:
        for jobs in _watched(client, tuple(dict.fromkeys(ids)), timeout_s):
            if console.is_terminal:
                live.update(progress_line(jobs, console), refresh=True)
    return jobs


def _watched(client: Client, ids: Sequence[str], timeout_s: float | None) -> Iterator[list[Job]]:
    """The jobs, read again and again, until all have ended or time is up."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    known: dict[str, Job] = {}
    pauses = pauses_s()
    while True:
        for job in ids:
            if job not in known or not known[job].is_final:
                known[job] = client.job(job)
        jobs = list(known.values())
        yield jobs
        left_s = inf if until is None else until - time.monotonic()
        if all(job.is_final for job in jobs) or left_s <= 0:
            return
        time.sleep(min(next(pauses), left_s))


def progress_line(jobs: Sequence[Job], console: Console) -> Text:
    """`2 of 5 ended   job-3 running 4m   job-4 queued`, cut to one line."""
    ended = sum(job.is_final for job in jobs)
    text = Text.assemble((f"{ended} of {len(jobs)} ended", "bold"), no_wrap=True, overflow="ellipsis")
    present = now()
    unfinished = [job for job in jobs if not job.is_final]
    for job in unfinished[:NAMED]:
        start = job.started or job.submitted
        since = f" {duration((present - start).total_seconds())}" if start else ""
        text.append(f"   {job.id} ").append(job.state, style=job_style(job.state)).append(since, style="dim")
        if job.tasks:
            text.append(f" ({tasks_text(job.tasks)})", style="dim")
    if len(unfinished) > NAMED:
        text.append(f"   and {len(unfinished) - NAMED} more", style="dim")
    text.truncate(console.width, overflow="ellipsis")
    return text


def report(jobs: Sequence[Job], output: Output, *, quiet: bool) -> None:
    """Print how jobs ended, and exit with the code for that."""
    if output is Output.JSON:
        documents = [job.document for job in jobs]
        show_json(documents[0] if len(documents) == 1 else documents)
    elif quiet:
        show_ids(job.id for job in jobs)
    else:
        console = screen()
        show(job_list(jobs, console, now()), console)
    unfinished = [job for job in jobs if not job.is_final]
    if unfinished:
        note(f"time is up, and {count(len(unfinished), 'job')} did not end: {' '.join(job.id for job in unfinished)}")
    code = exit_of_states(job.state for job in jobs)
    raise typer.Exit(code if code is Exit.FAILED or not unfinished else Exit.CANCELLED)
