"""What needs attention, over HTTP."""

import httpx

from tests.api.world import World, played


def test_a_node_that_is_drained_needs_attention_until_it_is_back() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        nodes = [each["name"] for each in (await client.get("/v1/nodes")).json()["items"]]
        assert (await client.get("/v1/troubles")).json() == {"items": [], "total": 0}
        await client.post(f"/v1/nodes/{nodes[0]}/drain", json={"reason": "its fan is loud"})
        found = (await client.get("/v1/troubles")).json()
        assert found["total"] == 1
        (trouble,) = found["items"]
        assert (trouble["kind"], trouble["what"], trouble["node"]) == ("node", "node drained", nodes[0])
        assert (trouble["why"], trouble["state"], trouble["job"]) == ("its fan is loud", "drained", None)
        queue = (await client.get("/v1/queue")).json()
        assert queue["nodes"] == {"drained": 1, "ready": len(nodes) - 1}
        await client.post(f"/v1/nodes/{nodes[0]}/undrain")
        assert (await client.get("/v1/troubles")).json()["total"] == 0

    played(scenario, who="admin")
