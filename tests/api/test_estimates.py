"""When jobs may start, as users are told: what it rests on, how good it was, and what it learns from the first jobs."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.api.lookups import explanations
from muster.api.lookups.estimate_file import EstimateFile
from muster.api.lookups.estimate_history import EstimateHistory
from muster.api.lookups.estimating import (
    EstimatedStart,
    EstimateRecord,
    Grounds,
    grounds_of,
    unlimited_before,
    within_promise,
)
from muster.api.lookups.explanations import Explanations
from muster.api.lookups.situation import Situation, handed_over
from muster.api.rendering.estimates import estimate_body, promise_body
from muster.api.services import Services
from muster.backends.fake.script import GangScript
from muster.core.order.run_times import ENOUGH
from muster.estimates.starts import StartEstimate
from muster.model.errors import TooMany
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.plan import Basis, EstimateBasis, Promise
from muster.model.policy import HOUR_MS, MINUTE_MS
from tests.api.world import World, eventually, played, submitted

SHORT_MS = 8_000
GPUS = 32
"""Of the cluster in these tests."""


async def pass_time(world: World, by_ms: int) -> None:
    world.clock.advance(by_ms)
    world.backend.advance(world.backend.now_ms + by_ms)
    world.control.nudge()


async def run_short_jobs(world: World, client: httpx.AsyncClient, count: int) -> None:
    """Submit jobs that take eight seconds each, and let them all end."""
    for number in range(count):
        world.backend.script(JobId(f"job-{number + 1}"), GangScript(run_ms=SHORT_MS))
        await submitted(client, gpus=1, name="short")

    async def have_ended() -> bool:
        await pass_time(world, 1_000)
        ended = await client.get("/v1/jobs?state=ended&name=short&limit=500")
        return len(ended.json()["items"]) == count

    await eventually(have_ended)


async def likely_wait(client: httpx.AsyncClient, job: JobId, key: str = "p90") -> timedelta:
    why = (await client.get(f"/v1/jobs/{job}/why")).json()
    submitted_at = (await client.get(f"/v1/jobs/{job}")).json()["submitted"]
    return datetime.fromisoformat(why["estimate"][key]) - datetime.fromisoformat(submitted_at)


async def full_cluster(client: httpx.AsyncClient) -> JobId:
    """Fill all nodes, and return a job that waits for them."""
    await submitted(client, gpus=8, workers=4, name="first")
    return await submitted(client, gpus=8, workers=4, name="second")


def test_a_server_that_knows_nothing_says_so_and_fifty_short_jobs_later_expects_short_ones() -> None:
    async def cold(_: World, client: httpx.AsyncClient) -> None:
        waiting = await full_cluster(client)
        estimate = (await client.get(f"/v1/jobs/{waiting}/why")).json()["estimate"]
        assert estimate["basis"] == "guess"
        assert "hardly any job has ended yet" in estimate["rests_on"]
        assert await likely_wait(client, waiting, "p50") > timedelta(minutes=10)

    async def warm(world: World, client: httpx.AsyncClient) -> None:
        await run_short_jobs(world, client, 50)
        waiting = await full_cluster(client)
        world.clock.advance(2 * SHORT_MS)  # the first job has already run longer than any before it
        estimate = (await client.get(f"/v1/jobs/{waiting}/why")).json()["estimate"]
        assert estimate["basis"] == "history"
        assert await likely_wait(client, waiting, "p50") < timedelta(minutes=2)
        assert await likely_wait(client, waiting) < timedelta(minutes=10)

    played(cold)
    played(warm)


def test_the_starts_of_all_waiting_jobs_are_told_at_once_and_jobs_of_others_are_not() -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        second = await full_cluster(client)
        third = await submitted(client, gpus=8, name="third")
        held = await submitted(client, gpus=8, name="held", held=True)
        starts = (await client.get("/v1/starts")).json()["items"]
        assert {each["job"] for each in starts} == {second, third}
        assert held not in str(starts)
        assert all(each["estimate"]["p50"] and each["gpus"] in (8, 32) for each in starts)
        likely = [each["estimate"]["p50"] for each in starts]
        assert likely == sorted(likely)
        assert [each["job"] for each in (await client.get("/v1/starts?name=third&limit=500")).json()["items"]] == [
            third
        ]
        assert (await client.get("/v1/starts?team=vision")).json()["items"] == []

    played(scenario)


def test_one_answer_about_all_starts_serves_many_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(*arguments: Any, **options: Any) -> dict[JobId, StartEstimate]:
        asked.append(1)
        return dict.fromkeys(arguments[1], StartEstimate(p50_ms=None, p90_ms=None))

    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        waiting = await full_cluster(client)
        for _look in range(3):
            found = (await client.get("/v1/starts")).json()["items"]
            assert [each["job"] for each in found] == [waiting]
        assert asked == [1]

    monkeypatch.setattr(explanations, "estimated", noted)
    played(scenario)


def test_a_server_learns_from_starts_that_no_user_asked_about_and_knows_them_after_a_kill(tmp_path: Path) -> None:
    kept = tmp_path / "estimates.json"

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        services: Services = world.app.state.services
        explanations = Explanations(world.control, services.records, kept)
        world.backend.script(JobId("job-1"), GangScript(run_ms=2 * MINUTE_MS))
        waiting = await full_cluster(client)
        last = await submitted(client, gpus=8, name="last")
        await submitted(client, gpus=8, name="held", held=True)
        for asked in ([last], [last, waiting], [last, waiting]):
            await explanations.learn_unasked(world.clock.now_ms())
            assert [each.job for each in EstimateFile(kept).read()] == asked

        async def have_started() -> bool:
            await pass_time(world, MINUTE_MS // 2)
            job = (await client.get(f"/v1/jobs/{waiting}")).json()
            return str(job["state"]) == "running"

        await eventually(have_started)
        await explanations.learn_unasked(world.clock.now_ms())
        # The file is read while the first server still runs: a server that is killed writes nothing at its end.
        after_a_kill = EstimateHistory(EstimateFile(kept).read())
        assert sum(after_a_kill.record(basis).given for basis in EstimateBasis) >= 1

    played(scenario)


def test_a_server_goes_on_learning_when_an_estimate_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []

    async def fails(_: Explanations, now_ms: int) -> None:
        tries.append(now_ms)
        raise TooMany("later") if len(tries) == 1 else ValueError("no future")

    async def scenario(world: World, _: httpx.AsyncClient) -> None:
        services: Services = world.app.state.services
        learning = asyncio.create_task(services.learn_unasked(every_s=0.001))

        async def has_tried() -> bool:
            return len(tries) >= 3

        await eventually(has_tried)
        services.close()
        await learning

    monkeypatch.setattr(Explanations, "learn_unasked", fails)
    played(scenario)
    assert {each.exc_info[0] for each in caplog.records if each.exc_info} == {ValueError}


def test_an_application_learns_unasked_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[str] = []

    async def learns(services: Services) -> None:
        running.append("begun")
        await services.closing.wait()

    async def scenario(world: World, _: httpx.AsyncClient) -> None:
        async with world.app.router.lifespan_context(world.app):
            await asyncio.sleep(0)
            assert running == ["begun"]

    monkeypatch.setattr(Services, "learn_unasked", learns)
    played(scenario)


def test_jobs_are_listed_by_when_they_were_submitted() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        old = await submitted(client, gpus=1, name="old")
        world.clock.advance(HOUR_MS)
        new = await submitted(client, gpus=1, name="new")
        between = (await client.get(f"/v1/jobs/{new}")).json()["submitted"]

        async def listed(**filters: str) -> list[str]:
            answer = await client.get("/v1/jobs", params=filters)
            assert answer.status_code == 200, answer.text
            return [each["id"] for each in answer.json()["items"]]

        for state in ({}, {"state": "active"}):
            assert await listed(since=between, **state) == [new]
            assert await listed(until=between, **state) == [old]
        assert (await client.get("/v1/jobs?since=yesterday")).status_code == 422

    played(scenario)


def a_promise(*, start_ms: int, basis: Basis = Basis.LIMITS) -> Promise:
    workers = (Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0,)),)
    return Promise(job=JobId("a"), start_ms=start_ms, workers=workers, made_ms=0, basis=basis)


def test_an_estimate_is_never_later_than_the_promise_and_says_when_it_rests_on_it() -> None:
    history = Grounds(basis=EstimateBasis.HISTORY, runs=20)
    late, soon = StartEstimate(p50_ms=5, p90_ms=None), StartEstimate(p50_ms=5, p90_ms=9)
    promised = Grounds(basis=EstimateBasis.PROMISE, runs=20)
    assert within_promise(late, history, a_promise(start_ms=10)) == (StartEstimate(p50_ms=5, p90_ms=10), promised)
    assert within_promise(soon, history, a_promise(start_ms=4))[0] == StartEstimate(p50_ms=4, p90_ms=4)
    never = StartEstimate(p50_ms=None, p90_ms=None)
    assert within_promise(never, history, a_promise(start_ms=4))[0] == StartEstimate(p50_ms=4, p90_ms=4)
    assert within_promise(soon, history, a_promise(start_ms=10)) == (soon, history)
    assert within_promise(late, history, None) == (late, history)


@pytest.mark.parametrize(
    ("fields", "basis", "words"),
    [
        ({}, "guess", "little: hardly any job has ended yet, and running jobs do not say how long they may run"),
        (
            {"max_duration": "1h"},
            "limits",
            "little: hardly any job has ended yet, and running jobs say only how long they may run at most",
        ),
        (
            {"expected_duration": "10m"},
            "limits",
            "what running jobs say about their length, as hardly any job has ended yet",
        ),
    ],
    ids=["nothing is said", "a limit is given", "a hint is given"],
)
def test_before_jobs_have_ended_an_estimate_rests_on_what_jobs_say(
    fields: dict[str, str], basis: str, words: str
) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, gpus=8, workers=4, name="first", **fields)
        await eventually(lambda: is_running(world))
        found = grounds_of(situation_of(world))
        assert (found.basis, found.runs, found.text) == (EstimateBasis(basis), 0, words)

    played(scenario)


async def is_running(world: World) -> bool:
    world.control.nudge()
    return bool(world.control.state.snapshot.running)


def situation_of(world: World) -> Situation:
    return handed_over(world.control.state, world.control.view.now_ms)


def test_a_promise_far_away_says_that_limits_are_missing() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        second = await full_cluster(client)

        async def is_promised() -> bool:
            world.control.nudge()
            return bool((await client.get(f"/v1/jobs/{second}/why")).json()["hold"])

        await eventually(is_promised)
        why = (await client.get(f"/v1/jobs/{second}/why")).json()
        assert why["hold"]["rests_on"].startswith(
            "a running job gives no max_duration, so the limit of its tier counts"
        )
        scenario = situation_of(world).scenario
        promise = scenario.promises[0]
        assert unlimited_before(scenario, promise) == 1
        assert unlimited_before(scenario, None) == 0
        near = a_promise(start_ms=scenario.now_ms + MINUTE_MS)
        assert unlimited_before(scenario, near) == 0
        assert unlimited_before(scenario, a_promise(start_ms=promise.start_ms, basis=Basis.DEPARTURES)) == 0

    played(scenario)


def test_what_an_estimate_rests_on_is_said_in_words() -> None:
    def told(basis: EstimateBasis, **fields: Any) -> EstimatedStart:
        start = StartEstimate(p50_ms=1, p90_ms=2)
        return EstimatedStart(start=start, grounds=Grounds(basis=basis, runs=ENOUGH), **fields)

    words = {basis: estimate_body(told(basis)).rests_on for basis in EstimateBasis}
    assert words[EstimateBasis.PROMISE] == "the promised start"
    assert "at least 8 of each kind" in words[EstimateBasis.HISTORY]
    assert "what running jobs say" in words[EstimateBasis.LIMITS]
    record = estimate_body(told(EstimateBasis.HISTORY, record=EstimateRecord(given=40, kept=36))).record
    assert record is not None
    assert (record.given, record.kept) == (40, 36)
    assert estimate_body(told(EstimateBasis.HISTORY)).record is None
    assert promise_body(a_promise(start_ms=4), told(EstimateBasis.GUESS, unlimited=3)).rests_on.startswith("3 running")
    assert promise_body(a_promise(start_ms=4), None).rests_on == ""


def test_five_other_jobs_are_what_an_estimate_rests_on_and_not_the_limit_of_the_job_that_runs() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await run_short_jobs(world, client, 5)
        await submitted(client, gpus=8, workers=4, name="long", max_duration="1h")
        await eventually(lambda: is_running(world))
        found = grounds_of(situation_of(world))
        assert found.basis is EstimateBasis.LIMITS
        assert found.text == (
            "little: only 5 jobs have ended yet, which may be of other kinds, and running jobs say only how long they "
            "may run at most"
        )

    played(scenario)


def test_many_jobs_of_other_kinds_are_not_called_jobs_like_those_that_run() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await run_short_jobs(world, client, ENOUGH)
        await submitted(client, gpus=8, workers=4, name="long", max_duration="1h")
        await eventually(lambda: is_running(world))
        assert grounds_of(situation_of(world)).text == (
            f"how long the {ENOUGH} jobs took that have ended, which are not like all that run now"
        )
        assert replace(grounds_of(situation_of(world)), are_alike=True).text.startswith("how long jobs like those")

    played(scenario)
