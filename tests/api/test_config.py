"""A configuration over HTTP, and rules that are changed one setting at a time."""

from typing import Any

import httpx

from tests.api.world import World, played

CONFIGURED = {
    "teams": {"nlp": {"guaranteed": {"*": 8}, "teams": {"pre": {}}}, "vision": {}, "default": {}},
    "policy": {"min_runtime": "1m"},
}
"""What the world is configured with, and another minimum run time."""


def settings(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    return {each["setting"]: (each["changed_by"], each["becomes"]) for each in answer.json()["changes"]}


def test_a_configuration_is_compared_and_put_in_force_with_what_was_changed_at_run_time() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.patch("/v1/teams/vision", json={"weight": 3})).status_code == 200
        compared = await client.post("/v1/config/diff", json=CONFIGURED)
        expected = {"policy.min_runtime": ("file", "1m"), "teams.vision.weight": ("run time", 3)}
        assert settings(compared) == expected
        assert (await client.get("/v1/policy")).json()["min_runtime"] == "10m"
        assert settings(await client.put("/v1/config", json=CONFIGURED)) == expected
        assert (await client.get("/v1/policy")).json()["min_runtime"] == "1m"
        assert settings(await client.post("/v1/config/diff", json=CONFIGURED)) == {
            "teams.vision.weight": ("run time", 3)
        }
        dropped = await client.put("/v1/config", json={**CONFIGURED, "changes": "drop", "reason": "as agreed"})
        assert settings(dropped) == {"teams.vision.weight": ("run time", 1)}
        assert (await client.get("/v1/teams/vision")).json()["weight"] == 1
        assert settings(await client.put("/v1/config", json={})) == {}
        entries = [(entry.action, entry.reason) for entry in world.store.audit]
        assert entries.count(("config.put", "as agreed")) == 1

    played(scenario, who="operator")


def test_a_setting_that_both_changed_is_refused_until_it_is_said_which_counts() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await client.patch("/v1/policy", json={"min_runtime": "5m"})
        refused = await client.put("/v1/config", json=CONFIGURED)
        assert refused.status_code == 409
        assert "policy.min_runtime is '5m' by a change at run time, and '1m' in the file" in refused.text
        kept = await client.put("/v1/config", json={**CONFIGURED, "changes": "keep"})
        assert settings(kept) == {"policy.min_runtime": ("both", "5m")}
        assert settings(await client.put("/v1/config", json=CONFIGURED)) == {"policy.min_runtime": ("run time", "5m")}

    played(scenario, who="operator")


def test_nodes_are_only_compared_and_quotas_are_doubted() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        nodes = [{"name": "n[1-3]", "gpus": 8, "gpu_type": "h100"}, {"name": "n5", "gpus": 4, "rack": "r"}]
        wrong = await client.post("/v1/config/diff", json={"cluster": {"nodes": nodes}})
        assert wrong.json()["errors"][0]["field"] == "cluster.nodes[1].rack"
        cluster = {"levels": ["rack"], "nodes": [{**nodes[0], "rack": "r"}, nodes[1]]}
        body = {"cluster": cluster, "teams": {"nlp": {"guaranteed": {"h100": 48}}}}
        found = (await client.post("/v1/config/diff", json=body)).json()
        assert found["nodes"] == ["levels are rack, not none", "new: n5", "gone: n4", "different: n1, n2, n3"]
        assert found["warnings"] == ["team nlp is guaranteed 48 h100, and the cluster has 24 h100"]

    played(scenario, who="operator")


def test_only_operators_compare_and_change() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for method, path in (
            ("POST", "/v1/config/diff"),
            ("PUT", "/v1/config"),
            ("PATCH", "/v1/policy"),
            ("PATCH", "/v1/tiers/standard"),
            ("PATCH", "/v1/pools/main"),
            ("DELETE", "/v1/tiers/standard"),
            ("DELETE", "/v1/pools/main"),
        ):
            assert (await client.request(method, path, json={})).status_code == 403, path

    played(scenario, who="lead")


def test_partial_changes_are_partial() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        before = (await client.get("/v1/policy")).json()
        changed = (await client.patch("/v1/policy", json={"min_runtime": "5m", "throughput": {"h100": 2}})).json()
        assert changed == {**before, "min_runtime": "5m", "throughput": {"h100": 2}}
        more = (await client.patch("/v1/policy", json={"min_runtime": None, "throughput": {"a100": 1}})).json()
        assert more == {**before, "throughput": {"a100": 1, "h100": 2}}
        assert (await client.patch("/v1/policy", json={"min_run": "5m"})).status_code == 422
        team = (await client.patch("/v1/teams/nlp", json={"limit": {"h100": 9, "a100": 4}})).json()
        assert (team["guaranteed"], team["limit"]) == ({"*": 8}, {"a100": 4, "h100": 9})
        assert team["warnings"] == [
            "team nlp has a limit of 4 a100, and no node has a GPU of that type (there are: h100)"
        ]
        less = (await client.patch("/v1/teams/nlp", json={"limit": {"a100": None}, "weight": 2})).json()
        assert (less["guaranteed"], less["limit"], less["weight"], less["warnings"]) == ({"*": 8}, {"h100": 9}, 2, [])
        assert (await client.patch("/v1/teams/nlp", json={"limit": {"*": 4}})).status_code == 422

    played(scenario, who="operator")


def test_tiers_and_pools_are_added_changed_and_removed_by_name() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async def tiers(method: str, name: str, body: dict[str, Any] | None = None, before: str = "") -> list[str]:
            query = {"before": before} if before else {}
            answer = await client.request(method, f"/v1/tiers/{name}", json=body, params=query)
            assert answer.status_code == 200, answer.text
            return [tier["name"] for tier in answer.json()]

        usual = ["production", "standard", "exploratory"]
        assert await tiers("PATCH", "idle", {"preemptible": True}) == [*usual, "idle"]
        assert await tiers("PATCH", "idle", {"max_duration": "1h"}) == [*usual, "idle"]
        assert (await client.get("/v1/tiers")).json()[-1]["max_duration"] == "1h"
        assert await tiers("PATCH", "idle", {}, before="standard") == ["production", "idle", *usual[1:]]
        assert await tiers("DELETE", "idle") == usual
        assert (await client.delete("/v1/tiers/idle")).status_code == 404
        assert (await client.patch("/v1/tiers/a", json={}, params={"before": "b"})).status_code == 404
        pool = await client.patch("/v1/pools/spot", json={"spot": True, "price": 0.5})
        assert pool.json()["spot"] == {"tiers": [], "teams": [], "spot": True, "price": 0.5}
        assert (await client.patch("/v1/pools/spot", json={"price": 0.4})).json()["spot"]["spot"]
        assert (await client.patch("/v1/pools/spot", json={"tiers": ["gold"]})).status_code == 422
        assert (await client.delete("/v1/pools/spot")).json() == {}
        assert (await client.delete("/v1/pools/spot")).status_code == 404
        assert "pools.patch" in [entry.action for entry in world.store.audit]

    played(scenario, who="operator")
