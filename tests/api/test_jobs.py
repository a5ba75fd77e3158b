"""Jobs over HTTP: showing, listing, changing and explaining them."""

import asyncio
from typing import Any

import httpx
import pytest

from muster.api.routes.jobs import jobs
from muster.model.ids import JobId, NodeName
from muster.model.policy import HOUR_MS
from tests.api.world import FOREVER, World, eventually, job_file, played, submitted
from tests.builders import a_cluster, a_node

ALL_FIELDS = """
admission saves progress last_output stragglers hang no_larger id name team user tier priority state reason
attempt workers gpus submitted started first_started ended exit_code problem retries preemptions node_failures
gpu_seconds checkpointed array tasks held depends_on tags max_duration_s spec
"""


async def _ids(client: httpx.AsyncClient, **query: Any) -> list[str]:
    answer = await client.get("/v1/jobs", params=query)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["items"]]


async def _is_running(client: httpx.AsyncClient, job: str) -> None:
    async def is_so() -> bool:
        return str((await client.get(f"/v1/jobs/{job}")).json()["state"]) in ("starting", "running")

    await eventually(is_so)


def test_a_job_that_was_let_in_is_shown_with_all_that_is_documented() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, name="llama", gpus=4, tags={"project": "atlas"}, max_duration="2h", priority=70)
        await _is_running(client, job)
        shown = (await client.get(f"/v1/jobs/{job}")).json()
        assert sorted(shown) == sorted(ALL_FIELDS.split())
        assert (shown["name"], shown["user"], shown["team"], shown["priority"]) == ("llama", "member", "nlp", 70)
        assert (shown["gpus"], shown["max_duration_s"], shown["tags"]) == (4, 7200, {"project": "atlas"})
        assert shown["workers"] == [{"rank": 0, "role": "worker", "node": "n1", "gpus": [0, 1, 2, 3], "share": None}]
        assert shown["spec"]["resources"] == {"gpus": 4}
        assert shown["started"].endswith("Z")

    played(scenario)


def test_an_array_is_one_job_and_its_tasks_are_listed_by_index() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        array = await submitted(client, array="0-4%2")
        assert await _ids(client) == [array]
        shown = (await client.get(f"/v1/jobs/{array}")).json()
        assert sum(shown["tasks"].values()) == 5
        first = (await client.get("/v1/jobs", params={"array": array, "limit": 3})).json()
        assert [each["id"] for each in first["items"]] == [f"{array}.{index}" for index in range(3)]
        assert first["items"][1]["array"] == {"parent": array, "index": 1}
        rest = (await client.get("/v1/jobs", params={"array": array, "limit": 3, "cursor": first["next"]})).json()
        assert [each["id"] for each in rest["items"]] == [f"{array}.3", f"{array}.4"]
        assert rest["next"] is None
        why = (await client.get(f"/v1/jobs/{array}.4/why")).json()
        assert "its turn has not come" in why["reasons"][0]["message"]

    played(scenario)


def test_pages_are_newest_first_and_together_are_everything_once() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        made = [await submitted(client, name=f"j{number}", held=True) for number in range(7)]
        found: list[str] = []
        query: dict[str, Any] = {"limit": 3}
        while True:
            page = (await client.get("/v1/jobs", params=query)).json()
            found += [each["id"] for each in page["items"]]
            if page["next"] is None:
                break
            query["cursor"] = page["next"]
            await submitted(client, name="later", held=True)
        assert found == made[::-1]

    played(scenario)


def test_filters_agree_with_all_that_is_given() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        running = await submitted(client, name="a")
        held = await submitted(client, name="b", team="nlp/pre", tier="exploratory", held=True)
        gone = await submitted(client, name="c", held=True)
        await client.post(f"/v1/jobs/{gone}/cancel")
        await _is_running(client, running)
        assert await _ids(client, state="active") == [held, running]
        assert await _ids(client, state="ended") == [gone]
        assert await _ids(client, state=["cancelled", "held"]) == [gone, held]
        assert await _ids(client, team="nlp/pre") == [held]
        assert await _ids(client, team="nlp", state="active", name="a") == [running]
        assert await _ids(client, tier="exploratory") == [held]
        assert await _ids(client, user="nobody") == []
        assert (await client.get("/v1/jobs", params={"stat": "active"})).status_code == 422
        assert (await client.get("/v1/jobs", params={"limit": 1001})).status_code == 422
        assert (await client.get("/v1/jobs", params={"cursor": "nonsense"})).status_code == 422

    played(scenario)


