"""Decides whether a control plane may govern the nodes of its home, and what has to be ended first.

A take-over ends what the former home ran, then leads, and then the log says that it was ended. The database remembers
the former home until that is done. So the next start completes a take-over that was killed in between.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from muster.backends.local.ownership import Traces, fence, this_owner, traces, unheard
from muster.home import Home
from muster.model.errors import Refused, Unavailable
from muster.model.events import ObservedEvent
from muster.model.machines.ownership import Leadership, Owner
from muster.model.records import evolve

_log = logging.getLogger("muster.local")


class ClusterRecord(Protocol):
    """What a database remembers about the owner of the nodes that it governs."""

    def owner(self) -> Owner | None:
        """The owner of the nodes that it governs; None when no control plane has led it yet."""
        ...

    def former(self) -> Owner | None:
        """The owner of the nodes that it governed before, until it is recorded that what they ran has ended."""
        ...

    def leadership(self) -> Leadership:
        """The newest leadership; an empty one when no control plane has led it yet."""
        ...

    def lead(self, owner: Owner, *, above_epoch: int = 0, take_over: bool = False) -> Leadership:
        """Begin an epoch. Raises `Refused` when there is another owner and `take_over` is False."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GoverningDatabase:
    """The database that is to govern the nodes."""

    name: str
    """For messages."""
    is_empty: bool
    record: ClusterRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the operator who starts a control plane has asked for."""

    home: Path
    take_over: bool = False
    """The database governed the nodes of another home: end what runs there, and go on here."""
    is_fenced: bool = False
    """The operator says that nothing runs in the other home any more, although that cannot be seen from here."""
    new_database: bool = False
    """The database may be another one than the nodes of this home obeyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What was found out when a control plane took charge of its nodes."""

    leadership: Leadership
    highest_number: int
    """The highest number of a job that ever ran here, as far as it is known."""
    last_words: tuple[ObservedEvent, ...] | None
    """Reports of the nodes of the former home that were not recorded. None when there is no former home."""


def take_charge(wanted: Wanted, database: GoverningDatabase) -> Charge:
    """Become the control plane that the nodes obey, unless they obey another database or this one has other nodes."""
    owner, found, record = this_owner(wanted.home), traces(wanted.home), database.record
    last, known = record.leadership(), record.owner()
    _check_nodes(wanted, database, found)
    if known is not None and not known.is_same(owner) and wanted.take_over:
        _end_what_runs_in(known, owner, is_fenced=wanted.is_fenced)
    seen = found.epochs.get(last.cluster, 0) if last.cluster else 0
    if seen > last.epoch:
        _log.warning("the database is older than its nodes: it was restored from a copy", extra={"epoch": seen})
    leadership = _lead(record, owner, seen, take_over=wanted.take_over)
    former = record.former()
    return Charge(
        # Whether these nodes may obey another database from now on was decided above.
        leadership=evolve(leadership, takes_over=found.obey_another_than(leadership.cluster)),
        highest_number=found.highest_number,
        last_words=None if former is None else _last_words(former, owner),
    )


def _check_nodes(wanted: Wanted, database: GoverningDatabase, found: Traces) -> None:
    """Raise `Refused` when nodes of this home run jobs of another database, unless the operator allows a new one.

    The same holds when this database is empty and the nodes have obeyed another one.
    """
    if wanted.new_database:
        return
    cluster = database.record.leadership().cluster
    running = found.running if database.is_empty or found.obey_another_than(cluster) else ()
    if running:
        raise Refused(
            f"{database.name} is not the one that started what runs here: {', '.join(running[:5])}; name the right "
            "database, end it with `muster down --jobs`, or go on with `muster up --new-database`, which keeps its "
            "GPUs busy until `muster quarantine` is told what to do with it"
        )
    if database.is_empty and found.has_obeyed:
        raise Refused(
            f"{database.name} is empty, and the nodes of {wanted.home} have obeyed another one: was it moved? Put it "
            "back or name the right one; `muster up --new-database` begins anew without it"
        )


def _end_what_runs_in(known: Owner, owner: Owner, *, is_fenced: bool) -> None:
    """End what the nodes of the former home run. If that is not possible, the operator must say that nothing does."""
    nodes, is_this_machine = Home(Path(known.home)).nodes, known.machine == owner.machine
    if is_this_machine and nodes.is_dir():
        fence(Path(known.home))
    elif not is_fenced and is_this_machine:
        raise Refused(
            f"what runs in {known} cannot be ended: {nodes} is not there; was it moved, is it not mounted, or is it on "
            "another machine with the same machine-id? Put it back, or see to it that nothing of it runs any more, and "
            "then say `muster up --take-over --fenced`"
        )
    elif not is_fenced:
        raise Refused(
            f"what runs in {known} cannot be ended from here: run `muster down --jobs --home {known.home}` there, "
            "and then `muster up --take-over --fenced` here"
        )


def _lead(record: ClusterRecord, owner: Owner, seen: int, *, take_over: bool) -> Leadership:
    """Begin an epoch. If it cannot be written, as on a full disk, the lock on the store must be enough until it can."""
    try:
        return record.lead(owner, above_epoch=seen, take_over=take_over)
    except Unavailable:
        last, known = record.leadership(), record.owner()
        if known is None or not known.is_same(owner):
            raise
        return evolve(last, epoch=max(last.epoch, seen) + 1)


def _last_words(former: Owner, owner: Owner) -> tuple[ObservedEvent, ...]:
    """Reports that the former home left on disk. It was fenced before this home led, and may be in use again by now."""
    return unheard(Path(former.home)) if former.machine == owner.machine else ()
