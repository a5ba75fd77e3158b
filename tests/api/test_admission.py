"""Admission rules and profiles over HTTP: what they do to submissions, how they are changed, and what is audited."""

from collections.abc import Mapping

import httpx

from muster.model.policy import AdmissionRule, OnError, Profile
from muster.model.records import evolve
from tests.api.world import RULES, World, played, submitted

JOB = {"name": "train", "team": "nlp", "run": "python train.py"}


async def _put(client: httpx.AsyncClient, *rules: Mapping[str, object]) -> None:
    answer = await client.put("/v1/admission", json=list(rules))
    assert answer.status_code == 200, answer.text


def test_a_rule_refuses_a_job_with_its_name_and_message_and_that_is_audited() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await _put(client, {"name": "images come from us", "when": "!has(job.image)", "deny": "name an image"})
        refused = await client.post("/v1/jobs", json={"job": JOB})
        assert (refused.status_code, refused.json()["code"]) == (403, "denied")
        assert refused.json()["detail"] == "the admission rule 'images come from us' refuses the job: name an image"
        tried = await client.post("/v1/jobs", params={"dry_run": True}, json={"job": JOB})
        assert (tried.status_code, tried.json()["detail"]) == (403, refused.json()["detail"])
        [entry] = [entry for entry in world.store.audit if entry.action == "jobs.submit"]
        assert (entry.subject, dict(entry.detail)["outcome"]) == ("rule images come from us", "denied")
        assert not world.control.view.jobs
        await submitted(client, image="registry.example/train:1")

    played(scenario, who="admin")


def test_what_a_rule_sets_and_warns_of_is_in_the_answer_and_stays_with_the_job() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await _put(
            client,
            {"name": "limits", "when": "!has(job.max_duration)", "set": {"max_duration": "12h", "priority": 10}},
            {"name": "seen", "when": "job.max_duration == '12h'", "warn": "twelve hours is short"},
        )
        effects = [
            {"rule": "limits", "kind": "set", "message": None, "keys": ["max_duration"]},
            {"rule": "seen", "kind": "warn", "message": "twelve hours is short", "keys": []},
        ]
        tried = await client.post("/v1/jobs", params={"dry_run": True}, json={"job": {**JOB, "priority": 50}})
        assert tried.json()["admission"] == effects
        made = await client.post("/v1/jobs", json={"job": {**JOB, "priority": 50}})
        assert made.status_code == 201, made.text
        shown = (await client.get(f"/v1/jobs/{made.json()['id']}")).json()
        assert (shown["admission"], shown["spec"]["max_duration"], shown["priority"]) == (effects, "12h", 50)

    played(scenario, who="admin")


def test_a_job_that_a_rule_makes_invalid_is_refused_and_the_rule_is_named() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await _put(client, {"name": "mounts", "set": {"mounts": [{"from": "/data", "to": "/data"}]}})
        refused = await client.post("/v1/jobs", json={"job": JOB})
        assert (refused.status_code, refused.json()["code"]) == (403, "denied")
        assert "'mounts' refuses the job: what it sets makes the job invalid" in refused.json()["detail"]
        await submitted(client, image="registry.example/train:1")

    played(scenario, who="admin")


def test_a_retry_and_a_batch_of_tasks_pass_the_rules_again() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        array = await submitted(client, held=True, array="0-3")
        for each in (job, array):
            assert (await client.post(f"/v1/jobs/{each}/cancel")).status_code == 200
        await _put(client, {"name": "tags", "require_tags": ["project"]})
        for each in (job, array):
            refused = await client.post(f"/v1/jobs/{each}/retry")
            assert (refused.status_code, refused.json()["code"]) == (403, "denied")
            assert "needs the tags project" in refused.json()["detail"]
        await _put(client, {"name": "limit", "set": {"max_duration": "1h"}})
        again = await client.post(f"/v1/jobs/{job}/retry")
        assert again.status_code == 201, again.text
        assert again.json()["spec"]["max_duration"] == "1h"
        [effect] = again.json()["admission"]
        assert effect["rule"] == "limit"
        tasks = await client.post(f"/v1/jobs/{array}/retry")
        assert (tasks.status_code, tasks.json()["code"]) == (409, "conflict")  # no task has failed

    played(scenario, who="admin")


