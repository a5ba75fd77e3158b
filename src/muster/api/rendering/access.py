"""Tokens, identities and the audit as they are sent. Digests of tokens are never sent."""

from collections.abc import Iterable
from dataclasses import fields

from muster.access.principal import Principal
from muster.answers import access as answers
from muster.api.rendering.times import moment_of
from muster.api.schemas.access import Verdict
from muster.model.access import Binding, Token
from muster.store.base import AuditRecord, AuditVerdict


def identity_body(principal: Principal) -> answers.Identity:
    """The identity of a principal."""
    return answers.Identity(
        name=principal.name,
        subject=principal.name,
        label=principal.label,
        bindings=_bindings(principal.bindings),
        scopes=principal.scopes,
        token=principal.token,
        expires=moment_of(principal.expires_ms),
    )


def token_body(token: Token) -> answers.Token:
    """A token."""
    return answers.Token(
        id=token.id,
        name=token.name,
        subject=token.acts_as,
        maker=token.maker,
        bindings=_bindings(token.bindings),
        scopes=token.scopes,
        created=moment_of(token.created_ms),
        expires=moment_of(token.expires_ms),
        revoked=moment_of(token.revoked_ms),
    )


def fresh_token_body(token: Token, secret: str) -> answers.FreshToken:
    """A token that was just made."""
    body = token_body(token)
    known = {each.name: getattr(body, each.name) for each in fields(body) if each.init}
    return answers.FreshToken(**known, secret=secret)


def audit_body(record: AuditRecord) -> answers.AuditEntry:
    """An entry of the audit."""
    entry = record.entry
    return answers.AuditEntry(
        seq=record.seq,
        at=moment_of(entry.at_ms),
        by=entry.by,
        action=entry.action,
        subject=entry.subject,
        detail=dict(entry.detail),
        reason=entry.reason,
        version=record.version,
        chain=record.chain,
    )


def verdict_body(verdict: AuditVerdict) -> Verdict:
    """The result of a check of the audit."""
    return Verdict(
        whole=verdict.is_whole, entries=verdict.entries, events=verdict.events, problems=list(verdict.problems)
    )


def _bindings(bindings: Iterable[Binding]) -> tuple[answers.Binding, ...]:
    return tuple(answers.Binding(role=each.role, team=each.team) for each in bindings)
