"""The caller, and whether the caller may do something. Pure: the same question always has the same answer."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.access.permissions import ALLOWED, CLUSTER_ROLES, SEEN_BY_ALL, Permission
from muster.model.access import EVERY_TEAM, Binding, Token, covers
from muster.model.ids import TeamPath, TokenId


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller who was identified by a token."""

    name: str
    """Who acts: the subject of the token, never its label."""
    bindings: tuple[Binding, ...]
    scopes: tuple[str, ...] = ()
    """The only permissions that the caller has out of those that the roles give; empty means all of them."""
    token: TokenId = TokenId("")
    label: str = ""
    """The name of the token."""
    expires_ms: int | None = None
    attempt: str = ""
    """The attempt of a job that acts for its owner, such as `job-7 attempt 1`; empty for people and programs."""

    @property
    def actor(self) -> str:
        """Who acts, as the audit and the events say it."""
        return f"{self.attempt} for {self.name}" if self.attempt else self.name


def principal_of(token: Token) -> Principal:
    """The principal of this token."""
    return Principal(
        name=token.acts_as,
        label=token.name,
        bindings=token.bindings,
        scopes=token.scopes,
        token=token.id,
        expires_ms=token.expires_ms,
    )


def may(principal: Principal, permission: Permission, team: TeamPath = EVERY_TEAM) -> bool:
    """True when the principal has this permission on the team; `EVERY_TEAM` means on the whole cluster."""
    if not _in_scope(principal, permission):
        return False
    if permission in SEEN_BY_ALL:
        return any(permission in _allowed(binding) for binding in principal.bindings)
    return any(covers(binding.team, team) and permission in _allowed(binding) for binding in principal.bindings)


def may_somewhere(principal: Principal, permission: Permission) -> bool:
    """True when the principal has this permission on at least one team or on the cluster."""
    return _in_scope(principal, permission) and any(permission in _allowed(each) for each in principal.bindings)


def teams_with(principal: Principal, permission: Permission) -> tuple[TeamPath, ...]:
    """The topmost teams on which the principal has this permission; only `EVERY_TEAM` when it holds on the cluster."""
    if not _in_scope(principal, permission):
        return ()
    found = sorted({each.team for each in principal.bindings if permission in _allowed(each)})
    if EVERY_TEAM in found:
        return (EVERY_TEAM,)
    return tuple(team for team in found if not any(covers(other, team) for other in found if other != team))


def needed_to_change(principal: Principal, owner: str) -> Permission:
    """The permission that the principal needs on the job's team to change a job of this user."""
    return Permission.JOBS_CHANGE if owner == principal.name else Permission.JOBS_CHANGE_OTHERS


def may_grant(principal: Principal, bindings: Iterable[Binding], scopes: tuple[str, ...]) -> bool:
    """True when a token with these bindings and scopes allows only what its maker may do and may give away."""
    if principal.scopes and not (scopes and set(scopes) <= set(principal.scopes)):
        return False
    return all(_may_bind(principal, binding) for binding in bindings)


def may_revoke(principal: Principal, token: Token) -> bool:
    """True when the principal could have made a token with these bindings, whatever its scopes."""
    return all(_may_bind(principal, binding) for binding in token.bindings)


def may_act_as(principal: Principal, subject: str, bindings: Iterable[Binding]) -> bool:
    """True when the principal may make a token for this subject: itself, a service of the token's team, or anyone.

    `nlp/ci` is a service of team nlp. It cannot be a person, since names of people have no slash. For
    anyone else `PEOPLE_NAME` is needed.
    """
    if subject == principal.name or may(principal, Permission.PEOPLE_NAME):
        return True
    team = subject.rpartition("/")[0]
    return bool(team) and any(binding.team == team for binding in bindings)


def is_sound(binding: Binding) -> bool:
    """False for a cluster role that is bound to a team."""
    return binding.team == EVERY_TEAM or binding.role not in CLUSTER_ROLES


def _may_bind(principal: Principal, binding: Binding) -> bool:
    if not is_sound(binding) or not _in_scope(principal, Permission.TOKENS_CHANGE):
        return False
    return any(
        Permission.TOKENS_CHANGE in _allowed(own)
        and covers(own.team, binding.team)
        and ALLOWED[binding.role] <= ALLOWED[own.role]
        for own in principal.bindings
    )


def _allowed(binding: Binding) -> frozenset[Permission]:
    return ALLOWED[binding.role] if is_sound(binding) else frozenset()


def _in_scope(principal: Principal, permission: Permission) -> bool:
    return not principal.scopes or permission in principal.scopes
