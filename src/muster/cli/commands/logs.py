"""`muster logs`: what the workers of a job printed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import JOBS, Listing
from muster.cli.terminal.options import Follow, JobId, Output, Printed
from muster.cli.terminal.screen import is_terminal, note
from muster.model.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from muster.cli.following.log_printers import LogPrinter
    from muster.client import Client
    from muster.client.answers import Log

# ruff: noqa: PLC0415

LINE_BYTES = 512
"""A guess: to find the last N lines, the first search goes back N times this."""
FURTHER = 8
"""If lines are longer than that, each search goes back this many times as far."""
TAIL_BYTES = 8 << 20
"""How far back the search goes at most. Longer lines are not text that a person reads on a screen."""

Ranks = Annotated[str, typer.Option("-r", "--rank", metavar="RANK", help="Of which worker: 0, 1,3, 0-7 or all.")]
Lines = Annotated[int | None, typer.Option("-n", "--tail", min=1, metavar="N", help="Only the last N lines.")]
Raw = Annotated[bool, typer.Option("--raw", help="On a terminal too, exactly what was printed: it obeys it.")]
Attempt = Annotated[int | None, typer.Option(min=1, metavar="N", help="Of this attempt; else of the last.")]

listing = Listing(JOBS)


@listing.add
def logs(
    job: JobId,
    rank: Ranks = "0",
    follow: Follow = False,
    tail: Lines = None,
    attempt: Attempt = None,
    raw: Raw = False,
    output: Printed = Output.TABLE,
) -> None:
    """Print what a worker printed; -f goes on until the job has ended.

    On a terminal control characters are written out; what is piped is as it was printed.
    """
    with connect() as client:
        ranks = _ranks(client, job, rank, attempt)
        printer = _printer(job, ranks, output, raw=raw)
        since = (attempt or 1, 0)
        if tail is not None or not follow:
            for each in ranks:
                for piece in _pieces(client, job, each, attempt, tail):
                    printer(each, piece)
                    since = (piece.attempt, piece.end)
        if follow:
            _follow(client, job, ranks, printer, since)
        printer.close()


def _ranks(client: "Client", job: str, text: str, attempt: int | None) -> Sequence[int]:
    """The ranks that were asked for. For `all` the job says how many workers there are."""
    ranks = _ranks_named(client, job, text)
    if text not in ("0", "all"):
        _check_ranks(client, job, ranks, attempt)
    return ranks


def _check_ranks(client: "Client", job: str, ranks: Sequence[int], attempt: int | None) -> None:
    """Refuse ranks that the job does not have. A worker may have been there in an earlier attempt, and have a log."""
    from muster.cli.following.following import all_ranks

    known = all_ranks(client.job(job))
    for rank in ranks:
        if rank not in known and not _has_log(client, job, rank, attempt):
            those = f"its ranks are {known[0]} to {known[-1]}" if len(known) > 1 else "its only rank is 0"
            raise NotFound(f"{job} has no worker {rank}; {those}")


def _has_log(client: "Client", job: str, rank: int, attempt: int | None) -> bool:
    try:
        next(iter(client.logs(job, rank, attempt=attempt)), None)
    except NotFound:
        return False
    return True


def _ranks_named(client: "Client", job: str, text: str) -> Sequence[int]:
    if text == "all":
        from muster.cli.following.following import all_ranks

        return all_ranks(client.job(job))
    from muster.formats.text.ranges import array_spec
    from muster.formats.text.units import BadValue

    try:
        return array_spec(text).indices
    except BadValue:
        raise InvalidInput(f"--rank: {text!r} is not a rank; 0, 1,3, 0-7 or all") from None


def _printer(job: str, ranks: Sequence[int], output: Output, *, raw: bool) -> "LogPrinter":
    from muster.cli.following.log_printers import EscapingPrinter, JsonPrinter, PrefixPrinter, RawPrinter

    if output is Output.JSON:
        return JsonPrinter(job)
    printer = PrefixPrinter(ranks) if len(ranks) > 1 else RawPrinter()
    return printer if raw or not is_terminal() else EscapingPrinter(printer)


def _pieces(client: "Client", job: str, rank: int, attempt: int | None, tail: int | None) -> "Sequence[Log]":
    try:
        return (
            list(client.logs(job, rank, attempt=attempt)) if tail is None else _tail(client, job, rank, attempt, tail)
        )
    except NotFound:
        if rank == 0:
            raise
        return []  # Some workers may have no log: elastic workers may never have run.


def _tail(client: "Client", job: str, rank: int, attempt: int | None, lines: int) -> "Sequence[Log]":
    """The last lines, each of them whole. The search goes further and further back, up to a limit."""
    reach, most = lines * LINE_BYTES, max(TAIL_BYTES, lines * LINE_BYTES)
    while True:
        found = list(client.logs(job, rank, attempt=attempt, offset=-reach))
        is_all = not found or found[0].start == 0
        last = last_lines(found, lines)
        if is_all or last[0].start > found[0].start:
            return last
        if reach >= most:
            note(f"rank {rank}: the last {lines} lines are longer than {most >> 20} MiB; the first is cut")
            return last
        reach = min(most, reach * FURTHER)


def last_lines(pieces: "Sequence[Log]", lines: int) -> "Sequence[Log]":
    """The end of a log, cut after the line break before the last lines."""
    from dataclasses import replace

    text = b"".join(piece.text for piece in pieces)
    if not text:
        return pieces
    at = len(text) - 1 if text.endswith(b"\n") else len(text)
    for _ in range(lines):
        at = text.rfind(b"\n", 0, at) if at > 0 else -1
    return [replace(pieces[-1], text=text[at + 1 :], start=pieces[0].start + at + 1)]


def _follow(client: "Client", job: str, ranks: Sequence[int], printer: "LogPrinter", since: tuple[int, int]) -> None:
    from muster.cli.following.following import follow_job, leaving

    with leaving():
        follow_job(client, job, printer, ranks=ranks, since=since, quiet=True)
