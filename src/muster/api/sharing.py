"""A control plane that shares its database with others: it stands by, leads, and stands by again.

Every change of roles ends one HTTP server and begins another on the same listening socket. Whoever connects in between
waits a moment. Nothing of one role outlives it, but the process, the socket and the open database.
"""

import logging
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from muster import __version__
from muster.api.app import create_app
from muster.api.deps import Deps, Settings
from muster.api.server import Listening, StopRequest, address_of, serve
from muster.attempt_token import read_job_access
from muster.backends.local.job_files import JobFiles
from muster.backends.local.ownership import this_owner
from muster.home import Home
from muster.live.address_file import whereabouts
from muster.live.clock import SystemClock
from muster.live.leadership.candidacy import Candidacy
from muster.live.leadership.follower import Follower
from muster.live.leadership.lease_keeper import LeaseKeeper
from muster.live.leadership.silent_backend import SilentBackend
from muster.live.leadership.term import Term
from muster.live.publishing.metrics import Metrics
from muster.locks import together_in
from muster.loopback import is_loopback
from muster.model.errors import Refused, Superseded, Unavailable
from muster.model.machines.lease import LEASE_MS, STANDBY_LOOK_MS, LeaseHolder, LeaseRecord
from muster.private_files import write_private
from muster.processes import entry
from muster.store.sql.store import SharedStore, open_shared_store

CHANGE_S = 1
"""How long open requests may delay a change of roles."""

BUSY = "a control plane on another database runs here; `muster down` ends it"

_log = logging.getLogger("muster.api.sharing")

Lead = Callable[[SharedStore, Term, StopRequest], bool]
"""Leads until the lease is over or a signal comes. Returns True in the second case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """A control plane, the database and the home that it shares, and where it listens."""

    home: Path
    database: str
    urls: tuple[str, ...]
    """The addresses of all control planes, as far as they are configured."""
    listener: socket.socket
    listening: Listening
    settings: Settings
    take_over: bool
    """The database may govern the nodes of another home, whose place this one takes."""
    take_lead: bool
    """Ask the present leader, if there is one, to hand over."""

    def serve(self, lead: Lead) -> None:
        """Stand by and lead in turns, until a signal comes."""
        record = Home(self.home).standbys / f"{os.getpid()}.json"
        with (
            open_shared_store(self.database) as store,
            together_in(self.home, store.identity, BUSY),
        ):
            is_other = _has_other_owner(store, self.home, take_over=self.take_over)
            own = _this_holder(self.home, own_url(address_of(self.listener, self.listening), self.urls))
            try:
                if is_other:
                    _await_end(store, own)
                _take_turns(store, own, self._stand_by, lead, take_lead=self.take_lead)
            finally:
                record.unlink(missing_ok=True)

    def _stand_by(self, store: SharedStore, candidacy: Candidacy) -> bool:
        """Serve until it is this control plane's turn to lead, or until a signal. Returns True in the second case."""
        ending, metrics = StopRequest(CHANGE_S), Metrics()
        follower = Follower(log=store.log, states=store.states, candidacy=candidacy, on_turn=ending.ask)
        metrics.watch(follower)
        access = read_job_access(self.home)
        deps = Deps(
            control=follower,
            stands_by=True,
            certificate=self.listening.certificate,
            tokens=store.tokens,
            audit=store.audit,
            events=store.log,
            jobs=store.jobs,
            backend=SilentBackend(JobFiles(self.home)),
            clock=SystemClock(),
            metrics=metrics,
            job_key=b"" if access is None else access.key,
            settings=self.settings,
        )
        follower.start()
        try:
            serve(create_app(deps), self.listener, self.listening, on_listening=self._say, ending=ending)
        finally:
            follower.stop()
        return not ending.is_asked

    def _say(self, url: str) -> None:
        """Say where it is, to people and to programs of this home."""
        folder = Home(self.home).standbys
        with suppress(OSError):  # on a full disk it stands by all the same
            folder.mkdir(mode=0o700, exist_ok=True)
            write_private(folder / f"{os.getpid()}.json", whereabouts(url))
            sys.stdout.write(f"Muster stands by at {url}, and leads when the present leader is gone.\n")
            sys.stdout.flush()


