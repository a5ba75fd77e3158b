"""Teams, tiers, pools, the policy, the queue and the audit over HTTP."""

import asyncio
import json
from typing import Any

import httpx

from muster.api.problems.concealing import Concealing
from muster.api.rendering.events import event_body
from muster.formats.scenarios.scenario_file import scenario_from_document
from muster.formats.text.document import parse_document
from muster.live.publishing.feed import Published
from muster.model.events import SparesSet
from muster.model.scenario import Rules
from tests.api.world import World, eventually, played, submitted


def test_a_team_is_shown_with_what_it_uses_and_borrows() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, team="nlp/pre", gpus=8, workers=2)
        await submitted(client, team="nlp", gpus=8, workers=3)

        async def has_begun() -> bool:
            return bool((await client.get("/v1/teams/nlp")).json()["running"])

        await eventually(has_begun)
        team = (await client.get("/v1/teams/nlp")).json()
        assert (team["guaranteed"], team["used"], team["borrowed"]) == ({"*": 8}, {"*": 16, "h100": 16}, {"*": 8})
        assert (team["running"], team["waiting"]) == (1, 1)
        below = (await client.get("/v1/teams/nlp/pre")).json()
        assert below["borrowed"] == {"*": 16, "h100": 16}
        assert (team["lent"], below["lent"]) == ({}, {})
        listed = (await client.get("/v1/teams", params={"limit": 3})).json()
        assert [each["path"] for each in listed["items"]] == ["default", "nlp", "nlp/pre"]
        rest = (await client.get("/v1/teams", params={"cursor": listed["next"]})).json()
        assert [each["path"] for each in rest["items"]] == ["vision"]
        assert (await client.get("/v1/teams/nowhere")).status_code == 404

    played(scenario, who="admin")


def test_a_team_is_made_changed_and_removed() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        made = await client.put("/v1/teams/nlp/eval", json={"guaranteed": {"h100": 4}, "weight": 2.5, "reason": "new"})
        assert made.status_code == 200, made.text
        assert (made.json()["guaranteed"], made.json()["weight"]) == ({"h100": 4}, 2.5)
        held = await submitted(client, team="nlp/eval", held=True)
        assert (await client.delete("/v1/teams/nlp/eval")).status_code == 409
        await client.post(f"/v1/jobs/{held}/cancel")
        assert (await client.delete("/v1/teams/nlp/eval")).status_code == 204
        assert (await client.delete("/v1/teams/nlp/eval")).status_code == 404
        assert (await client.get("/v1/teams/nlp/eval")).status_code == 404
        above = await client.put("/v1/teams/nlp/pre", json={"guaranteed": {"*": 9}})
        assert above.status_code == 422
        assert "guaranteed" in above.json()["errors"][0]["problem"]
        assert [entry.action for entry in world.store.audit if entry.action.startswith("teams")] == [
            "teams.put",
            "teams.delete",
        ]

    played(scenario, who="lead")


def test_a_team_with_teams_below_it_stays_and_no_lead_raises_its_own_quota() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async with world.client("admin") as admin:
            assert (await admin.delete("/v1/teams/nlp")).status_code == 409
            assert (await admin.put("/v1/teams/a b", json={})).status_code == 422
            for reserved in ("*", "(own)", "nlp/%2E", "nlp/-"):
                assert (await admin.put(f"/v1/teams/{reserved}", json={})).status_code == 422
        assert (await client.put("/v1/teams/nlp", json={"guaranteed": {"*": 99}})).status_code == 403
        assert (await client.put("/v1/teams/vision/x", json={})).status_code == 403

    played(scenario, who="lead")


def test_what_is_shown_can_be_put_back_and_is_as_in_a_scenario() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        version = world.store.version
        for part in ("tiers", "pools", "policy"):
            shown = (await client.get(f"/v1/{part}")).json()
            again = await client.put(f"/v1/{part}", json=shown)
            assert (again.status_code, again.json()) == (200, shown)
            text = json.dumps({"now": "2026-01-01T00:00:00Z", "cluster": "2x8", part: shown})
            read = scenario_from_document(parse_document(text, file="x.json"))
            if part != "pools":
                assert getattr(read, part) == getattr(world.control.state.snapshot.rules, part)
        assert world.store.version == version

    played(scenario, who="operator")


