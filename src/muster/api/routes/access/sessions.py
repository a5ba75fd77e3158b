"""Signing in with a browser, and signing out."""

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from muster.access.audit_entries import entry
from muster.access.principal import Principal
from muster.access.sessions import LABEL, SessionSecret, joined, new_session
from muster.answers.access import Session, SignInLink
from muster.api.front.rates import refuse_if_too_often
from muster.api.gate import (
    PAGE_HEADER,
    SESSION_COOKIE,
    Caller,
    Needs,
    Open,
    address_of,
    header_of,
    identify,
    session_cookie,
)
from muster.api.rendering.times import moment_of
from muster.api.routes.error_responses import errors
from muster.api.schemas.access import SignIn
from muster.api.services import Services
from muster.model.access import Token
from muster.model.client_limits import SIGN_IN_CODE_MS
from muster.model.errors import InvalidInput, Unauthenticated

router = APIRouter(tags=["access"])

SIGN_IN = "/sign-in"
"""The page that a link leads to."""


@router.post(
    "/v1/sign-in-links",
    operation_id="create_sign_in_link",
    summary="Make a link that signs a browser in",
    status_code=201,
    responses=errors(401, 403),
)
async def create_sign_in_link(caller: Annotated[Caller, Depends(Needs(None))]) -> SignInLink:
    """A link that signs one browser in as you. It is good once and for a minute."""
    now_ms = caller.deps.clock.now_ms()
    code = caller.services.sign_in_codes.issue(caller.principal, now_ms)
    return SignInLink(path=f"{SIGN_IN}#{code}", expires=moment_of(now_ms + SIGN_IN_CODE_MS))


@router.post(
    "/session",
    operation_id="sign_in",
    summary="Sign a browser in",
    status_code=201,
    responses=errors(401, 403, 413, 422),
)
async def sign_in(
    services: Annotated[Services, Depends(Open())], request: Request, body: SignIn, response: Response
) -> Session:
    """Exchange the code of a link, or a token, for a session of at most twelve hours.

    Half of its secret comes back in a cookie that scripts cannot read, the other half in the answer. The session ends
    with the token that it was made with.
    """
    principal = await _signing_in(services, body, address_of(request.scope))
    now_ms = services.deps.clock.now_ms()
    token, secret = new_session(principal, now_ms)
    made = entry(principal, now_ms, "sessions.create", token.id, for_name=token.acts_as)
    await asyncio.to_thread(services.deps.tokens.add, token, audit=(made,))
    _keep(response, request, secret, token, now_ms)
    return Session(page=secret.page, name=token.acts_as, expires=moment_of(token.expires_ms))


@router.delete(
    "/session",
    operation_id="sign_out",
    summary="Sign a browser out",
    status_code=HTTPStatus.NO_CONTENT,
    response_class=Response,
    responses=errors(401, 503),
)
async def sign_out(services: Annotated[Services, Depends(Open())], request: Request) -> Response:
    """End the session of this browser. A session that has ended already is no mistake."""
    response = Response(status_code=HTTPStatus.NO_CONTENT)
    response.delete_cookie(SESSION_COOKIE, path="/")
    secret = joined(session_cookie(request.scope), header_of(request.scope, PAGE_HEADER))
    try:
        principal = await identify(services, secret, address_of(request.scope))
    except Unauthenticated:
        return response
    if principal.label == LABEL:
        now_ms = services.deps.clock.now_ms()
        ended = entry(principal, now_ms, "sessions.end", principal.token, for_name=principal.name)
        await asyncio.to_thread(services.keyring.revoke, principal.token, now_ms, audit=lambda _: (ended,))
    return response


async def _signing_in(services: Services, body: SignIn, address: str) -> Principal:
    if (body.code is None) == (body.token is None):
        raise InvalidInput("sign in with the code of a link or with a token, one of the two")
    if body.token is not None:
        return await identify(services, body.token, address)
    refuse_if_too_often(services.strangers.wait_s(address), address or "this address")
    try:
        return services.sign_in_codes.redeem(body.code or "", services.deps.clock.now_ms())
    except Unauthenticated:
        services.strangers.charge(address, 1)
        raise


def _keep(response: Response, request: Request, secret: SessionSecret, token: Token, now_ms: int) -> None:
    assert token.expires_ms is not None
    response.headers["Cache-Control"] = "no-store"
    response.set_cookie(
        SESSION_COOKIE,
        secret.cookie,
        max_age=max((token.expires_ms - now_ms) // 1000, 0),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
