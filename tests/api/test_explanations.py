"""What the server works out beside the log starts from what the writer knows."""

from datetime import datetime
from typing import Any

import httpx
import pytest

from muster.api.lookups import explanations
from muster.api.lookups.estimate_history import EstimateHistory
from muster.core.explaining.place_in_tier import ServiceHistory
from muster.core.offline import decide, explain_decided
from muster.core.order.entitlements import Entitlements
from muster.estimates.starts import StartEstimate, possible_starts
from muster.model.limits import STARVATION_MS
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from tests.api.world import World, job_file, played, submitted


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
    monkeypatch.setattr(explanations, "possible_starts", playing)
    played(scenario)


def test_estimates_are_told_after_what_earlier_ones_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    later_ms = 3_600_000
    remembered: list[str] = []

    def corrected(_: EstimateHistory, raw: StartEstimate, *, waiting: int, now_ms: int) -> StartEstimate:
        assert (waiting, raw.p90_ms is not None and raw.p90_ms >= now_ms) == (1, True)
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
        assert explanations._starves_ms(state, now_ms) == {}
        waiting, record = queue.jobs[second], state.jobs[second]
        queue.jobs[second] = evolve(waiting, attained_gpu_ms=200 * HOUR_MS)
        state.jobs[second] = evolve(record, attained_gpu_ms=200 * HOUR_MS)
        assert state.starvation is not None
        state.starvation.note(state.jobs[second], now_ms)
        found = explanations._starves_ms(state, now_ms)
        assert list(found) == [second]
        assert found[second] >= now_ms + STARVATION_MS
        queue.jobs[second], state.jobs[second] = waiting, record

    played(scenario)