def _take_turns(
    store: SharedStore,
    own: LeaseHolder,
    stand_by: Callable[[SharedStore, Candidacy], bool],
    lead: Lead,
    *,
    take_lead: bool,
) -> None:
    """Lead whenever it is this control plane's turn, and stand by otherwise, until a signal comes."""
    candidacy = Candidacy(store.lease, own, asks_for_it=take_lead)
    is_first, is_free = True, candidacy.look()
    while True:
        if not is_free and stand_by(store, candidacy):
            return
        rests_ms = 0
        try:
            if _lead_once(store, own, candidacy.seen, lead):
                return
        except Superseded as error:
            _log.info("another control plane was faster", extra={"cause": str(error)})
        except (Refused, Unavailable) as error:
            if is_first and is_free:
                raise
            _log.error("this control plane cannot lead", extra={"cause": str(error)})
            rests_ms = LEASE_MS
        is_first = is_free = False
        candidacy = Candidacy(store.lease, own, rests_ms=rests_ms)


def _lead_once(store: SharedStore, own: LeaseHolder, seen: LeaseRecord, lead: Lead) -> bool:
    ending = StopRequest(CHANGE_S)
    keeper = LeaseKeeper(store.lease, own.id, ending.ask)
    try:
        store.lease.begin_writing(seen)
        return lead(store, Term(store.cluster, keeper, own, seen), ending)
    finally:
        keeper.end()
        store.lease.end_writing()


def _has_other_owner(store: SharedStore, home: Path, *, take_over: bool) -> bool:
    """True when the database governs the nodes of another home. Raises `Refused` unless this one takes over."""
    known, own = store.cluster.owner(), this_owner(home)
    is_other = known is not None and not known.is_same(own)
    if is_other and not take_over:
        raise Refused(
            f"{store.name} governs the nodes of {known}: two homes on one database would run every job twice; "
            "`muster up --take-over` ends what runs there and goes on here"
        )
    return is_other


def _await_end(store: SharedStore, own: LeaseHolder) -> None:
    """Wait until nobody leads from the other home. Raises `Refused` when somebody goes on doing so."""
    candidacy, until_s = Candidacy(store.lease, own), time.monotonic() + LEASE_MS / 1000 + CHANGE_S
    while not candidacy.look():
        if time.monotonic() > until_s:
            leader = "another control plane" if candidacy.leader is None else candidacy.leader.url
            raise Refused(f"{store.name} is in use by {leader}: end that one first, or use another store")
        time.sleep(STANDBY_LOOK_MS / 1000)


def _this_holder(home: Path, url: str) -> LeaseHolder:
    """The present process, as the others on its database know it."""
    owner, own = this_owner(home), entry(os.getpid())
    return LeaseHolder(
        id=secrets.token_hex(8),
        url=url,
        machine=owner.machine,
        host=owner.host,
        pid=os.getpid(),
        start_ticks=0 if own is None else own.start_ticks,
        muster=__version__,
    )


def own_url(bound_url: str, urls: tuple[str, ...]) -> str:
    """The address at which the others reach this control plane: the one of `urls` that means this machine and port."""
    bound = urlsplit(bound_url)
    names = {bound.hostname, socket.gethostname().lower(), socket.getfqdn().lower()}
    for url in urls:
        said = urlsplit(url)
        is_here = said.hostname in names or (is_loopback(said.hostname or "") and is_loopback(bound.hostname or ""))
        if said.port == bound.port and is_here:
            return url
    if bound.hostname in ("0.0.0.0", "::"):
        return f"{bound.scheme}://{socket.getfqdn()}:{bound.port}"
    return bound_url
