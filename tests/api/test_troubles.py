"""What needs attention, over HTTP."""

import asyncio
from typing import Any

import httpx

from muster.model.events import GangsFound, HangFound, HangOver, NodeChanged, ObservedEvent, StragglerFound
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.machines.quarantine import FoundGang
from muster.model.records import evolve
from muster.model.telemetry import Hang, Straggler
from tests.api.world import World, eventually, played, submitted
from tests.builders import NOW_MS

N2 = NodeName("n2")


async def _observed(world: World, event: ObservedEvent) -> None:
    await asyncio.wrap_future(world.control.ask(lambda engine, _: engine.observe(event)))


async def _troubles(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    answer = (await client.get("/v1/troubles")).json()
    assert answer["total"] == len(answer["items"])
    return list(answer["items"])


async def _a_running_job(world: World, client: httpx.AsyncClient) -> JobId:
    job = await submitted(client)

    async def is_running() -> bool:
        world.control.nudge()
        return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == "running")

    await eventually(is_running)
    return JobId(job)


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


def test_bad_gpus_of_a_node_that_is_ready_need_attention() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        node = evolve(world.control.view.nodes[N2], bad_gpus=(1, 5))
        await _observed(world, NodeChanged(at_ms=NOW_MS, node=node, because="uncorrectable errors"))
        (trouble,) = await _troubles(client)
        assert (trouble["kind"], trouble["what"], trouble["node"]) == ("gpus", "GPU 1, 5 bad", "n2")
        assert (trouble["why"], trouble["state"]) == ("uncorrectable errors", None)
        await _observed(world, NodeChanged(at_ms=NOW_MS, node=evolve(node, bad_gpus=())))
        assert await _troubles(client) == []

    played(scenario, who="admin")


def test_gpus_that_an_unknown_gang_uses_need_attention_until_it_is_gone() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        worker = Worker(rank=0, role="worker", node=N2, gpus=(0, 3))
        gang = FoundGang(job=JobId("job-77"), attempt=1, generation=1, workers=(worker,))
        await _observed(world, GangsFound(at_ms=NOW_MS, node=N2, gangs=(gang,)))
        (trouble,) = await _troubles(client)
        assert (trouble["kind"], trouble["what"], trouble["node"]) == ("quarantine", "quarantine", "n2")
        assert "GPU 0, 3 is used by a gang" in trouble["why"]
        await _observed(world, GangsFound(at_ms=NOW_MS, node=N2))
        assert await _troubles(client) == []

    played(scenario, who="admin")


def test_stragglers_and_hangs_need_the_attention_of_those_who_may_see_the_job() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _a_running_job(world, client)
        slow = Straggler(rank=2, worker=0, node=NodeName("n1"), slowdown_milli=1310, since_ms=NOW_MS)
        await _observed(world, StragglerFound(at_ms=NOW_MS, job=job, attempt=1, straggler=slow))
        hang = Hang(since_ms=NOW_MS, ranks=(0, 2), step=7)
        await _observed(world, HangFound(at_ms=NOW_MS, job=job, attempt=1, hang=hang))
        straggler, hung = await _troubles(client)
        assert (straggler["kind"], straggler["job"], straggler["node"]) == ("straggler", job, None)
        assert straggler["why"] == "rank 2 on n1 takes 1.3 times as long as the others"
        assert (hung["kind"], hung["job"], hung["name"]) == ("hang", job, "train")
        assert hung["why"] == "no rank has made a step after step 7"
        async with world.client("other") as other:
            assert await _troubles(other) == []
        await _observed(world, HangOver(at_ms=NOW_MS, job=job, attempt=1))
        assert [each["kind"] for each in await _troubles(client)] == ["straggler"]

    played(scenario)
