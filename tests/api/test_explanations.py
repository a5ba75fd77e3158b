"""What the server works out beside the log starts from what the writer knows."""

from datetime import datetime
from typing import Any

import httpx
import pytest

from muster.api.lookups import estimating, explanations, situation
from muster.api.lookups.estimate_history import EstimateHistory
from muster.core.explaining.place_in_tier import ServiceHistory
from muster.core.offline import decide, explain_decided
from muster.core.order.entitlements import Entitlements
from muster.estimates.starts import StartEstimate, possible_starts
from muster.model.limits import EXPLAINED_FRESH_MS, STARVATION_MS
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS, MINUTE_MS
from muster.model.records import evolve
from tests.api.world import World, eventually, job_file, played, submitted


@pytest.mark.parametrize("question", ["why", "trial"])
def test_reasons_and_estimates_know_what_jobs_were_due(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    handed_over: list[Entitlements] = []

    def deciding(scenario: Any, entitlements: Entitlements, history: ServiceHistory) -> Any:
        handed_over.append(entitlements)
        return decide(scenario, entitlements, history)

    def explaining(scenario: Any, entitlements: Entitlements, decided: Plan, history: ServiceHistory) -> Any:
        handed_over.append(entitlements)
        return explain_decided(scenario, entitlements, decided, history)

    def playing(*arguments: Any, entitlements: Entitlements, **options: Any) -> Any:
        handed_over.append(entitlements)
        return possible_starts(*arguments, entitlements=entitlements, **options)

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = await submitted(client, gpus=8, workers=4, name="first")
        second = await submitted(client, gpus=8, workers=2, name="second")
        if question == "why":
            assert (await client.get(f"/v1/jobs/{second}/why")).json()["estimate"]
        else:
            dry = await client.post("/v1/jobs?dry_run=true", json={"job": job_file(gpus=8)})
            assert dry.status_code == 200
        kept = world.control.state.snapshot.entitlements
        assert len(handed_over) == 2
        assert all(due is not kept and due.knows(first) and due.knows(second) for due in handed_over)
        assert not kept.knows(explanations.CANDIDATE)

    monkeypatch.setattr(explanations, "decide", deciding)
    monkeypatch.setattr(explanations, "explain_decided", explaining)
    monkeypatch.setattr(estimating, "possible_starts", playing)
    played(scenario)


def test_estimates_are_told_after_what_earlier_ones_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    later_ms = 3_600_000
    remembered: list[str] = []

    def corrected(_: EstimateHistory, raw: StartEstimate, *, now_ms: int, **__: int) -> StartEstimate:
        assert raw.p90_ms is not None
        assert raw.p90_ms >= now_ms
        return StartEstimate(p50_ms=now_ms + later_ms, p90_ms=now_ms + 2 * later_ms)

    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        await submitted(client, gpus=8, workers=4, name="first")
        second = await submitted(client, gpus=8, workers=2, name="second")
        estimate = (await client.get(f"/v1/jobs/{second}/why")).json()["estimate"]
        p50, p90 = (datetime.fromisoformat(estimate[key]) for key in ("p50", "p90"))
        assert (p90 - p50).total_seconds() == later_ms / 1000
        assert remembered == [second]

    monkeypatch.setattr(EstimateHistory, "corrected", corrected)
    monkeypatch.setattr(EstimateHistory, "remember", lambda _, job, *__, **___: remembered.append(job))
    played(scenario)


def test_no_estimate_is_later_than_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    def corrected(_: EstimateHistory, raw: StartEstimate, *, now_ms: int, **__: int) -> StartEstimate:
        return StartEstimate(p50_ms=now_ms + 1000 * HOUR_MS, p90_ms=None)

    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        await submitted(client, gpus=8, workers=4, name="first")
        second = await submitted(client, gpus=8, workers=2, name="second")
        why = (await client.get(f"/v1/jobs/{second}/why")).json()
        assert why["position"] == 1
        assert why["estimate"]["p50"] == why["estimate"]["p90"] == why["hold"]["start"]

    monkeypatch.setattr(EstimateHistory, "corrected", corrected)
    played(scenario)


def test_a_job_that_a_drained_node_keeps_waiting_is_told_why_it_was_drained() -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        await client.post("/v1/nodes/n1/drain", json={"reason": "fan is loud"})
        waiting = await submitted(client, gpus=8, workers=4)
        reasons = (await client.get(f"/v1/jobs/{waiting}/why")).json()["reasons"]
        (message,) = [each["message"] for each in reasons if each["code"] == "node_health"]
        assert message == "it would fit if n1 were in order (n1: fan is loud)"

    played(scenario, who="operator")


def test_a_job_without_a_promise_is_told_which_jobs_go_first() -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        resumable: dict[str, Any] = {"checkpoint": {"path": "/checkpoints"}}
        await submitted(client, gpus=8, workers=4, name="first", **resumable)
        second = await submitted(client, gpus=8, workers=2, name="second", **resumable)
        for _again in range(2):
            why = (await client.get(f"/v1/jobs/{second}/why")).json()
            assert why["hold"] is None
            assert [reason["code"] for reason in why["reasons"]].count("held_by_others") == 1
            place = why["reasons"][-1]
            assert "that have had less than 1 GPU hour go first: 1 of them wants 32 of 32 GPUs" in place["message"]
            assert place["would_help"]
        dry = await client.post("/v1/jobs?dry_run=true", json={"job": job_file(gpus=8, **resumable)})
        assert "go first: 2 of them want 48 of 32 GPUs" in dry.json()["reasons"][-1]["message"]

    played(scenario)


def test_a_server_knows_when_jobs_count_as_starved() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, gpus=8, workers=4, name="first")
        second = await submitted(client, gpus=8, workers=2, name="second")
        state, now_ms = world.control.state, world.control.view.now_ms
        queue = state.snapshot.queue
        assert situation._starves_ms(state, now_ms) == {}
        waiting, record = queue.jobs[second], state.jobs[second]
        queue.jobs[second] = evolve(waiting, attained_gpu_ms=200 * HOUR_MS)
        state.jobs[second] = evolve(record, attained_gpu_ms=200 * HOUR_MS)
        assert state.starvation is not None
        state.starvation.note(state.jobs[second], now_ms)
        found = situation._starves_ms(state, now_ms)
        assert list(found) == [second]
        assert found[second] >= now_ms + STARVATION_MS
        queue.jobs[second], state.jobs[second] = waiting, record

    played(scenario)