def test_the_same_request_gets_its_job_even_if_a_rule_would_refuse_it_now() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = await client.post("/v1/jobs", json={"job": JOB}, headers={"Idempotency-Key": "k"})
        await _put(client, {"name": "closed", "deny": "the cluster is closed"})
        again = await client.post("/v1/jobs", json={"job": JOB}, headers={"Idempotency-Key": "k"})
        assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
        other = await client.post("/v1/jobs", json={"job": JOB}, headers={"Idempotency-Key": "other"})
        assert other.status_code == 403

    played(scenario, who="admin")


def test_rules_see_who_submits_for_which_team_and_when() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async with world.client("admin") as admin:
            await _put(
                admin,
                {"name": "user", "when": "user == 'member'", "warn": "a member"},
                {"name": "team", "when": "team == 'nlp' || team.startsWith('nlp/')", "warn": "of nlp"},
                {"name": "time", "when": "now > timestamp('1970-01-02T00:00:00Z')", "warn": "today"},
                {"name": "size", "when": "gpus(job) > 8", "warn": "large"},
            )
        made = await client.post("/v1/jobs", json={"job": {**JOB, "workers": 2, "resources": {"gpus": 8}}})
        assert [each["message"] for each in made.json()["admission"]] == ["a member", "of nlp", "today", "large"]
        small = await client.post("/v1/jobs", json={"job": {**JOB, "resources": {"gpus": 8}}})
        assert [each["rule"] for each in small.json()["admission"]] == ["user", "team", "time"]

    played(scenario)


def test_a_rule_that_cannot_be_judged_refuses_or_warns_as_it_says() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        rule = {"name": "image", "when": "job.image.startsWith('x')", "deny": "no"}
        await _put(client, {**rule, "on_error": "allow"})
        made = await client.post("/v1/jobs", json={"job": JOB})
        assert made.json()["admission"][0]["message"] == (
            "could not be judged, and was passed over: the job has no image; ask has(…) first"
        )
        await _put(client, rule)
        refused = await client.post("/v1/jobs", json={"job": JOB})
        assert "could not be judged: the job has no image" in refused.json()["detail"]

    played(scenario, who="admin")


def test_rules_are_changed_one_by_one_and_what_is_wrong_with_them_is_said() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async def patch(name: str, body: Mapping[str, object], **query: str) -> httpx.Response:
            return await client.patch(f"/v1/admission/{name}", json=body, params=query)

        assert (await patch("b", {"warn": "b"})).status_code == 200
        assert (await patch("a a", {"warn": "a", "when": "job.tier == 'standard'"}, before="b")).status_code == 200
        shown = (await client.get("/v1/admission")).json()
        assert [rule["name"] for rule in shown] == ["a a", "b"]
        moved = await patch("a a", {"when": None, "deny": "no", "warn": None})
        assert moved.json()[0] == {"name": "a a", "deny": "no"}
        for body, problem in (
            ({"when": "jb == 1"}, "undeclared reference"),
            ({"when": "job.tire == 'x'"}, "did you mean 'tier'?"),
            ({"warn": "too"}, "does deny and warn"),
            ({"deny": None}, "does nothing"),
            ({"deny": None, "set": {"team": "x"}}, "no rule can set team"),
            ({"deny": None, "set": {"priorty": 3}}, "did you mean 'priority'?"),
            ({"deny": None, "plugin": "nowhere"}, "there is no plug-in 'nowhere' here"),
        ):
            wrong = await patch("a a", body)
            assert wrong.status_code == 422
            assert problem in wrong.text
        assert (await patch("c", {"warn": "c"}, before="nothing")).status_code == 404
        assert (await client.delete("/v1/admission/b")).json() == moved.json()[:1]
        assert (await client.delete("/v1/admission/b")).status_code == 404
        actions = [entry.action for entry in world.store.audit if entry.action.startswith("admission")]
        assert actions == ["admission.patch"] * 4

    played(scenario, who="admin")