def test_jobs_of_teams_that_one_may_not_see_do_not_exist() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client)
        async with world.client("other") as other:
            assert await _ids(other) == []
            shown = await other.get(f"/v1/jobs/{job}")
            missing = await other.get("/v1/jobs/job-99")
            assert shown.status_code == missing.status_code == 404
            assert shown.json()["detail"].replace(job, "X") == missing.json()["detail"].replace("job-99", "X")
            shown = (await other.get("/v1/nodes/n1")).json()
            assert shown["jobs"] == []
            assert {(use["job"], use["name"], use["team"]) for use in shown["gpu_uses"]} <= {(None, None, None)}

    played(scenario)


def test_jobs_are_found_by_their_ids_as_far_as_one_may_see_them() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first, second = await submitted(client, held=True), await submitted(client, array="0-2", held=True)
        async with world.client("other") as other:
            hidden = await submitted(other, held=True, team="vision")
            assert await _ids(other, id=[first, hidden]) == [hidden]
        await client.post(f"/v1/jobs/{first}/cancel")
        wanted = [f"{second}.1", first, "job-999", second]
        assert await _ids(client, id=wanted) == [f"{second}.1", first, second]
        assert await _ids(client, id=wanted, state="ended") == [first]
        page = (await client.get("/v1/jobs", params={"id": wanted, "limit": 1})).json()
        assert await _ids(client, id=wanted, cursor=page["next"]) == [first, second]
        both = await client.get("/v1/jobs", params={"id": first, "array": second})
        assert (both.status_code, "either `id` or `array`" in both.text) == (422, True)

    played(scenario, who="member")


def test_a_brief_list_leaves_out_job_files_and_may_be_longer() -> None:
    async def scenario(_world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, held=True)
        array = await submitted(client, array="0-2", held=True)
        for query in ({"state": "active"}, {}, {"array": array}):
            answer = (await client.get("/v1/jobs", params={**query, "brief": True, "limit": 2500})).json()
            assert answer["items"]
            assert all(each["spec"] == {} for each in answer["items"])
            assert all(each["spec"] for each in (await client.get("/v1/jobs", params=query)).json()["items"])
        refused = await client.get("/v1/jobs", params={"limit": 2500})
        assert (refused.status_code, "at most 1000 without `brief`" in refused.text) == (422, True)

    played(scenario)


def test_the_file_of_a_job_is_yaml_that_can_be_submitted_again() -> None:
    async def scenario(_world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True, run="python a.py\npython b.py\n", env={"SEED": "1e5", "ON": "yes"})
        answer = await client.get(f"/v1/jobs/{job}/file")
        assert answer.headers["content-type"].startswith("application/yaml")
        again = await client.post("/v1/jobs", json={"text": answer.text, "held": True})
        assert (again.status_code, again.json()["spec"]) == (201, (await client.get(f"/v1/jobs/{job}")).json()["spec"])

    played(scenario)


def test_a_job_is_held_released_changed_and_cancelled() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        world.backend.script(JobId("job-1"), FOREVER)
        job = await submitted(client, held=True)
        changed = await client.patch(
            f"/v1/jobs/{job}", json={"priority": 9, "tags": {"a": "b"}, "max_duration_s": 90.5}
        )
        assert (changed.json()["priority"], changed.json()["tags"]) == (9, {"a": "b"})
        assert changed.json()["max_duration_s"] == 90.5
        assert (await client.post(f"/v1/jobs/{job}/release", json={"reason": "go"})).json()["held"] is False
        await _is_running(client, job)
        cancelled = await client.post(f"/v1/jobs/{job}/cancel", json={"reason": "wrong data"})
        assert cancelled.json()["state"] == "stopping"
        assert cancelled.json()["reason"] == "cancelled"
        said = [(entry.action, entry.reason) for entry in world.store.audit]
        assert said == [("jobs.submit", ""), ("jobs.update", ""), ("jobs.release", "go"), ("jobs.cancel", "wrong data")]
        assert (await client.patch(f"/v1/jobs/{job}", json={"tier": "nowhere"})).status_code == 422

    played(scenario)