def test_why_an_elastic_job_is_not_larger_is_found_once_for_all_who_look(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(job: str, *_: Any) -> str:
        asked.append(job)
        return "there is no room"

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=1, workers="1..2")

        async def runs() -> bool:
            return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == "running")

        await eventually(runs)
        shown = [(await client.get(f"/v1/jobs/{job}")).json()["no_larger"] for _look in range(5)]
        assert shown == ["there is no room"] * 5
        looks = len(asked)
        assert looks <= 2
        world.clock.advance(EXPLAINED_FRESH_MS)
        await client.get(f"/v1/jobs/{job}")
        assert len(asked) == looks + 1

    monkeypatch.setattr(explanations, "why_no_larger", noted)
    played(scenario)


def test_a_dry_run_names_the_jobs_that_would_leave_as_far_as_the_caller_may_see_them() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        resumable: dict[str, Any] = {"checkpoint": {"path": "/checkpoints"}}
        async with world.client("other") as other:
            victim = await submitted(other, team="vision", gpus=8, workers=4, name="large", **resumable)

            async def is_up() -> bool:
                return bool((await other.get(f"/v1/jobs/{victim}")).json()["workers"])

            await eventually(is_up)
        world.clock.advance(2 * HOUR_MS)
        body = {"job": job_file(gpus=8)}
        dry = (await client.post("/v1/jobs?dry_run=true", json=body)).json()
        assert (dry["preempts"], dry["preempts_others"]) == ([], 1)
        async with world.client("admin") as admin:
            dry = (await admin.post("/v1/jobs?dry_run=true", json=body)).json()
        assert dry["preempts"] == [{"job": victim, "name": "large", "team": "vision", "gpus": 32}]
        assert dry["preempts_others"] == 0

    played(scenario)


def test_times_in_reasons_are_told_from_the_moment_of_the_question() -> None:
    """Nothing happens in between, so that the plan and the state are the same both times."""

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await submitted(client, gpus=8, workers=4, name="first", max_duration="1h")
        waiting = await submitted(client, gpus=8, name="second")

        async def details() -> str:
            reasons = (await client.get(f"/v1/jobs/{waiting}/why")).json()["reasons"]
            return " ".join(each["detail"] for each in reasons)

        async def has_promise() -> bool:
            return "for 1 h at most" in await details()

        await eventually(has_promise)
        version = world.control.view.version
        world.clock.advance(30 * MINUTE_MS)
        first = await details()
        assert "for 30 min at most" in first or "for 29 min 59 s at most" in first
        world.clock.advance(5_500)
        assert "for 29 min 54 s at most" in await details() or "for 29 min 55 s at most" in await details()
        assert world.control.view.version == version

    played(scenario)
