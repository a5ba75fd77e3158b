"""Watching a job until it ends: its output goes to a printer, its changes of state to stderr."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Queue
from threading import Thread

from muster.cli.following.log_printers import Printer
from muster.cli.terminal.screen import note, screen
from muster.client.answers import Job, Log
from muster.client.client import Client
from muster.client.pauses import pauses_s
from muster.formats.text.ranges import node_ranges, worker_range
from muster.model.errors import InvalidInput, MusterError

# `srun` follows jobs and says nothing, and does without what words and exits need.
# ruff: noqa: PLC0415

RANKS_FOLLOWED = 64
"""Each rank takes a connection and a thread. No person reads the output of more at once."""
PIECES_QUEUED = 256


def follow_job(
    client: Client,
    job_id: str,
    printer: Printer,
    *,
    ranks: Sequence[int] = (0,),
    since: tuple[int, int] = (1, 0),
    quiet: bool = False,
    began: Callable[[int], None] = lambda _: None,
) -> Job:
    """Print what workers print, attempt after attempt, and return the job once it has ended.

    `since` is the attempt and the offset to begin with. Changes of the job's state are told on stderr unless `quiet`.
    `began` is called with each attempt before it is shown.
    """
    first, offset = since
    for attempt in _attempts(client, job_id, first, shown=ranks, quiet=quiet):
        began(attempt)
        start = offset if attempt == first else 0
        for rank, piece in merged(client, job_id, ranks, attempt=attempt, offset=start):
            printer(rank, piece)
    return client.job(job_id)


def _attempts(client: Client, job_id: str, first: int, *, shown: Sequence[int], quiet: bool) -> Iterator[int]:
    """The numbers of a job's attempts, each as soon as the attempt began. Ends when the job has ended."""
    coming, told, pauses = first, "", pauses_s()
    while True:
        job = client.job(job_id)
        if job.tasks is not None:
            raise InvalidInput(f"{job_id} is an array; name one of its tasks, such as {job_id}.0")
        told = told if quiet else _tell(job, told)
        if job.attempt >= coming:
            if coming == first and not quiet:
                _tell_left_out(job, shown)
            yield from range(coming, job.attempt + 1)
            coming, pauses = job.attempt + 1, pauses_s()
        elif job.is_final:
            return
        else:
            time.sleep(next(pauses))


def merged(
    client: Client, job_id: str, ranks: Sequence[int], *, attempt: int, offset: int = 0
) -> Iterator[tuple[int, Log]]:
    """The output of several workers as it comes, until all of them are gone. Some may never print anything."""
    if len(ranks) == 1:
        yield from ((ranks[0], piece) for piece in client.logs(job_id, ranks[0], True, attempt, offset))
        return
    if len(ranks) > RANKS_FOLLOWED:
        raise InvalidInput(f"{len(ranks)} ranks are too many to follow; at most {RANKS_FOLLOWED} at once")
    pieces: Queue[tuple[int, Log | MusterError | None]] = Queue(PIECES_QUEUED)

    def read(rank: int) -> None:
        try:
            for piece in client.logs(job_id, rank, True, attempt, offset):
                pieces.put((rank, piece))
            pieces.put((rank, None))
        except MusterError as error:
            pieces.put((rank, error))

    for rank in ranks:
        # These threads are not joined: a reader that is left after Ctrl-C ends with the process.
        Thread(target=read, args=(rank,), daemon=True).start()
    left = len(ranks)
    while left:
        rank, piece = pieces.get()
        if isinstance(piece, MusterError):
            raise piece
        if piece is None:
            left -= 1
        else:
            yield rank, piece


@contextmanager
def leaving(message: str = "", *, code: int = 0) -> Iterator[None]:
    """Let Ctrl-C end only the watching, not the job. The message says so."""
    try:
        yield
    except KeyboardInterrupt:
        import typer

        if message:
            screen(stderr=True).print()
            note(message)
        raise typer.Exit(code) from None


def _tell(job: Job, told: str) -> str:
    """Say what state a job is in, once for each change. Returns what was said last."""
    from muster.cli.drawing.state_words import state_news
    from muster.cli.drawing.wording import count

    if job.workers and job.state in ("starting", "running"):
        nodes = node_ranges(worker.node for worker in job.workers)
        again = f", attempt {job.attempt}" if job.attempt > 1 else ""
        news = f"{job.id} has {count(len(job.workers), 'worker')} on {nodes}{again}"
    elif said := state_news(job.state, job.id):
        news = f"{job.id} {said}"
    else:
        return told
    if news != told:
        note(news)
    return news


def all_ranks(job: Job) -> Sequence[int]:
    """The ranks of a job's workers. For a job that does not run, the ranks that its file asks for."""
    if job.workers:
        return [worker.rank for worker in job.workers]
    roles = job.spec.get("roles") or {"": job.spec}
    return range(sum(worker_range(role.get("workers", 1))[1] for role in roles.values()))


def _tell_left_out(job: Job, shown: Sequence[int]) -> None:
    """Say where to find the output of the workers that are not shown."""
    if not all(rank in shown for rank in all_ranks(job)):
        which = f"ranks {', '.join(map(str, shown))} are" if len(shown) > 1 else f"rank {shown[0]} is"
        note(f"only {which} shown; `muster logs -r all {job.id}` shows the others")
