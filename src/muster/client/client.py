"""The client: one method for each operation of the API, and `request` for all that is asked of a job by its id.

Answers are the values of `answers`. Failures are raised as errors of `muster.model.errors`. Each submission carries its
own key, so that repeating it after a lost answer never submits the job twice.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import httpx

from muster.client.address import find_address
from muster.client.answers import (
    AuditEntry,
    Document,
    DryRun,
    Event,
    Identity,
    Log,
    Node,
    NodeHealth,
    QuarantinedGang,
    Reservation,
    SignInLink,
    Story,
    Token,
    WaitingStart,
    Why,
)
from muster.client.building import build
from muster.client.bundles.workdirs import packed_workdir, send_bundle, with_bundle
from muster.client.governing import Governing
from muster.client.job_handle import JobHandle, job_handle
from muster.client.pauses import pauses_s
from muster.client.streams import ExportedTrace, follow_log, read_events, read_log, read_past_events
from muster.client.trainings import job_path, quoted
from muster.client.transport import KEY, TIMEOUT_S, TRIES, Sleep, Transport
from muster.model.errors import InvalidInput, NotFound, TimedOut

if TYPE_CHECKING:
    from muster.client.bundles.packing import PackedFolder

JobSource = Mapping[str, Any] | str | Path
"""A job as plain values, as the text of a job file, or as the path of a job file."""


class Client(Governing):
    """A connection to one server. As a context manager it closes the connection at the end."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT_S,
        tries: int = TRIES,
        transport: httpx.BaseTransport | None = None,
        sleep: Sleep = time.sleep,
    ) -> None:
        """Without arguments, use the server of MUSTER_URL, of `muster login`, or the one that runs on this machine.

        An answer may take `timeout` seconds. A request is sent up to `tries` times when a retry can help.
        """
        address = find_address(url, token)
        self._wire = Transport(address, below=transport, timeout_s=timeout, tries=tries, sleep=sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._wire.address.url

    @property
    def token(self) -> str:
        """The token that this client sends; empty when it has none."""
        return self._wire.address.token

    @overload
    def submit(
        self,
        job: JobSource,
        *,
        key: str | None = None,
        held: bool = False,
        dry_run: Literal[False] = False,
        packed: "PackedFolder | None" = None,
    ) -> JobHandle: ...

    @overload
    def submit(
        self,
        job: JobSource,
        *,
        key: str | None = None,
        held: bool = False,
        dry_run: Literal[True],
        packed: "PackedFolder | None" = None,
    ) -> DryRun: ...

    def submit(
        self,
        job: JobSource,
        *,
        key: str | None = None,
        held: bool = False,
        dry_run: bool = False,
        packed: "PackedFolder | None" = None,
    ) -> JobHandle | DryRun:
        """Submit a job. With `dry_run` nothing is changed, and the answer says what would happen to the job.

        Two submissions with the same `key` are one submission. A job file is completed on this machine: its `workdir`
        is the current folder unless the file names one, and variables that its `env` leaves open are taken from the
        environment. The files of a relative `workdir`, beside the file or in the current folder, are sent along,
        unless they are `packed` already.
        """
        document, file, beside = _job_document(job)
        packed = packed or packed_workdir(document, beside)
        if packed is not None:
            if not dry_run:
                send_bundle(self._wire, document, packed)
            document = with_bundle(document, packed)
        headers = None if dry_run else {KEY: key or uuid.uuid4().hex}
        body = {"job": document, "held": held}
        query = {"dry_run": True} if dry_run else None
        answer = self._wire.json("POST", "/v1/jobs", query=query, body=body, headers=headers, file=file)
        return build(DryRun, answer) if dry_run else job_handle(self, answer)

    def job(self, job: str) -> JobHandle:
        """A job in its current state."""
        return job_handle(self, self._wire.json("GET", job_path(job)))

    def jobs(
        self,
        *,
        state: str | Sequence[str] | None = None,
        team: str | None = None,
        user: str | None = None,
        name: str | None = None,
        tier: str | None = None,
        array: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[JobHandle]:
        """All jobs that match the filters. `state` may also be `active` or `ended`. Pages are fetched as needed.

        `since` and `until` are about when a job was submitted. Both need a time zone.
        """
        query = {"state": state, "team": team, "user": user, "name": name, "tier": tier, "array": array}
        query |= {"since": _moment(since), "until": _moment(until)}
        return (job_handle(self, each) for each in self._items("/v1/jobs", query, limit=limit))

    def starts(self, **filters: str | datetime | None) -> Iterator[WaitingStart]:
        """When queued jobs may start, the soonest first, with the filters of `jobs`. The answer may take seconds."""
        query = {name: _moment(each) if isinstance(each, datetime) else each for name, each in filters.items()}
        return self._pages("/v1/starts", WaitingStart, query)

    def why(self, job: str) -> Why:
        """Why a job waits, and when it will start."""
        return build(Why, self._wire.json("GET", f"{job_path(job)}/why"))

    def story(self, job: str) -> Story:
        """How a job got into its state, in words."""
        return build(Story, self._wire.json("GET", f"{job_path(job)}/story"))

    def job_events(self, job: str) -> Iterator[Event]:
        """What happened to a job, oldest first."""
        return self._pages(f"{job_path(job)}/events", Event, {})

    def request(self, verb: str, job: str, *, reason: str | None = None) -> JobHandle:
        """Ask something of a job, or of every task of an array: one of the verbs of `muster.model.requests`."""
        return job_handle(self, self._wire.json("POST", f"{job_path(job)}/{quoted(verb)}", body=_because(reason)))

    def cancel(self, job: str, *, reason: str | None = None) -> JobHandle:
        """End a job, or every task of an array."""
        return self.request("cancel", job, reason=reason)

    def hold(self, job: str, *, reason: str | None = None) -> JobHandle:
        """Keep a job from starting until it is released."""
        return self.request("hold", job, reason=reason)

    def release(self, job: str, *, reason: str | None = None) -> JobHandle:
        """Let a held job start."""
        return self.request("release", job, reason=reason)

    def signal(self, job: str, name: str, *, script_only: bool = False) -> JobHandle:
        """Send a signal such as `USR1` to the processes of a job, or only to the shell of its batch script."""
        body = {"name": name, "script_only": script_only}
        return job_handle(self, self._wire.json("POST", f"{job_path(job)}/signal", repeatable=False, body=body))

    def update(
        self,
        job: str,
        *,
        priority: int | None = None,
        tier: str | None = None,
        max_duration_s: float | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> JobHandle:
        """Change what a job asked for. What is None stays as it is."""
        changes = {"priority": priority, "tier": tier, "max_duration_s": max_duration_s, "tags": tags}
        given = {key: value for key, value in changes.items() if value is not None}
        return job_handle(self, self._wire.json("PATCH", job_path(job), body=given))

    def retry(self, job: str) -> JobHandle:
        """Submit an ended job, or the failed tasks of an array, again."""
        headers = {KEY: uuid.uuid4().hex}
        return job_handle(self, self._wire.json("POST", f"{job_path(job)}/retry", headers=headers))

    def wait(self, job: str, timeout: float | None = None) -> JobHandle:
        """Wait until a job has ended in any way. Raises `TimedOut` when that takes longer than `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        pauses = pauses_s()
        while not (found := self.job(job)).is_final:
            left_s = inf if until is None else until - time.monotonic()
            if left_s <= 0:
                raise TimedOut(f"{job} is still {found.state} after {timeout:g} s; it goes on")
            self._wire.sleep(min(next(pauses), left_s))
        return found

    def logs(
        self,
        job: str,
        rank: int = 0,
        follow: bool = False,
        attempt: int | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Log]:
        """What a worker printed, piece by piece. A negative `offset` counts from the end.

        With `follow` it waits until the worker starts and prints something, and continues until the worker has ended.
        """
        query = {"rank": rank, "attempt": attempt, "offset": offset, "limit": limit}
        return self._followed(job, query) if follow else read_log(self._wire, f"{job_path(job)}/logs", query)

    def _followed(self, job: str, query: dict[str, Any]) -> Iterator[Log]:
        """A log from its beginning, which may come later. It never comes if the job ends without printing anything."""
        pauses, is_over = pauses_s(), False
        while True:
            try:
                yield from follow_log(self._wire, f"{job_path(job)}/logs", query)
                return
            except NotFound:
                if is_over:
                    return
            found = self.job(job)
            if found.tasks is not None:
                raise InvalidInput(f"{job} is an array; name one of its tasks, such as {job}.0")
            is_over = found.is_final or found.attempt > (query["attempt"] or found.attempt)
            if not is_over:
                self._wire.sleep(next(pauses))

    def events(
        self, after: int | None = None, *, job: str | None = None, team: str | None = None, follow: bool = True
    ) -> Iterator[Event]:
        """Events as they happen, after a version or from now on. After a broken connection the client reconnects.

        Without `follow` it ends after the events so far.
        """
        read = read_events if follow else read_past_events
        return read(self._wire, {"after": after, "job": job, "team": team})

    def nodes(self) -> Iterator[Node]:
        """All nodes."""
        return self._pages("/v1/nodes", Node, {})

    def node(self, node: str) -> Node:
        """A node in its current state."""
        return build(Node, self._wire.json("GET", f"/v1/nodes/{quoted(node)}"))

    def node_health(self, node: str) -> NodeHealth:
        """The health of a node."""
        return build(NodeHealth, self._wire.json("GET", f"/v1/nodes/{quoted(node)}/health"))

    def nodes_health(self) -> Iterator[NodeHealth]:
        """The health of all nodes."""
        return self._pages("/v1/health", NodeHealth, {})

    def drain(self, node: str, *, reason: str | None = None, evict: bool = False, grace: str | None = None) -> Node:
        """Place no new work on a node. What runs there may end in its own time, or is told to leave (`evict`)."""
        body = {**_because(reason), **({"evict": True} if evict else {}), **({"grace": grace} if grace else {})}
        return build(Node, self._wire.json("POST", f"/v1/nodes/{quoted(node)}/drain", body=body))

    def reservations(self) -> Iterator[Reservation]:
        """Nodes that are set aside, now or later."""
        return self._pages("/v1/reservations", Reservation, {})

    def reserve(self, name: str, nodes: Sequence[str], start: str, end: str, **more: str) -> Reservation:
        """Set nodes aside. `team`, `user` and `reason` may be given; with neither team nor user, for nobody."""
        body = {"name": name, "nodes": list(nodes), "start": start, "end": end, **more}
        return build(Reservation, self._wire.json("POST", "/v1/reservations", body=body))

    def remove_reservation(self, name: str, *, reason: str | None = None) -> None:
        """Let all jobs use the nodes of a reservation again."""
        self._wire.json("POST", f"/v1/reservations/{quoted(name)}/remove", body=_because(reason))

    def quarantine(self) -> Iterator[QuarantinedGang]:
        """The gangs that run on nodes although the server's database does not know them."""
        return self._pages("/v1/quarantine", QuarantinedGang, {})

    def adopt(self, job: str, *, reason: str | None = None) -> None:
        """Let a job continue with its gang in quarantine."""
        self._wire.json("POST", f"/v1/quarantine/{quoted(job)}/adopt", body=_because(reason))

    def kill_quarantined(self, job: str, *, reason: str | None = None) -> None:
        """End all processes that a job has in quarantine."""
        self._wire.json("POST", f"/v1/quarantine/{quoted(job)}/kill", body=_because(reason))

    def undrain(self, node: str, *, reason: str | None = None) -> Node:
        """Let a drained node take work again."""
        return build(Node, self._wire.json("POST", f"/v1/nodes/{quoted(node)}/undrain", body=_because(reason)))

    def fence(self, node: str, *, reason: str | None = None) -> Node:
        """Say that a node which cannot be reached is off, so that what it ran is started elsewhere."""
        return build(Node, self._wire.json("POST", f"/v1/nodes/{quoted(node)}/fence", body=_because(reason)))

    def queue(self) -> Document:
        """How many jobs wait and run by tier and team, the GPUs in use, and the longest wait."""
        answer: Document = self._wire.json("GET", "/v1/queue")
        return answer

    def whoami(self) -> Identity:
        """The identity of the token."""
        return build(Identity, self._wire.json("GET", "/v1/whoami"))

    def sign_in_link(self) -> SignInLink:
        """A link that signs a browser in as the holder of the token. It is good once and for a minute."""
        return build(SignInLink, self._wire.json("POST", "/v1/sign-in-links", repeatable=False))

    def tokens(self) -> Iterator[Token]:
        """All tokens that the caller may revoke, without their secrets."""
        return self._pages("/v1/tokens", Token, {})

    def create_token(self, **asked: Any) -> Token:
        """Make a new token. Its secret is only in this answer."""
        return build(Token, self._wire.json("POST", "/v1/tokens", repeatable=False, body=asked))

    def revoke_token(self, token: str) -> None:
        """Revoke a token and all tokens that were made with it."""
        self._wire.send("DELETE", f"/v1/tokens/{quoted(token)}")

    def audit(self, *, limit: int | None = None) -> Iterator[AuditEntry]:
        """Who did what."""
        return self._pages("/v1/audit", AuditEntry, {}, limit=limit)

    def audit_head(self) -> Document:
        """The end of the audit: `seq` and `chain` of its last entry."""
        answer: Document = self._wire.json("GET", "/v1/audit/head")
        return answer

    def verify_audit(self, head: Mapping[str, Any] | None = None) -> Document:
        """Check the chain of the audit, and with `head` that it still contains the end that was noted earlier."""
        answer: Document = self._wire.json("GET", "/v1/audit/verify", query=dict(head or {}))
        return answer

    def export(self) -> ExportedTrace:
        """Ended jobs as a trace in CSV, piece by piece."""
        return ExportedTrace(self._wire)

    def health(self) -> Document:
        """The health of the server. Raises `Unavailable` when its writer has stopped."""
        answer: Document = self._wire.json("GET", "/healthz")
        return answer


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _because(reason: str | None) -> dict[str, str]:
    return {} if reason is None else {"reason": reason}


def _job_document(source: JobSource) -> tuple[dict[str, Any], str, Path]:
    """The job as plain values, its name in messages, and the folder that a relative `workdir` is relative to."""
    if isinstance(source, Mapping):
        return dict(source), "job", Path()
    from muster.client.job_source import read_source  # noqa: PLC0415 (the parser is needed for files only)

    return read_source(source)
