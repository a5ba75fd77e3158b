"""The client: one method for each operation of the API, and `request` for all that is asked of a job by its id.

Answers are the values of `answers`. Failures are raised as errors of `muster.model.errors`. Each submission carries its
own key, so that repeating it after a lost answer never submits the job twice.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Literal, Self, overload

import httpx

from muster.client.address import find_address
from muster.client.answers import (
    AuditEntry,
    Document,
    DryRun,
    Event,
    Identity,
    Job,
    Log,
    Node,
    NodeHealth,
    QuarantinedGang,
    Story,
    Team,
    Token,
    Why,
)
from muster.client.building import build
from muster.client.pauses import pauses_s
from muster.client.streams import follow_log, read_events, read_log, read_past_events
from muster.client.trainings import Trainings, job_path, quoted
from muster.client.transport import TIMEOUT_S, TRIES, Sleep, Transport
from muster.model.errors import TimedOut

JobSource = Mapping[str, Any] | str | Path
"""A job as plain values, as the text of a job file, or as the path of a job file."""


class Client(Trainings):
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
        self, job: JobSource, *, key: str | None = None, held: bool = False, dry_run: Literal[False] = False
    ) -> Job: ...

    @overload
    def submit(
        self, job: JobSource, *, key: str | None = None, held: bool = False, dry_run: Literal[True]
    ) -> DryRun: ...

    def submit(
        self, job: JobSource, *, key: str | None = None, held: bool = False, dry_run: bool = False
    ) -> Job | DryRun:
        """Submit a job. With `dry_run` nothing is changed, and the answer says what would happen to the job.

        Two submissions with the same `key` are one submission. A job file is completed on this machine: its `workdir`
        is the current folder unless the file names one, and variables that its `env` leaves open are taken from the
        environment.
        """
        document, file = _job_document(job)
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        body = {"job": document, "held": held}
        query = {"dry_run": True} if dry_run else None
        answer = self._wire.json("POST", "/v1/jobs", query=query, body=body, headers=headers, file=file)
        return build(DryRun, answer) if dry_run else build(Job, answer)

    def job(self, job: str) -> Job:
        """A job in its current state."""
        return build(Job, self._wire.json("GET", job_path(job)))

    def jobs(
        self,
        *,
        state: str | Sequence[str] | None = None,
        team: str | None = None,
        user: str | None = None,
        name: str | None = None,
        tier: str | None = None,
        array: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Job]:
        """All jobs that match the filters. `state` may also be `active` or `ended`. Pages are fetched as needed."""
        query = {"state": state, "team": team, "user": user, "name": name, "tier": tier, "array": array}
        return self._pages("/v1/jobs", Job, query, limit=limit)

    def why(self, job: str) -> Why:
        """Why a job waits, and when it will start."""
        return build(Why, self._wire.json("GET", f"{job_path(job)}/why"))

    def story(self, job: str) -> Story:
        """How a job got into its state, in words."""
        return build(Story, self._wire.json("GET", f"{job_path(job)}/story"))

    def job_events(self, job: str) -> Iterator[Event]:
        """What happened to a job, oldest first."""
        return self._pages(f"{job_path(job)}/events", Event, {})

    def request(self, verb: str, job: str, *, reason: str | None = None) -> Job:
        """Ask something of a job, or of every task of an array: one of the verbs of `muster.model.requests`."""
        return build(Job, self._wire.json("POST", f"{job_path(job)}/{quoted(verb)}", body=_because(reason)))

    def cancel(self, job: str, *, reason: str | None = None) -> Job:
        """End a job, or every task of an array."""
        return self.request("cancel", job, reason=reason)

    def hold(self, job: str, *, reason: str | None = None) -> Job:
        """Keep a job from starting until it is released."""
        return self.request("hold", job, reason=reason)

    def release(self, job: str, *, reason: str | None = None) -> Job:
        """Let a held job start."""
        return self.request("release", job, reason=reason)

    def update(
        self,
        job: str,
        *,
        priority: int | None = None,
        tier: str | None = None,
        max_duration_s: float | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Job:
        """Change what a job asked for. What is None stays as it is."""
        changes = {"priority": priority, "tier": tier, "max_duration_s": max_duration_s, "tags": tags}
        given = {key: value for key, value in changes.items() if value is not None}
        return build(Job, self._wire.json("PATCH", job_path(job), body=given))

    def retry(self, job: str) -> Job:
        """Submit an ended job, or the failed tasks of an array, again."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        return build(Job, self._wire.json("POST", f"{job_path(job)}/retry", headers=headers))

    def wait(self, job: str, timeout: float | None = None) -> Job:
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

        With `follow` the output continues until the worker has ended.
        """
        query = {"rank": rank, "attempt": attempt, "offset": offset, "limit": limit}
        read = follow_log if follow else read_log
        return read(self._wire, f"{job_path(job)}/logs", query)

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

    def drain(self, node: str, *, reason: str | None = None) -> Node:
        """Place no new work on a node. What runs there may end in its own time."""
        return build(Node, self._wire.json("POST", f"/v1/nodes/{quoted(node)}/drain", body=_because(reason)))

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

    def teams(self) -> Iterator[Team]:
        """All teams with what they use."""
        return self._pages("/v1/teams", Team, {})

    def team(self, path: str) -> Team:
        """A team with what it uses."""
        return build(Team, self._wire.json("GET", f"/v1/teams/{quoted(path, safe='/')}"))

    def put_team(
        self,
        path: str,
        *,
        guaranteed: Mapping[str, float] | None = None,
        limit: Mapping[str, float] | None = None,
        weight: float = 1,
        **bounds: Any,
    ) -> Team:
        """Make a team, or replace its quota.

        `bounds` are what its jobs may ask for: `tiers`, `max_priority` and `allow_unpreemptible`. A bound that is not
        given stays as it is.
        """
        body = {"guaranteed": dict(guaranteed or {}), "limit": dict(limit or {}), "weight": weight, **bounds}
        return build(Team, self._wire.json("PUT", f"/v1/teams/{quoted(path, safe='/')}", body=body))

    def delete_team(self, path: str) -> None:
        """Remove a team that has no teams below it and no active jobs."""
        self._wire.send("DELETE", f"/v1/teams/{quoted(path, safe='/')}")

    def tiers(self) -> Any:
        """All tiers, as in a scenario file."""
        return self._wire.json("GET", "/v1/tiers")

    def pools(self) -> Any:
        """All pools, as in a scenario file."""
        return self._wire.json("GET", "/v1/pools")

    def policy(self) -> Any:
        """The policy in force, as in a scenario file."""
        return self._wire.json("GET", "/v1/policy")

    def put_rules(self, part: Literal["tiers", "pools", "policy"], value: object) -> Any:
        """Replace all tiers, all pools or the policy."""
        return self._wire.json("PUT", f"/v1/{part}", body=value)

    def queue(self) -> Document:
        """How many jobs wait and run by tier and team, the GPUs in use, and the longest wait."""
        answer: Document = self._wire.json("GET", "/v1/queue")
        return answer

    def whoami(self) -> Identity:
        """The identity of the token."""
        return build(Identity, self._wire.json("GET", "/v1/whoami"))

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

    def export(self) -> Iterator[bytes]:
        """Ended jobs as a trace in CSV, piece by piece."""
        with self._wire.stream("/v1/export") as response:
            yield from response.iter_bytes()

    def health(self) -> Document:
        """The health of the server. Raises `Unavailable` when its writer has stopped."""
        answer: Document = self._wire.json("GET", "/healthz")
        return answer


def _because(reason: str | None) -> dict[str, str]:
    return {} if reason is None else {"reason": reason}


def _job_document(source: JobSource) -> tuple[dict[str, Any], str]:
    """The job as plain values, and its name in messages."""
    if isinstance(source, Mapping):
        return dict(source), "job"
    from muster.client.job_source import read_source  # noqa: PLC0415 (the parser is needed for files only)

    return read_source(source)
