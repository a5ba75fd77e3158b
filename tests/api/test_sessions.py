"""Signing in with a browser: links are good once, sessions have two halves, and nobody else gets both."""

from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest

from muster.access.principal import Principal
from muster.access.sessions import PAGE_CHARS
from muster.api.front.rates import Rates
from muster.model.client_limits import SESSION_MS, SIGN_IN_CODE_MS, SIGN_IN_CODES
from tests.api.world import World, played


async def _code(client: httpx.AsyncClient) -> str:
    made = await client.post("/v1/sign-in-links")
    assert made.status_code == 201
    path, _, code = made.json()["path"].partition("#")
    assert path == "/sign-in"
    return str(code)


async def _signed_in(world: World, body: dict[str, str]) -> httpx.Response:
    async with world.client(None) as browser:
        return await browser.post("/session", json=body)


def _halves(answer: httpx.Response) -> tuple[str, str]:
    cookie = SimpleCookie(answer.headers["set-cookie"])["muster_session"]
    return cookie.value, answer.json()["page"]


async def _status(world: World, cookie: str | None, page: str | None, *, request: str = "GET /v1/whoami") -> int:
    headers = {
        **({"Cookie": f"muster_session={cookie}"} if cookie else {}),
        **({"X-Muster-Page": page} if page else {}),
    }
    method, _, path = request.partition(" ")
    async with world.client(None) as browser:
        return (await browser.request(method, path, headers=headers)).status_code


def test_a_link_signs_in_once_as_whoever_made_it() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        code = await _code(client)
        answer = await _signed_in(world, {"code": code})
        assert answer.status_code == 201
        assert answer.headers["cache-control"] == "no-store"
        cookie, page = _halves(answer)
        headers = {"Cookie": f"muster_session={cookie}", "X-Muster-Page": page}
        async with world.client(None) as browser:
            me = (await browser.get("/v1/whoami", headers=headers)).json()
        own = (await client.get("/v1/whoami")).json()
        assert (me["name"], me["label"], me["bindings"]) == (own["name"], "browser", own["bindings"])
        again = await _signed_in(world, {"code": code})
        assert again.status_code == 401
        assert "set-cookie" not in again.headers
        assert [entry.action for entry in world.store.audit] == ["sessions.create"]

    played(scenario, who="member")


def test_the_cookie_is_kept_from_scripts_and_other_sites() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        shown = (await _signed_in(world, {"code": await _code(client)})).headers["set-cookie"]
        attributes = {each.strip().lower() for each in shown.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} <= attributes
        assert "secure" not in attributes
        assert int(SimpleCookie(shown)["muster_session"]["max-age"]) <= SESSION_MS // 1000

    played(scenario, who="member")


def test_over_tls_the_cookie_is_kept_from_plain_requests() -> None:
    async def scenario(world: World, _: httpx.AsyncClient) -> None:
        transport = httpx.ASGITransport(world.app)
        async with httpx.AsyncClient(transport=transport, base_url="https://localhost") as browser:
            answer = await browser.post("/session", json={"token": world.secrets["member"]})
        assert "secure" in {each.strip().lower() for each in answer.headers["set-cookie"].split(";")}

    played(scenario)


def test_neither_half_of_a_session_is_good_without_the_other() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        cookie, page = _halves(await _signed_in(world, {"code": await _code(client)}))
        assert len(page) == PAGE_CHARS
        assert await _status(world, cookie, page) == 200
        assert await _status(world, cookie, None) == 401
        assert await _status(world, None, page) == 401
        assert await _status(world, cookie, "x" * PAGE_CHARS) == 401
        assert await _status(world, cookie[:-1], cookie[-1] + page) == 401
        assert await _status(world, cookie + page, None) == 401

    played(scenario, who="member")


def test_a_pasted_token_signs_in_and_a_wrong_one_does_not() -> None:
    async def scenario(world: World, _: httpx.AsyncClient) -> None:
        assert (await _signed_in(world, {"token": world.secrets["member"]})).status_code == 201
        assert (await _signed_in(world, {"token": "muster_000000000000_" + "x" * 43})).status_code == 401

    played(scenario)


@pytest.mark.parametrize("body", [{}, {"code": "a", "token": "b"}, {"code": ""}, {"password": "x"}])
def test_what_is_no_code_and_no_token_is_refused(body: dict[str, Any]) -> None:
    async def scenario(world: World, _: httpx.AsyncClient) -> None:
        assert (await _signed_in(world, body)).status_code == 422

    played(scenario)


def test_a_link_is_worth_nothing_after_a_minute() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        code = await _code(client)
        world.clock.advance(SIGN_IN_CODE_MS)
        late = await _signed_in(world, {"code": code})
        assert late.status_code == 401
        assert "muster open" in late.json()["detail"]

    played(scenario, who="member")


def test_a_session_ends_with_time_with_its_token_and_when_somebody_signs_out() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        out = _halves(await _signed_in(world, {"code": await _code(client)}))
        assert await _status(world, *out, request="DELETE /session") == 204
        assert await _status(world, *out) == 401
        assert await _status(world, *out, request="DELETE /session") == 204

        made = (
            await client.post("/v1/tokens", json={"name": "robot", "bindings": [{"role": "viewer", "team": "nlp"}]})
        ).json()
        of_token = _halves(await _signed_in(world, {"token": made["secret"]}))
        assert await _status(world, *of_token) == 200
        await client.delete(f"/v1/tokens/{made['id']}")
        assert await _status(world, *of_token) == 401

        old = _halves(await _signed_in(world, {"code": await _code(client)}))
        world.clock.advance(SESSION_MS)
        assert await _status(world, *old) == 401
        assert "sessions.end" in [entry.action for entry in world.store.audit]

    played(scenario, who="lead")


def test_signing_out_never_revokes_a_token_that_is_no_session() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.delete("/session")).status_code == 204
        secret = world.secrets["member"]
        assert await _status(world, secret[:-PAGE_CHARS], secret[-PAGE_CHARS:], request="DELETE /session") == 204
        assert (await client.get("/v1/whoami")).status_code == 200

    played(scenario, who="member")


def test_guessing_codes_is_slowed_down() -> None:
    async def scenario(world: World, _: httpx.AsyncClient) -> None:
        world.app.state.services.strangers = Rates(1, 5, now_s=lambda: 0.0)  # guesses come without a pause
        async with world.client(None) as browser:
            statuses = [(await browser.post("/session", json={"code": f"guess-{n}"})).status_code for n in range(8)]
        assert statuses[0] == 401
        assert statuses[-1] == 429

    played(scenario)


def test_links_that_nobody_uses_are_bounded_and_forgotten() -> None:
    async def scenario(world: World, _: httpx.AsyncClient) -> None:
        codes, principal = world.app.state.services.sign_in_codes, Principal(name="ada", bindings=())
        for _each in range(SIGN_IN_CODES):
            codes.issue(principal, 0)
        with pytest.raises(Exception, match="too many people"):
            codes.issue(principal, SIGN_IN_CODE_MS - 1)
        codes.issue(principal, SIGN_IN_CODE_MS)

    played(scenario)
