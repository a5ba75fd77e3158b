"""Tokens: identity, listing, making and revoking them."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from muster.access.audit_entries import entry
from muster.access.permissions import Permission
from muster.access.principal import Principal, is_sound, may, may_act_as, may_grant, may_revoke
from muster.access.secrets import NewSecret, new_secret
from muster.answers.access import FreshToken, Identity
from muster.answers.access import Token as TokenBody
from muster.api.gate import Caller, Needs
from muster.api.lookups.paging import cursor_of, text_place
from muster.api.rendering.access import fresh_token_body, identity_body, token_body
from muster.api.routes.error_responses import CHANGED, SEEN, errors
from muster.api.schemas.access import NewToken
from muster.api.schemas.base import Page, Paging
from muster.formats.parts import kinds
from muster.formats.text.units import BadValue
from muster.model.access import EVERY_TEAM, Binding, Token, is_reserved
from muster.model.audit import AuditEntry
from muster.model.errors import InvalidInput, NotFound, Refused
from muster.model.ids import TeamPath, TokenId

router = APIRouter(tags=["access"])

MayChange = Annotated[Caller, Depends(Needs(Permission.TOKENS_CHANGE))]


@router.get("/v1/whoami", operation_id="show_me", summary="Say who you are", responses=errors(401))
async def show_me(caller: Annotated[Caller, Depends(Needs(None))]) -> Identity:
    """The name, roles and expiry of the token that you sent."""
    return identity_body(caller.principal)


@router.get("/v1/tokens", operation_id="list_tokens", summary="List tokens", responses=SEEN)
async def list_tokens(caller: MayChange, paging: Annotated[Paging, Query()]) -> Page[TokenBody]:
    """The tokens that you may revoke, oldest first."""
    tokens = [token for token in await _all(caller) if may_revoke(caller.principal, token)]
    after = text_place("tokens", paging.cursor)
    start = next((place for place, token in enumerate(tokens, start=1) if token.id == after), 0)
    shown = tokens[start : start + paging.limit]
    is_last = start + len(shown) >= len(tokens)
    return Page(
        items=[token_body(token) for token in shown], next=None if is_last else cursor_of("tokens", shown[-1].id)
    )


@router.post("/v1/tokens", operation_id="create_token", summary="Make a token", status_code=201, responses=CHANGED)
async def create_token(caller: MayChange, body: NewToken, response: Response) -> FreshToken:
    """Make a token that allows no more than you may do yourself. Its secret is only in this answer.

    The new token expires no later than the token with which you make it, and is revoked together with it. The name of a
    token is not the subject that acts with it. Only admins make tokens for people.
    """
    secret, now_ms = new_secret(), caller.deps.clock.now_ms()
    token = _wanted(caller, body, secret, now_ms)
    if (refusal := _refusal(caller.principal, token, body)) is not None:
        await caller.services.note_denial(caller.principal, "tokens.create", body.name)
        raise Refused(f"{caller.name} may not make this token: {refusal}")
    roles = ", ".join(f"{each.role} on {each.team}" for each in token.bindings)
    more = {"for_name": token.acts_as, "label": token.name, "roles": roles}
    made = entry(caller.principal, now_ms, "tokens.create", token.id, **more)
    await asyncio.to_thread(caller.deps.tokens.add, token, audit=(made,))
    response.headers["Cache-Control"] = "no-store"
    return fresh_token_body(token, secret.text)


@router.delete(
    "/v1/tokens/{token}",
    operation_id="revoke_token",
    summary="Revoke a token",
    status_code=204,
    response_class=Response,
    responses=CHANGED,
)
async def revoke_token(
    caller: MayChange, token: Annotated[str, Path(min_length=1, max_length=100, description="Its id.")]
) -> Response:
    """Revoke a token and all tokens that were made with it."""
    known = next((each for each in await _all(caller) if each.id == token), None)
    if known is None or not may_revoke(caller.principal, known):
        if known is not None:
            await caller.services.note_denial(caller.principal, "tokens.revoke", token)
        raise NotFound(f"there is no token {token}")
    now_ms = caller.deps.clock.now_ms()

    def account(tree: Sequence[Token]) -> list[AuditEntry]:
        return [_revoked(caller, each, known.id, now_ms) for each in tree if each.revoked_ms is None or each is tree[0]]

    await asyncio.to_thread(caller.services.keyring.revoke, known.id, now_ms, audit=account)
    return Response(status_code=204)


def _revoked(caller: Caller, token: Token, named: TokenId, now_ms: int) -> AuditEntry:
    """The audit entry of a revoked token: it was named in the request, or was made with the named one."""
    made = {} if token.id == named else {"made_with": named}
    return entry(caller.principal, now_ms, "tokens.revoke", token.id, for_name=token.acts_as, **made)


async def _all(caller: Caller) -> list[Token]:
    return list(await asyncio.to_thread(caller.deps.tokens.all))


def _wanted(caller: Caller, body: NewToken, secret: NewSecret, now_ms: int) -> Token:
    bindings = tuple(Binding(role=each.role, team=_team(each.team)) for each in body.bindings)
    if unsound := next((each for each in bindings if not is_sound(each)), None):
        raise InvalidInput(f"the role {unsound.role} is for the whole cluster; bind it to *, not to {unsound.team}")
    limits = [] if body.expires_in_s is None else [now_ms + round(body.expires_in_s * 1000)]
    if caller.principal.expires_ms is not None:
        limits.append(caller.principal.expires_ms)
    return Token(
        id=secret.id,
        name=body.name,
        subject=_subject(caller.principal, body, bindings),
        maker=caller.principal.token or None,
        digest=secret.digest,
        bindings=bindings,
        scopes=tuple(dict.fromkeys(each.value for each in body.scopes)),
        created_ms=now_ms,
        expires_ms=min(limits, default=None),
    )


def _subject(principal: Principal, body: NewToken, bindings: tuple[Binding, ...]) -> str:
    """The subject of a new token.

    It is the one in the request. Without one it is a service of the first team, or for an admin the token's name.
    """
    names_people = may(principal, Permission.PEOPLE_NAME)
    subject = body.subject or (body.name if names_people else f"{bindings[0].team}/{body.name}")
    if is_reserved(subject):
        raise InvalidInput(f"{subject} is a name that nobody is given, so that nobody is taken for it; choose another")
    return subject


def _refusal(principal: Principal, token: Token, body: NewToken) -> str | None:
    """Why the principal may not make this token; None when it may."""
    if not may_grant(principal, token.bindings, token.scopes):
        return "it would allow more than you have yourself"
    if not may_act_as(principal, token.subject, token.bindings):
        return f"only an admin makes tokens for {token.subject}; leave the subject out for a service of your team"
    if body.expires_in_s is None and not may(principal, Permission.PEOPLE_NAME):
        return "only an admin makes tokens that never expire; say for how long, up to 10 years"
    return None


def _team(path: str) -> TeamPath:
    if path == EVERY_TEAM:
        return EVERY_TEAM
    try:
        return TeamPath(kinds.team_path(path))
    except BadValue as error:
        raise InvalidInput(f"{error.problem}; {error.hint}") from None
