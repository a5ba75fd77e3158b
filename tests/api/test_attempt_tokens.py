"""A job calls the server that runs it with a token of its own: its team, its owner, and only while it runs."""

import httpx

from muster.attempt_token import attempt_token
from muster.core.lifecycle.desired import run_id
from muster.model.access import Binding, Role
from muster.model.ids import JobId, TeamPath
from tests.api.world import JOB_KEY, World, eventually, played, submitted


async def running(world: World, client: httpx.AsyncClient, **fields: object) -> JobId:
    """A job whose workers have started, and that is let in as the caller `job`."""
    job = await submitted(client, **fields)

    async def runs() -> bool:
        return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == "running")

    await eventually(runs)
    record = world.control.view.jobs[job]
    world.secrets["job"] = attempt_token(JOB_KEY, job, record.attempt, run_id(record))
    return job


def test_a_job_submits_lists_and_cancels_in_the_name_of_its_owner_and_the_audit_says_which_attempt_did() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        job = await running(world, member)
        async with world.client("job") as inside:
            me = (await inside.get("/v1/whoami")).json()
            assert (me["name"], me["label"]) == ("member", f"{job} attempt 1")
            assert [each["team"] for each in me["bindings"]] == ["nlp"]
            child = await submitted(inside, name="child")
            listed = (await inside.get("/v1/jobs")).json()["items"]
            assert {each["id"]: each["user"] for each in listed} == {job: "member", child: "member"}
            assert (await inside.post(f"/v1/jobs/{child}/cancel")).status_code == 200
        said = [(each.by, each.action, each.subject) for each in world.store.audit]
        assert said[-2:] == [
            (f"{job} attempt 1 for member", "jobs.submit", child),
            (f"{job} attempt 1 for member", "jobs.cancel", child),
        ]

    played(scenario)


def test_a_job_that_names_no_team_has_the_team_of_the_job_that_submits_it() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        await running(world, member, team="nlp/pre")
        async with world.client("job") as inside:
            child = await inside.post("/v1/jobs", json={"job": {"name": "child", "run": "true"}})
            assert child.json()["team"] == "nlp/pre", child.text

    played(scenario)


def test_the_token_of_an_attempt_is_good_for_its_team_only_and_changes_no_job_of_others() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        async with world.client("colleague") as colleague:
            theirs = await submitted(colleague, held=True)
        async with world.client("other") as other:
            hidden = await submitted(other, team="vision", held=True)
        async with world.client("lead") as lead:
            await running(world, lead)
        async with world.client("job") as inside:
            assert (
                await inside.post("/v1/jobs", json={"job": {"name": "x", "team": "vision", "run": "true"}})
            ).status_code == 403
            assert (await inside.get(f"/v1/jobs/{hidden}")).status_code == 404
            assert (await inside.post(f"/v1/jobs/{theirs}/cancel")).status_code == 403
            assert (await inside.get("/v1/tokens")).status_code == 403

    played(scenario)


def test_the_token_ends_with_the_attempt() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        job = await running(world, member)
        async with world.client("job") as inside:
            assert (await inside.get("/v1/whoami")).status_code == 200
            assert (await member.post(f"/v1/jobs/{job}/cancel")).status_code == 200

            async def is_out() -> bool:
                return (await inside.get("/v1/whoami")).status_code == 401

            await eventually(is_out)

    played(scenario)


def test_a_token_that_was_not_made_for_this_attempt_is_refused() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        job = await running(world, member)
        other = await submitted(member, held=True)
        run = run_id(world.control.view.jobs[job])
        lies = (
            attempt_token(JOB_KEY, job, 2, run),
            attempt_token(JOB_KEY, other, 1, run),
            attempt_token(b"x" * 32, job, 1, run),
            attempt_token(JOB_KEY, job, 1, "another"),
            world.secrets["job"][:-4] + "AAAA",
            world.secrets["job"].replace("~", ""),
        )
        for lie in lies:
            answer = await member.get("/v1/whoami", headers={"Authorization": f"Bearer {lie}"})
            assert answer.status_code == 401, lie

    played(scenario)


def test_a_job_may_do_no_more_than_its_owner_may_now() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        bindings = (Binding(role=Role.MEMBER, team=TeamPath("nlp")),)
        world.let_in("narrow", bindings, scopes=("jobs.see", "jobs.submit"))
        async with world.client("narrow") as narrow:
            job = await running(world, narrow)
            token = (await narrow.get("/v1/whoami")).json()["token"]
        async with world.client("job") as inside, world.client("admin") as admin:
            assert (await inside.post(f"/v1/jobs/{job}/cancel")).status_code == 403
            assert (await inside.get("/v1/jobs")).status_code == 200
            assert (await admin.delete(f"/v1/tokens/{token}")).status_code == 204
            assert (await inside.get("/v1/jobs")).status_code == 401

    played(scenario)


def test_attempts_are_let_in_from_an_address_that_sent_many_wrong_tokens() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        await running(world, member)
        world.secrets["stranger"] = world.secrets["job"][:-4] + "AAAA"
        async with world.client("stranger") as stranger:
            while (await stranger.get("/v1/whoami")).status_code != 429:
                pass
        async with world.client("job") as inside:
            assert (await inside.get("/v1/whoami")).status_code == 200

    played(scenario)


def test_a_job_signs_nobody_in_because_the_session_would_outlive_it() -> None:
    async def scenario(world: World, member: httpx.AsyncClient) -> None:
        await running(world, member)
        async with world.client("job") as inside:
            assert (await inside.post("/v1/sign-in-links")).status_code == 403
            assert (await inside.post("/session", json={"token": world.secrets["job"]})).status_code == 403

    played(scenario)
