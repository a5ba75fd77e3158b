"""Running attempts as callers: from the token of an attempt to what the job may do in its owner's name.

The agents that an engine starts for an attempt are callers as well. They may connect, as long as their posts are
waited for.

A job may do at most what a member of its team may, on its team only, and of that only what its owner may do now. Its
token is good while the attempt has workers. Nothing has to be revoked when it ends.
"""

import hmac
from collections.abc import Callable, Iterable
from pathlib import Path

from muster.access.permissions import ALLOWED, Permission
from muster.access.principal import Principal, may, principal_of
from muster.attempt_token import (
    AttemptClaim,
    JobAccess,
    agents_allocation,
    attempt_token,
    claim_of,
    new_key,
    read_job_access,
)
from muster.core.lifecycle.desired import run_id
from muster.home import Home
from muster.model.access import EVERY_TEAM, Binding, Role, Token
from muster.model.errors import Unauthenticated
from muster.model.ids import JobId, TeamPath, TokenId
from muster.model.job import Job
from muster.model.limits import TOKENS_REMEMBERED, TOKENS_REMEMBERED_MS
from muster.private_files import write_private
from muster.token_store import TokenStore

_Owner = tuple[str, TeamPath]


class AttemptKeyring:
    """Identifies attempts that run by their tokens."""

    def __init__(self, store: TokenStore, *, key: bytes = b"", find: Callable[[JobId], Job | None]) -> None:
        self._store = store
        self._key = key
        """Empty when no token of an attempt is accepted."""
        self._find = find
        self._known: dict[_Owner, tuple[int, tuple[str, ...]]] = {}

    def agent(self, secret: str) -> Principal | None:
        """The agents of an allocation that show this token; None for any other."""
        allocation = agents_allocation(self._key, secret)
        if not allocation:
            return None
        return Principal(
            name=f"agent/{allocation}",
            label=allocation,
            bindings=(Binding(role=Role.OPERATOR, team=EVERY_TEAM),),
            scopes=(Permission.AGENTS_CONNECT,),
            token=TokenId(allocation),
        )

    def is_valid(self, secret: str) -> bool:
        """True when the secret is the token of an attempt that runs, or of agents."""
        if self.agent(secret) is not None:
            return True
        claim = claim_of(secret)
        return claim is not None and self._job(claim, secret) is not None

    def recall(self, secret: str, now_ms: int, *, grace_ms: int = 0) -> Principal | None:
        """The attempt of this secret, if the rights of its owner were looked up a moment ago."""
        claim, job = self._checked(secret)
        until_ms, scopes = self._known.get((job.user, job.spec.team), (0, ()))
        return _principal(claim, job, scopes) if now_ms < until_ms + grace_ms else None

    def identify(self, secret: str, now_ms: int) -> Principal:
        """The attempt of this secret. Asks the store what its owner may do, which may take a while."""
        claim, job = self._checked(secret)
        scopes = _rights(self._store.all(), job.user, job.spec.team, now_ms)
        if len(self._known) >= TOKENS_REMEMBERED:
            self._known.clear()
        self._known[(job.user, job.spec.team)] = (now_ms + TOKENS_REMEMBERED_MS, scopes)
        return _principal(claim, job, scopes)

    def forget(self) -> None:
        """Ask the store again, because a token was revoked."""
        self._known = {}

    def _checked(self, secret: str) -> tuple[AttemptClaim, Job]:
        claim = claim_of(secret)
        job = None if claim is None else self._job(claim, secret)
        if claim is None or job is None:
            raise Unauthenticated("this token belongs to an attempt of a job that does not run any more")
        return claim, job

    def _job(self, claim: AttemptClaim, secret: str) -> Job | None:
        job = self._find(claim.job)
        if not self._key or job is None or not job.state.holds_resources or job.attempt != claim.attempt:
            return None
        expected = attempt_token(self._key, job.id, job.attempt, run_id(job))
        return job if hmac.compare_digest(expected, secret) else None


def grant_job_access(home: Path, url: str) -> JobAccess:
    """Tell the supervisors of a home where its server is, and the key of tokens. A key that is there stays.

    While the disk is full the file stays as it was. Then jobs find the last address, or no token.
    """
    known = read_job_access(home)
    access = JobAccess(url=url, key=new_key() if known is None else known.key)
    if access != known:
        try:
            write_private(Home(home).job_access, f"{access.text}\n")
        except OSError:
            return access if known is None else known
    return access


def _rights(tokens: Iterable[Token], owner: str, team: TeamPath, now_ms: int) -> tuple[str, ...]:
    """What a job of this team may do: what members may, as far as some valid token of its owner allows it."""
    valid = [token for token in tokens if token.acts_as == owner and token.revoked_ms is None]
    owners = [principal_of(each) for each in valid if each.expires_ms is None or now_ms < each.expires_ms]
    return tuple(sorted(each for each in ALLOWED[Role.MEMBER] if any(may(owner, each, team) for owner in owners)))


def _principal(claim: AttemptClaim, job: Job, scopes: tuple[str, ...]) -> Principal:
    if not scopes:
        raise Unauthenticated(f"{job.user or 'the owner of this job'} may not do anything here any more")
    return Principal(
        name=job.user,
        label=str(claim),
        bindings=(Binding(role=Role.MEMBER, team=job.spec.team),),
        scopes=scopes,
        token=TokenId(str(claim)),
        attempt=str(claim),
    )