def test_a_waiting_job_is_told_why_and_until_when() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = await submitted(client, gpus=8, workers=4, max_duration="6h", name="first")
        second = await submitted(client, gpus=8, workers=2, name="second")
        await _is_running(client, first)
        why = (await client.get(f"/v1/jobs/{second}/why")).json()
        assert (why["job"], why["state"], why["position"]) == (second, "queued", 1)
        assert "capacity" in [each["code"] for each in why["reasons"]]
        assert why["hold"]["nodes"]
        assert why["estimate"]["p50"] <= why["estimate"]["p90"]
        running = (await client.get(f"/v1/jobs/{first}/why")).json()
        assert (running["position"], running["reasons"], running["estimate"]) == (None, [], None)

    played(scenario)


def test_tasks_are_looked_up_a_few_at_a_time_and_a_page_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "TASKS_AT_ONCE", 2)
    monkeypatch.setattr(jobs, "LOOKS_PER_PAGE", 2)

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        array = await submitted(client, array="0-5", held=True)
        first = (await client.get("/v1/jobs", params={"array": array, "limit": 100})).json()
        rest = (await client.get("/v1/jobs", params={"array": array, "limit": 100, "cursor": first["next"]})).json()
        assert [each["id"] for each in (*first["items"], *rest["items"])] == [f"{array}.{n}" for n in range(6)]
        assert (len(first["items"]), rest["next"]) == (4, None)

    played(scenario)


def test_the_story_of_a_job_is_told_oldest_first_and_of_a_task_with_its_array() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        array = await submitted(client, array="0-1")
        await _is_running(client, f"{array}.1")
        page = (await client.get(f"/v1/jobs/{array}.1/events", params={"limit": 1})).json()
        assert [each["kind"] for each in page["items"]] == ["job_submitted"]
        rest = (await client.get(f"/v1/jobs/{array}.1/events", params={"cursor": page["next"]})).json()["items"]
        assert rest[0]["kind"] == "job_started"
        assert rest[0]["job"] == f"{array}.1"
        assert rest[0]["workers"][0]["node"] == "n1"

    played(scenario)


def test_a_failed_array_is_tried_again_and_an_ended_job_too() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        assert (await client.post(f"/v1/jobs/{job}/retry")).status_code == 409
        await client.post(f"/v1/jobs/{job}/cancel")
        again = await client.post(f"/v1/jobs/{job}/retry", json={"reason": "fixed"})
        assert again.status_code == 201
        assert again.json()["id"] != job
        assert again.json()["name"] == "train"
        array = await submitted(client, array="0-1", held=True)
        assert (await client.post(f"/v1/jobs/{array}/retry")).status_code == 409

    played(scenario)


def test_a_retry_under_the_same_key_is_one_job() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job, other = [await submitted(client, held=True) for _ in range(2)]
        for each in (job, other):
            await client.post(f"/v1/jobs/{each}/cancel")
        key = {"Idempotency-Key": "k"}
        first, second = [await client.post(f"/v1/jobs/{job}/retry", headers=key) for _ in range(2)]
        assert (first.status_code, second.status_code) == (201, 200)
        assert first.json()["id"] == second.json()["id"]
        refused = await client.post(f"/v1/jobs/{other}/retry", headers=key)
        assert (refused.status_code, refused.json()["code"]) == (409, "key_reused")

    played(scenario)


def test_gpu_time_goes_on_counting_while_a_job_runs() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=2)
        await _is_running(client, job)
        world.clock.advance(HOUR_MS)
        assert (await client.get(f"/v1/jobs/{job}")).json()["gpu_seconds"] == pytest.approx(7200, abs=1)

    played(scenario)


