"""A member cannot take the cluster: tiers, priorities and being left alone are for teams that were allowed them."""

from typing import Any

import httpx

from tests.api.world import World, job_file, played, submitted

SEIZING: dict[str, Any] = {"tier": "production", "preemptible": False, "priority": 100}


async def asks(world: World, who: str, method: str, path: str, body: dict[str, Any]) -> httpx.Response:
    async with world.client(who) as client:
        return await client.request(method, path, json=body)


def test_a_member_gets_no_tier_that_its_team_was_not_given() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        answers = [await client.post("/v1/jobs", json={"job": job_file(name=f"a{at}", **SEIZING)}) for at in range(8)]
        assert {answer.status_code for answer in answers} == {403}
        problem = answers[0].json()
        assert problem["code"] == "quota_limit"
        assert "team nlp may not use tier production; it may use standard, exploratory" in problem["detail"]
        assert "ask an operator" in problem["detail"]
        assert not world.control.state.jobs

    played(scenario)


def test_a_member_gets_no_job_that_is_not_preemptible_and_no_priority_above_its_own() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await asks(world, "operator", "PUT", "/v1/teams/nlp", {"max_priority": 60})).json()[
            "max_priority"
        ] == 60
        requests: list[tuple[dict[str, Any], str]] = [
            ({"preemptible": False}, "leave preemptible: false out"),
            ({"priority": 61}, "use at most 60"),
        ]
        for fields, words in requests:
            answer = await client.post("/v1/jobs", json={"job": job_file(**fields)})
            assert (answer.status_code, words in answer.json()["detail"]) == (403, True)
            dry = await client.post("/v1/jobs?dry_run=true", json={"job": job_file(**fields)})
            assert dry.status_code == 403
        await submitted(client, priority=60, held=True)

    played(scenario)


def test_a_job_cannot_be_moved_where_it_could_not_have_been_submitted_but_by_an_operator() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await asks(world, "operator", "PUT", "/v1/teams/nlp", {"max_priority": 60})
        job = await submitted(client, priority=50, held=True)
        for who in ("member", "lead"):
            requests: list[dict[str, Any]] = [{"tier": "production"}, {"priority": 100}]
            for body in requests:
                refused = await asks(world, who, "PATCH", f"/v1/jobs/{job}", body)
                assert (refused.status_code, refused.json()["code"]) == (403, "refused")
        assert (await client.patch(f"/v1/jobs/{job}", json={"priority": 60})).status_code == 200
        moved = await asks(world, "operator", "PATCH", f"/v1/jobs/{job}", {"tier": "production", "priority": 90})
        assert (moved.json()["tier"], moved.json()["priority"]) == ("production", 90)
        # What was let in stays, and may become less without being asked what it already has.
        assert (await client.patch(f"/v1/jobs/{job}", json={"priority": 80, "tier": "production"})).status_code == 200

    played(scenario)


def test_what_was_let_in_stays_when_the_bounds_narrow_and_a_retry_is_a_new_job() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await asks(world, "operator", "PUT", "/v1/teams/nlp", {"tiers": ["production", "standard"]})
        job = await submitted(client, tier="production", held=True)
        await asks(world, "operator", "PUT", "/v1/teams/nlp", {"tiers": ["standard"]})
        assert (await client.get(f"/v1/jobs/{job}")).json()["tier"] == "production"
        await client.post(f"/v1/jobs/{job}/cancel")
        again = await client.post(f"/v1/jobs/{job}/retry")
        assert (again.status_code, again.json()["code"]) == (403, "quota_limit")

    played(scenario)


def test_a_lead_hands_down_no_more_than_its_team_has() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for body, words in (
            ({"tiers": ["production"]}, "may use tier 'production'"),
            ({"allow_unpreemptible": True}, "allow_unpreemptible"),
        ):
            refused = await client.put("/v1/teams/nlp/pre", json=body)
            assert (refused.status_code, words in refused.text) == (422, True), refused.text
        assert (await client.put("/v1/teams/nlp", json={"tiers": ["production"]})).status_code == 403
        narrowed = await client.put("/v1/teams/nlp/pre", json={"tiers": ["exploratory"], "max_priority": 10})
        assert (narrowed.json()["tiers"], narrowed.json()["max_priority"]) == (["exploratory"], 10)
        kept = await client.put("/v1/teams/nlp/pre", json={"weight": 2})
        assert (kept.json()["tiers"], kept.json()["allow_unpreemptible"]) == (["exploratory"], False)
        unknown = await client.put("/v1/teams/nlp/pre", json={"tiers": ["gold"]})
        assert unknown.json()["errors"][0]["field"] == "teams.nlp.teams.pre.tiers"

    played(scenario, who="lead")


def test_a_team_is_bound_by_those_above_it_whatever_it_was_given_before() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for team in ("nlp", "nlp/pre"):
            await client.put(
                f"/v1/teams/{team}", json={"tiers": ["production", "standard"], "allow_unpreemptible": True}
            )
        await client.put("/v1/teams/nlp", json={"tiers": ["standard"], "allow_unpreemptible": False})
        shown = (await client.get("/v1/teams/nlp/pre")).json()
        assert (shown["tiers"], shown["allow_unpreemptible"]) == (["standard"], False)
        refused = await client.post("/v1/jobs", json={"job": job_file(team="nlp/pre", tier="production")})
        assert refused.status_code == 403

    played(scenario, who="operator")


def test_tiers_that_are_replaced_leave_every_team_all_but_the_highest() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        tiers = [{"name": "gold", "preempts": True}, {"name": "silver"}, {"name": "bronze"}]
        assert (await client.put("/v1/tiers", json=tiers)).status_code == 200
        assert (await client.get("/v1/teams/nlp")).json()["tiers"] == ["silver", "bronze"]

    played(scenario, who="operator")