def test_a_profile_fills_in_what_a_job_leaves_out_and_stays_with_it() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        profile = {"resources": {"gpus": 4, "cpus": 8}, "env": {"A": "1", "B": "1"}, "run": "python default.py"}
        put = await client.put("/v1/profiles", json={"small": profile})
        assert put.json() == {"small": profile}
        job = {"name": "train", "team": "nlp", "profile": "small", "resources": {"gpus": 2}, "env": {"B": "2"}}
        made = await client.post("/v1/jobs", json={"job": job})
        assert made.status_code == 201, made.text
        spec = made.json()["spec"]
        assert spec["profile"] == "small"
        assert spec["resources"] == {"gpus": 2, "cpus": 8}
        assert (spec["env"], spec["run"]) == ({"A": "1", "B": "2"}, "python default.py")
        text = await client.post("/v1/jobs", json={"text": "name: long\nteam: nlp\nprofile: small\n"})
        assert text.json()["spec"]["resources"]["gpus"] == 4
        unknown = await client.post("/v1/jobs", json={"job": {**job, "profile": "smal"}})
        assert unknown.status_code == 422
        assert "there is no profile 'smal' (did you mean 'small'? there are: small)" in unknown.text
        for wrong, problem in (({"team": "x"}, "cannot say team"), ({"gpu": 1}, "unknown key"), ({}, "a mapping")):
            assert problem in (await client.put("/v1/profiles", json={"wrong": wrong})).text

    played(scenario, who="admin")


def test_rules_are_tried_on_the_jobs_of_the_past_and_nothing_is_changed() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        ended = await submitted(client, held=True, tags={"project": "atlas"})
        await client.post(f"/v1/jobs/{ended}/cancel")
        alive = await submitted(client, held=True)
        rules = [
            {"name": "limits", "set": {"max_duration": "12h"}},
            {"name": "seen", "when": "'project' in job.tags", "warn": "tagged"},
            {"name": "tags", "require_tags": ["project"]},
        ]
        body = {"admission": rules, "since": "1970-01-01T00:00:00Z"}
        found = (await client.post("/v1/admission-tests", json=body)).json()
        assert (found["checked"], found["complete"]) == (2, True)
        assert [(each["job"], each["rule"]) for each in found["denied"]] == [(alive, "tags")]
        assert [(each["job"], each["keys"]) for each in found["changed"]] == [
            (alive, ["max_duration"]),
            (ended, ["max_duration"]),
        ]
        assert [each["job"] for each in found["warned"]] == [ended]
        later = (await client.post("/v1/admission-tests", json={**body, "since": "2100-01-01T00:00:00Z"})).json()
        assert later["checked"] == 0
        assert (await client.get("/v1/admission")).json() == []

    played(scenario, who="admin")


def test_rules_and_profiles_of_a_configuration_are_joined_with_those_of_run_time() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        file = {"admission": [{"name": "a", "warn": "a"}], "profiles": {"p": {"priority": 1}}}
        assert (await client.put("/v1/config", json=file)).status_code == 200
        await client.patch("/v1/admission/a", json={"warn": "changed"})
        diff = (await client.post("/v1/config/diff", json=file)).json()
        assert [(each["setting"], each["changed_by"]) for each in diff["changes"]] == [("admission.a.warn", "run time")]
        assert (await client.put("/v1/config", json={**file, "changes": "drop"})).status_code == 200
        assert (await client.get("/v1/admission")).json() == file["admission"]
        assert (await client.get("/v1/profiles")).json() == file["profiles"]

    played(scenario, who="admin")


def test_rules_of_before_hold_after_a_restart() -> None:
    rules = evolve(
        RULES,
        admission=(AdmissionRule(name="closed", deny="closed", on_error=OnError.ALLOW),),
        profiles=(Profile(name="p", values='{"priority": 1}'),),
    )

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/admission")).json() == [{"name": "closed", "deny": "closed", "on_error": "allow"}]
        assert (await client.post("/v1/jobs", json={"job": JOB})).status_code == 403

    played(scenario, who="admin", rules=rules)


def test_the_same_request_with_a_profile_is_known_after_the_profile_has_changed() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = {"name": "train", "team": "nlp", "profile": "p", "run": "x"}
        ids = []
        for priority in (1, 2):
            await client.put("/v1/profiles", json={"p": {"priority": priority}})
            made = await client.post("/v1/jobs", json={"job": job}, headers={"Idempotency-Key": "k"})
            ids.append((made.json()["id"], made.json()["priority"]))
        assert ids == [("job-1", 1), ("job-1", 1)]

    played(scenario, who="admin")
