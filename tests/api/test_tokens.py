"""Tokens over HTTP: no caller gives away more than it has, and a revoked or expired token is refused."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from muster.access.permissions import Permission
from muster.model.access import Binding, Role, Token
from muster.model.ids import TeamPath, TokenId
from muster.model.records import evolve
from tests.api.world import World, played, submitted

DAY_S = 24 * 3600


def _bindings(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "team": team} for role, team in pairs]


async def _create(client: httpx.AsyncClient, *pairs: tuple[str, str], **fields: Any) -> httpx.Response:
    return await client.post("/v1/tokens", json={"name": "robot", "bindings": _bindings(*pairs), **fields})


async def _whoami(client: httpx.AsyncClient, secret: str) -> httpx.Response:
    return await client.get("/v1/whoami", headers={"Authorization": f"Bearer {secret}"})


def test_a_new_token_opens_the_door_until_it_is_revoked() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        made = await _create(client, ("member", "nlp"), expires_in_s=DAY_S)
        assert made.status_code == 201
        assert made.headers["cache-control"] == "no-store"
        me = (await _whoami(client, made.json()["secret"])).json()
        assert (me["name"], me["subject"], me["label"]) == ("nlp/robot", "nlp/robot", "robot")
        assert me["bindings"] == _bindings(("member", "nlp"))
        assert me["expires"] == made.json()["expires"]
        listed = (await client.get("/v1/tokens")).json()["items"]
        assert made.json()["id"] in [token["id"] for token in listed]
        assert (await client.delete(f"/v1/tokens/{made.json()['id']}")).status_code == 204
        assert (await _whoami(client, made.json()["secret"])).status_code == 401
        actions = [(entry.action, entry.subject) for entry in world.store.audit]
        assert actions == [("tokens.create", made.json()["id"]), ("tokens.revoke", made.json()["id"])]

    played(scenario, who="lead")


def test_a_token_that_has_expired_is_refused_also_when_it_was_just_used() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        made = (await _create(client, ("viewer", "nlp"), expires_in_s=60)).json()
        assert (await _whoami(client, made["secret"])).status_code == 200
        world.clock.advance(60_000)
        assert (await _whoami(client, made["secret"])).status_code == 401

    played(scenario, who="lead")


@pytest.mark.parametrize(
    ("who", "pair", "status"),
    [
        ("lead", ("lead", "nlp"), 201),
        ("lead", ("viewer", "nlp/pre"), 201),
        ("lead", ("member", "vision"), 403),
        ("lead", ("viewer", "*"), 403),
        ("lead", ("member", "nlpx"), 403),
        ("lead", ("operator", "*"), 403),
        ("lead", ("operator", "nlp"), 422),
        ("admin", ("admin", "*"), 201),
        ("admin", ("admin", "nlp"), 422),
        ("admin", ("member", "not a team"), 422),
        ("operator", ("viewer", "nlp"), 403),
        ("member", ("viewer", "nlp"), 403),
    ],
)
def test_a_caller_gives_away_no_more_than_it_has(who: str, pair: tuple[str, str], status: int) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        before = len(world.tokens.all())
        assert (await _create(client, pair)).status_code == status
        assert len(world.tokens.all()) - before == (status == 201)
        denied = [entry for entry in world.store.audit if ("outcome", "denied") in entry.detail]
        assert len(denied) == (status == 403)

    played(scenario, who=who)


def test_a_narrowed_token_gives_away_no_wider_and_no_longer_lived_ones() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        scopes = (Permission.TOKENS_CHANGE.value, Permission.JOBS_SEE.value)
        expires_ms = world.clock.now_ms() + 1000 * DAY_S
        lead = (Binding(role=Role.LEAD, team=TeamPath("nlp")),)
        world.let_in("narrow", lead, scopes=scopes, expires_ms=expires_ms)
        async with world.client("narrow") as narrow:
            assert (await narrow.get("/v1/jobs")).status_code == 200
            assert (await narrow.get("/v1/nodes")).status_code == 403
            assert (await _create(narrow, ("viewer", "nlp"))).status_code == 403
            assert (await _create(narrow, ("viewer", "nlp"), scopes=["jobs.submit"])).status_code == 403
            made = await _create(narrow, ("viewer", "nlp"), scopes=["jobs.see"], expires_in_s=10 * DAY_S)
            assert made.status_code == 201
            stored = next(token for token in world.tokens.all() if token.id == made.json()["id"])
            assert stored.expires_ms == expires_ms

    played(scenario)


def test_a_lead_neither_sees_nor_revokes_tokens_of_others() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        admin = next(token for token in world.tokens.all() if token.name == "admin")
        listed = [token["name"] for token in (await client.get("/v1/tokens")).json()["items"]]
        assert sorted(listed) == ["colleague", "lead", "member", "viewer"]
        assert (await client.delete(f"/v1/tokens/{admin.id}")).status_code == 404
        assert (await client.delete("/v1/tokens/nothing")).status_code == 404
        assert all(token.revoked_ms is None for token in world.tokens.all())

    played(scenario, who="lead")


def test_tokens_are_listed_page_by_page() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        found: list[str] = []
        query: dict[str, Any] = {"limit": 3}
        while query.get("cursor", "") is not None:
            page = (await client.get("/v1/tokens", params=query)).json()
            found += [token["id"] for token in page["items"]]
            query["cursor"] = page["next"]
        assert found == [token.id for token in world.tokens.all()]

    played(scenario, who="admin")


def test_the_store_is_not_asked_again_for_each_request() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await asyncio.gather(*(client.get("/v1/whoami") for _ in range(50)))
        await client.get("/v1/whoami")
        asked = world.tokens.asked
        await asyncio.gather(*(client.get("/v1/whoami") for _ in range(50)))
        assert world.tokens.asked == asked
        world.clock.advance(2_000)
        await client.get("/v1/whoami")
        assert world.tokens.asked == asked + 1

    played(scenario)


async def _as(client: httpx.AsyncClient, made: httpx.Response, method: str, path: str, **body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {made.json()['secret']}"}
    return await client.request(method, path, headers=headers, json=body or None)


@pytest.mark.parametrize("name", ["root", "Admin", "engine", "configuration", "muster", "operator"])
@pytest.mark.parametrize("who", ["lead", "admin"])
def test_no_token_is_given_a_name_that_muster_keeps(who: str, name: str) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        refused = await _create(client, ("member", "nlp"), name=name)
        assert (refused.status_code, "choose another" in refused.text) == (422, True)
        hidden = await _create(client, ("member", "nlp"), subject=f"nlp/{name}")
        assert hidden.status_code == 422

    played(scenario, who=who)


def test_what_a_lead_calls_a_token_is_not_its_subject() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        made = await _create(client, ("member", "nlp/pre"), name="colleague")
        assert (made.json()["name"], made.json()["subject"]) == ("colleague", "nlp/pre/colleague")
        job = {"name": "a", "team": "nlp/pre", "resources": {"gpus": 1}, "run": "true"}
        submitted_job = await _as(client, made, "POST", "/v1/jobs", job=job, held=True)
        assert submitted_job.json()["user"] == "nlp/pre/colleague"
        assert {entry.by for entry in world.store.audit} == {"lead", "nlp/pre/colleague"}
        # Nor are the jobs of the person whose name it is its own.
        async with world.client("colleague") as colleague:
            theirs = await submitted(colleague, team="nlp/pre", held=True)
        assert (await _as(client, made, "POST", f"/v1/jobs/{theirs}/cancel")).status_code == 403

    played(scenario, who="lead")


@pytest.mark.parametrize(
    ("who", "subject", "status"),
    [
        ("lead", "lead", 201),
        ("lead", "nlp/ci", 201),
        ("lead", "colleague", 403),
        ("lead", "vision/ci", 403),
        ("lead", "nlp/pre/ci", 403),
        ("lead", "*/ci", 403),
        ("lead", "nlp//ci", 403),
        ("lead", "no\nbody", 422),
        ("admin", "grace", 201),
        ("admin", "vision/ci", 201),
    ],
)
def test_only_admins_make_tokens_for_others(who: str, subject: str, status: int) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        made = await _create(client, ("viewer", "nlp"), subject=subject)
        assert made.status_code == status, made.text
        if status == 201:
            assert (await _as(client, made, "GET", "/v1/whoami")).json()["subject"] == subject

    played(scenario, who=who)


def test_a_token_is_revoked_with_all_that_were_made_with_it() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = await _create(client, ("lead", "nlp"), name="first")
        pairs = {"bindings": _bindings(("lead", "nlp"))}
        second = await _as(client, first, "POST", "/v1/tokens", name="second", **pairs)
        third = await _as(client, second, "POST", "/v1/tokens", name="third", **pairs)
        beside = await _create(client, ("lead", "nlp"), name="beside")
        makers = [each.json()["maker"] for each in (second, third)]
        assert makers == [first.json()["id"], second.json()["id"]]
        assert (await _as(client, third, "GET", "/v1/whoami")).status_code == 200
        assert (await client.delete(f"/v1/tokens/{first.json()['id']}")).status_code == 204
        for made, status in ((first, 401), (second, 401), (third, 401), (beside, 200)):
            assert (await _as(client, made, "GET", "/v1/whoami")).status_code == status
        revoked = [entry.subject for entry in world.store.audit if entry.action == "tokens.revoke"]
        assert revoked == [each.json()["id"] for each in (first, second, third)]

    played(scenario, who="admin")


def test_a_token_expires_unless_an_admin_says_never() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        usual = await _create(client, ("viewer", "nlp"))
        stored = {token.id: token for token in world.tokens.all()}
        token = stored[usual.json()["id"]]
        assert token.expires_ms is not None
        assert token.expires_ms - token.created_ms == 90 * DAY_S * 1000
        async with world.client("lead") as lead:
            refused = await _create(lead, ("viewer", "nlp"), expires_in_s=None)
            assert (refused.status_code, "never expire" in refused.text) == (403, True)
        assert (await _create(client, ("viewer", "nlp"), expires_in_s=None)).json()["expires"] is None

    played(scenario, who="admin")


def test_keys_of_requests_belong_to_a_subject_and_not_to_a_token_or_its_name() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = {"name": "a", "team": "nlp", "resources": {"gpus": 1}, "run": "true"}
        tokens = [
            await _create(client, ("member", "nlp"), name=name, subject=subject)
            for name, subject in (("one", "nlp/ci"), ("two", "nlp/ci"), ("one", "nlp/other"))
        ]
        ids = []
        for made in tokens:
            headers = {"Authorization": f"Bearer {made.json()['secret']}", "Idempotency-Key": "k1"}
            answer = await client.post("/v1/jobs", json={"job": job, "held": True}, headers=headers)
            ids.append(answer.json()["id"])
        assert ids[0] == ids[1]
        assert ids[2] not in ids[:2]

    played(scenario, who="lead")


def test_a_token_that_is_made_while_its_maker_is_revoked_has_its_entry_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = (await _create(client, ("lead", "nlp"), name="first")).json()["id"]
        revoke = world.tokens.revoke

        def late(*given: Any, **more: Any) -> Sequence[Token]:
            made = next(each for each in world.tokens.all() if each.id == first)
            world.tokens.add(evolve(made, id=TokenId("late"), digest="late", maker=first))
            return revoke(*given, **more)

        monkeypatch.setattr(world.tokens, "revoke", late)
        assert (await client.delete(f"/v1/tokens/{first}")).status_code == 204
        done = [entry for entry in world.store.audit if entry.action == "tokens.revoke"]
        assert [entry.subject for entry in done] == [first, "late"]
        assert dict(done[1].detail)["made_with"] == first

    played(scenario, who="admin")
