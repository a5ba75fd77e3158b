"""Who did what: filtered, from either end, and exported."""

import json
from pathlib import Path

import httpx

from tests.api.world import World, played, submitted


def test_the_newest_entries_come_first_page_by_page_when_asked_for(tmp_path: Path) -> None:
    async def scenario(_world: World, client: httpx.AsyncClient) -> None:
        for _ in range(3):
            await submitted(client, held=True)
        first = (await client.get("/v1/audit", params={"newest_first": True, "limit": 2})).json()
        assert [each["seq"] for each in first["items"]] == [3, 2]
        rest = await client.get("/v1/audit", params={"newest_first": True, "limit": 2, "cursor": first["next"]})
        assert [each["seq"] for each in rest.json()["items"]] == [1]
        assert rest.json()["next"] is None

    played(scenario, who="operator", home=tmp_path)


def test_a_cursor_of_one_order_is_refused_in_the_other() -> None:
    async def scenario(_world: World, client: httpx.AsyncClient) -> None:
        for _ in range(2):
            await submitted(client, held=True)
        first = (await client.get("/v1/audit", params={"newest_first": True, "limit": 1})).json()
        answer = await client.get("/v1/audit", params={"cursor": first["next"]})
        assert answer.status_code == 422
        assert "leave it out to begin anew" in answer.json()["detail"]

    played(scenario, who="operator")


def test_entries_are_chosen_by_when_they_were_written(tmp_path: Path) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, held=True)
        world.clock.advance(60_000)
        await submitted(client, held=True)
        entries = (await client.get("/v1/audit")).json()["items"]
        later = entries[1]["at"]
        since = (await client.get("/v1/audit", params={"since": later})).json()["items"]
        until = (await client.get("/v1/audit", params={"until": later})).json()["items"]
        assert ([each["seq"] for each in since], [each["seq"] for each in until]) == ([2], [1])
        assert (await client.get("/v1/audit", params={"since": "5"})).status_code == 422

    played(scenario, who="operator", home=tmp_path)


def test_the_export_has_one_entry_per_line_as_the_list_has_them(tmp_path: Path) -> None:
    async def scenario(_world: World, client: httpx.AsyncClient) -> None:
        jobs = [await submitted(client, held=True) for _ in range(3)]
        listed = (await client.get("/v1/audit")).json()["items"]
        answer = await client.get("/v1/audit/export")
        assert answer.headers["content-disposition"] == 'attachment; filename="muster-audit.jsonl"'
        assert [json.loads(line) for line in answer.text.splitlines()] == listed
        one = await client.get("/v1/audit/export", params={"subject": jobs[1]})
        assert [json.loads(line)["subject"] for line in one.text.splitlines()] == [jobs[1]]

    played(scenario, who="operator", home=tmp_path)
