"""Tries one after another on the same machine, and what they found."""

import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.failover.faults import FAULTS
from tests.failover.ledger import Submitter, begin_long, problems, settle
from tests.failover.planes import Planes, await_so


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One fault and what came of it."""

    kind: str
    took_s: float
    has_moved: bool
    acknowledged: int
    """Submissions that were acknowledged around the fault."""
    stale_writes: int
    """Transactions of a control plane that did not lead."""
    problems: tuple[str, ...]
    """What was lost, ran twice, was disturbed or was commanded by a control plane that did not lead."""


@contextmanager
def machine() -> Iterator[Planes]:
    """Two control planes that work, and are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="failover-"))
    planes = Planes(folder)
    try:
        planes.start()
        yield planes
    finally:
        planes.end()
        shutil.rmtree(folder, ignore_errors=True)


def run_tries(planes: Planes, kinds: Iterable[str], seed: int) -> Iterator[Try]:
    """Let these faults strike one after another, while jobs are submitted and others run on."""
    chance = random.Random(seed)
    for number, kind in enumerate(kinds, start=1):
        yield _run(planes, f"t{number}", kind, chance)


def _run(planes: Planes, name: str, kind: str, chance: random.Random) -> Try:
    ledger, stop_file = planes.folder / f"{name}.ledger", planes.folder / f"{name}.stop"
    noted = len(planes.witness.writes())
    with planes.client() as client, planes.client() as second:
        label = f"{name}-long"
        long_jobs = {label: begin_long(client, label, ledger, stop_file)}
        submitter = Submitter(second, ledger)
        submitter.start(name)
        struck = FAULTS[kind](planes, chance)
        before = len(submitter.acknowledged)
        await_so(lambda: len(submitter.acknowledged) > before + 2, "submissions are acknowledged again")
        submitter.stop()
        stop_file.touch()
        _ = planes.leader  # both are well again
        settle(client, [*submitter.acknowledged.values(), *long_jobs.values()])
        found = problems(client, submitter, ledger, long_jobs)
    stale = [write for write in planes.witness.writes()[noted:] if write.is_stale]
    return Try(
        kind=kind,
        took_s=struck.took_s,
        has_moved=struck.has_moved,
        acknowledged=len(submitter.acknowledged),
        stale_writes=len(stale),
        problems=tuple(found),
    )
