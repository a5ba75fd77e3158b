"""What the server works out beside the log starts from what the writer knows."""

from datetime import datetime
from typing import Any

import httpx
import pytest

from muster.api.lookups import explanations
from muster.api.lookups.estimate_history import EstimateHistory
from muster.core.offline import decide, explain_decided
from muster.core.order.entitlements import Entitlements
from muster.estimates.starts import StartEstimate, possible_starts
from muster.model.plan import Plan
from tests.api.world import World, job_file, played, submitted


@pytest.mark.parametrize("question", ["why", "trial"])
def test_reasons_and_estimates_know_what_jobs_were_due(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    handed_over: list[Entitlements] = []

    def deciding(scenario: Any, entitlements: Entitlements) -> Any:
        handed_over.append(entitlements)
        return decide(scenario, entitlements)

    def explaining(scenario: Any, entitlements: Entitlements, decided: Plan) -> Any:
        handed_over.append(entitlements)
        return explain_decided(scenario, entitlements, decided)

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
