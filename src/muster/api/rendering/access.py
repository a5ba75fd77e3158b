"""Tokens and people as they are sent. A digest is no business of anybody's."""

from collections.abc import Iterable

from muster.access.principal import Principal
from muster.api.rendering.times import time_of
from muster.api.schemas import access as schemas
from muster.model.access import Binding, Token
from muster.store.base import AuditRecord, AuditVerdict


def identity_body(principal: Principal) -> schemas.Identity:
    """Who somebody is."""
    return schemas.Identity(
        name=principal.name,
        subject=principal.name,
        label=principal.label,
        bindings=_bindings(principal.bindings),
        scopes=list(principal.scopes),
        token=principal.token,
        expires=time_of(principal.expires_ms),
    )


def token_body(token: Token) -> schemas.Token:
    """A token."""
    return schemas.Token(
        id=token.id,
        name=token.name,
        subject=token.acts_as,
        maker=token.maker,
        bindings=_bindings(token.bindings),
        scopes=list(token.scopes),
        created=time_of(token.created_ms),
        expires=time_of(token.expires_ms),
        revoked=time_of(token.revoked_ms),
    )


def audit_body(record: AuditRecord) -> schemas.AuditEntry:
    """An entry of the audit."""
    entry = record.entry
    return schemas.AuditEntry(
        seq=record.seq,
        at=time_of(entry.at_ms),
        by=entry.by,
        action=entry.action,
        subject=entry.subject,
        detail=dict(entry.detail),
        reason=entry.reason,
        version=record.version,
        chain=record.chain,
    )


def verdict_body(verdict: AuditVerdict) -> schemas.Verdict:
    """What a walk through the audit has found."""
    return schemas.Verdict(
        whole=verdict.is_whole, entries=verdict.entries, events=verdict.events, problems=list(verdict.problems)
    )


def _bindings(bindings: Iterable[Binding]) -> list[schemas.Binding]:
    return [schemas.Binding(role=each.role, team=each.team) for each in bindings]