def test_what_ended_is_exported_as_a_trace() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=2, name="done")
        await _is_running(client, job)
        world.clock.advance(60_000)
        world.backend.advance(world.backend.now_ms + 120_000)
        world.control.nudge()

        async def is_over() -> bool:
            return bool(await _ids(client, state="ended"))

        await eventually(is_over)
        never_ran = await submitted(client, held=True)
        await client.post(f"/v1/jobs/{never_ran}/cancel")
        answer = await client.get("/v1/export")
        lines = answer.text.splitlines()
        assert (len(lines), answer.headers["Muster-Left-Out"]) == (2, "1")
        assert lines[0].startswith("job_id,submit_s,duration_s,gpus")
        assert lines[1].startswith(f"{job},0,")
        async with world.client("other") as other:
            assert len((await other.get("/v1/export")).text.splitlines()) == 1

    played(scenario)


def test_reading_goes_on_when_the_writer_has_stopped() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)

        def fail(engine: Any, now_ms: int) -> None:
            raise RuntimeError("a bug\nand the story of somebody's job")

        refused = world.control.ask(fail)
        with pytest.raises(Exception, match="the writer has stopped"):
            await asyncio.wrap_future(refused)
        assert (await client.get(f"/v1/jobs/{job}")).status_code == 200
        assert (await client.get(f"/v1/jobs/{job}/why")).json()["reasons"][0]["code"] == "held"
        answer = await client.post("/v1/jobs", json={"job": job_file()})
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "1"
        assert "somebody's job" not in answer.text
        health = await client.get("/healthz")
        assert health.status_code == 503
        assert health.json()["status"] == "degraded"

    played(scenario)


def test_lost_nodes_and_drained_ones_are_shown_with_the_reason() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=8)
        await _is_running(client, job)
        drained = await client.post("/v1/nodes/n1/drain", json={"reason": "fan is loud"})
        assert (drained.json()["state"], drained.json()["because"]) == ("draining", "fan is loud")
        assert drained.json()["used"] == {"gpus": 8, "cpus": 0, "memory_bytes": 0}
        assert (await client.post("/v1/nodes/n2/drain")).json()["state"] == "drained"
        assert (await client.post("/v1/nodes/n1/undrain")).json()["state"] == "ready"
        world.backend.lose_node(NodeName("n3"))
        world.control.nudge()

        async def is_down() -> bool:
            return bool((await client.get("/v1/nodes/n3")).json()["state"] == "down")

        await eventually(is_down)
        assert (await client.post("/v1/nodes/n3/undrain")).status_code == 409
        first = (await client.get("/v1/nodes", params={"limit": 3})).json()
        rest = (await client.get("/v1/nodes", params={"limit": 3, "cursor": first["next"]})).json()
        assert [each["name"] for each in (*first["items"], *rest["items"])] == ["n1", "n2", "n3", "n4"]
        assert rest["next"] is None

    played(scenario, who="operator")


def test_a_job_that_stands_in_vain_after_a_change_is_told_so() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=8, workers=4, depends_on=[await submitted(client, run="never ends")])
        smaller = a_cluster(a_node("n1", gpus=8))
        world.control.ask(lambda engine, now_ms: engine.change_cluster(smaller, now_ms)).result(20)
        why = (await client.get(f"/v1/jobs/{job}/why")).json()
        assert why["position"] is None
        assert "never_fits" in [each["code"] for each in why["reasons"]]

    played(scenario)


def test_a_job_that_has_ended_cannot_be_changed_any_more() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = (await client.post("/v1/jobs", json={"job": job_file(), "held": True})).json()["id"]
        assert (await client.post(f"/v1/jobs/{job}/cancel")).json()["state"] == "cancelled"
        assert (await client.post(f"/v1/jobs/{job}/cancel")).status_code == 200
        for answer in (
            await client.post(f"/v1/jobs/{job}/hold"),
            await client.post(f"/v1/jobs/{job}/release"),
            await client.patch(f"/v1/jobs/{job}", json={"priority": 1}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (409, "ended")

    played(scenario)