def test_rules_are_replaced_whole_and_mistakes_are_named() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        tiers: list[dict[str, Any]] = [{"name": "gold", "preempts": True}, {"name": "standard"}]
        assert [tier["name"] for tier in (await client.put("/v1/tiers", json=tiers)).json()] == ["gold", "standard"]
        pools = {"main": {"tiers": ["gold", "standard"]}, "spot": {"spot": True, "price": 0.5}}
        assert (await client.put("/v1/pools", json=pools)).json()["spot"]["price"] == 0.5
        wrong = await client.put("/v1/pools", json={"main": {"tiers": ["silver"]}})
        assert wrong.status_code == 422
        assert wrong.json()["errors"][0]["field"] == "pools.main.tiers"
        bad = await client.put("/v1/policy", json={"order": "fifo", "half_life": "soon"})
        assert bad.json()["errors"][0]["field"] == "policy.half_life"
        assert (await client.get("/v1/policy")).json()["order"] == "fair"
        assert (await client.put("/v1/teams/nlp", json={"tiers": ["gold", "standard"]})).status_code == 200
        await submitted(client, tier="gold", held=True)
        named = await client.put("/v1/tiers", json=[{"name": "silver"}, {"name": "standard"}])
        assert "teams.nlp.tiers" in [error["field"] for error in named.json()["errors"]]
        orphaned = await client.put("/v1/tiers", json=[{"name": "gold"}])
        assert orphaned.json()["errors"][0]["field"] == "pools.main.tiers"
        assert (await client.put("/v1/pools", json={})).json() == {}
        assert (await client.put("/v1/teams/nlp", json={"tiers": ["standard"]})).status_code == 200
        in_use = await client.put("/v1/tiers", json=[{"name": "standard"}])
        assert in_use.status_code == 409

    played(scenario, who="operator")


def test_nodes_that_the_policy_keeps_are_ready_and_called_spares() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.put("/v1/policy", json={"spares": 2})).json()["spares"] == 2

        async def spares() -> list[str]:
            nodes = (await client.get("/v1/nodes")).json()["items"]
            assert {node["state"] for node in nodes} == {"ready"}
            return [node["name"] for node in nodes if node["spare"]]

        async def are_kept() -> bool:
            return await spares() == ["n3", "n4"]

        await eventually(are_kept)
        kept = SparesSet(at_ms=0, nodes=world.control.view.spares)
        assert event_body(1, Published(kept), Concealing())["spares"] == ["n4", "n3"]
        await submitted(client, gpus=8, workers=2, run="never ends")
        waiting = await submitted(client, gpus=8)

        async def is_told() -> bool:
            reasons = (await client.get(f"/v1/jobs/{waiting}/why")).json()["reasons"]
            return any("kept as spares for jobs that lose a node: n3 and n4" in reason["message"] for reason in reasons)

        await eventually(is_told)
        assert (await client.put("/v1/policy", json={"spares": -1})).json()["errors"][0]["field"] == "policy.spares"
        await client.put("/v1/policy", json={})
        assert await spares() == []

    played(scenario, who="operator")


def test_the_queue_is_counted_by_tier_team_and_type() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, gpus=8, workers=4, team="nlp/pre")
        await submitted(client, gpus=0.5, team="vision", tier="exploratory")

        async def has_begun() -> bool:
            return bool((await client.get("/v1/queue")).json()["running"])

        await eventually(has_begun)
        queue = (await client.get("/v1/queue")).json()
        assert (queue["running"], queue["waiting"], queue["gpus"]) == (1, 1, {"h100": {"total": 32, "used": 32}})
        assert queue["tiers"]["exploratory"]["waiting"] == 1
        assert queue["teams"] == {"nlp/pre": {"running": 1, "waiting": 0}, "vision": {"running": 0, "waiting": 1}}
        assert queue["oldest"] == queue["tiers"]["exploratory"]["oldest"]

    played(scenario, who="admin")


def test_the_audit_is_read_page_by_page_and_checked() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        jobs = [await submitted(client, held=True) for _ in range(3)]
        first = (await client.get("/v1/audit", params={"limit": 2})).json()
        rest = (await client.get("/v1/audit", params={"limit": 2, "cursor": first["next"]})).json()
        entries = [*first["items"], *rest["items"]]
        assert [(entry["seq"], entry["subject"]) for entry in entries] == list(enumerate(jobs, start=1))
        assert entries[0]["detail"]["outcome"] == "done"
        assert rest["next"] is None
        assert (await client.get("/v1/audit", params={"by": "nobody"})).json()["items"] == []
        assert (await client.get("/v1/audit/verify")).json()["whole"] is True
        both = await asyncio.gather(client.get("/v1/audit/verify"), client.get("/v1/audit/verify"))
        assert {answer.status_code for answer in both} <= {200, 429}

    played(scenario, who="operator")


def test_the_first_team_is_made_by_those_who_may_decide_for_all() -> None:
    async def scenario(world: World, _client: httpx.AsyncClient) -> None:
        world.control.ask(lambda engine, now_ms: engine.change_rules(Rules(), now_ms)).result(20)
        async with world.client("lead") as lead:
            assert (await lead.put("/v1/teams/nlp/pre", json={"limit": {"*": 2}})).status_code == 403
        async with world.client("admin") as admin:
            assert (await admin.put("/v1/teams/nlp", json={"limit": {"*": 8}})).status_code == 200
        async with world.client("lead") as lead:
            assert (await lead.put("/v1/teams/nlp/pre", json={"limit": {"*": 2}})).status_code == 200

    played(scenario)
