"""Emptying nodes and setting them aside, as operators ask for it."""

import httpx

from tests.api.world import World, eventually, job_file, played, submitted


async def _is(client: httpx.AsyncClient, job: str, state: str) -> None:
    async def is_so() -> bool:
        return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == state)

    await eventually(is_so)


def test_a_drained_node_is_emptied_with_notice() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=8)
        await _is(client, job, "running")
        alone = await client.post("/v1/nodes/n1/drain", json={"grace": "5m"})
        assert (alone.status_code, "goes with evict" in alone.json()["detail"]) == (422, True)
        asked = {"evict": True, "grace": "5m", "reason": "dust"}
        drained = await client.post("/v1/nodes/n1/drain", json=asked)
        assert drained.json()["state"] == "draining"
        story = (await client.get(f"/v1/jobs/{job}/story")).json()
        told = [each["text"] for each in story["sentences"] if each["kind"] == "eviction_ordered"]
        leaves = "it leaves, to begin anew: it has no checkpoint"
        assert told == [f"told to leave by admin, because its node is being emptied: dust: {leaves}"]
        entries = (await client.get("/v1/audit")).json()["items"]
        assert any(entry["action"] == "nodes.drain" and entry["detail"]["evict"] == "5m" for entry in entries)

    played(scenario, who="admin")


def test_nodes_are_set_aside_and_given_back() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=8)
        await _is(client, job, "running")
        wanted = {"name": "upkeep", "nodes": ["n[1-3]", "n4"], "start": "1h", "end": "2h", "reason": "firmware"}
        made = (await client.post("/v1/reservations", json=wanted)).json()
        assert (made["nodes"], made["open"], made["evicts"]) == (["n1", "n2", "n3", "n4"], False, [job])
        assert (await client.get("/v1/nodes/n2")).json()["reservations"] == ["upkeep"]
        waiting = await submitted(client, gpus=1, max_duration="2h")
        reasons = (await client.get(f"/v1/jobs/{waiting}/why")).json()["reasons"]
        assert reasons[-1]["code"] == "reservation"
        again = await client.post("/v1/reservations", json=wanted)
        assert (again.status_code, "choose another name" in again.json()["detail"]) == (409, True)
        assert (await client.post("/v1/reservations/upkeep/remove")).status_code == 200
        assert (await client.get("/v1/reservations")).json()["items"] == []
        await _is(client, waiting, "running")

    played(scenario, who="admin")


def test_a_team_uses_what_is_set_aside_for_it() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        wanted = {"name": "for-nlp", "nodes": ["n[1-4]"], "start": "now", "end": "2h", "team": "nlp"}
        made = (await client.post("/v1/reservations", json=wanted)).json()
        assert (made["team"], made["user"], made["evicts"]) == ("nlp", None, [])
        member, outsider = await submitted(client, team="nlp"), await submitted(client, team="vision")
        await _is(client, member, "running")
        assert (await client.get(f"/v1/jobs/{outsider}")).json()["state"] == "queued"

    played(scenario, who="admin")


def test_a_reservation_for_a_team_that_does_not_exist_is_refused_where_teams_are_declared() -> None:
    wanted = {"name": "x", "nodes": ["n1"], "start": "now", "end": "1h", "team": "nlpp"}

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.put("/v1/teams/nlp", json={"weight": 1})).status_code == 200
        refused = await client.post("/v1/reservations", json=wanted)
        assert refused.status_code == 422
        assert "there is no team nlpp; did you mean 'nlp'?" in refused.json()["detail"]
        assert (await client.post("/v1/reservations", json={**wanted, "team": "nlp"})).status_code == 200

    played(scenario, who="admin")


def test_what_makes_no_reservation_is_refused() -> None:
    good = {"name": "x", "nodes": ["n1"], "start": "now", "end": "1h"}

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for change, status, words in (
            ({"nodes": ["n[1-"]}, 422, "nodes: "),
            ({"nodes": ["n9"]}, 404, "there is no node n9"),
            ({"start": "soon"}, 422, "start: "),
            ({"end": "1970-01-01T00:00:00Z"}, 422, "over before it begins"),
            ({"name": "no blanks"}, 422, ""),
        ):
            answer = await client.post("/v1/reservations", json={**good, **change})
            assert (answer.status_code, words in answer.text) == (status, True), answer.text

    played(scenario, who="admin")


def test_a_dry_run_says_that_a_job_would_not_begin_yet() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        tried = await client.post("/v1/jobs", params={"dry_run": True}, json={"job": job_file(begin="2h")})
        assert [reason["code"] for reason in tried.json()["reasons"]] == ["begin"]

    played(scenario, who="admin")
