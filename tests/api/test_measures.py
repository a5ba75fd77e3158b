"""What a training measured of itself, over the API."""

import httpx

from muster.backends.base import MeasuredStep
from tests.api.world import World, played, submitted


def test_measured_steps_are_listed_with_their_attempt_and_time() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client)
        world.backend.steps_measured = [
            MeasuredStep(attempt=1, at_ms=0, step=10, values={"loss": 2.5}),
            MeasuredStep(attempt=2, at_ms=1_000, step=11, values={"loss": 2.25, "rate": 0.5}),
        ]
        answer = await client.get(f"/v1/jobs/{job}/measures")
        assert answer.json() == {
            "items": [
                {"attempt": 1, "at": "1970-01-01T00:00:00Z", "step": 10, "values": {"loss": 2.5}},
                {"attempt": 2, "at": "1970-01-01T00:00:01Z", "step": 11, "values": {"loss": 2.25, "rate": 0.5}},
            ],
            "next": None,
        }

    played(scenario)
