"""The audit of requests that were refused: it says who and how often, and cannot be filled or made to act."""

import asyncio
from typing import Any

import httpx
import pytest

from muster.access.audit_entries import recorded
from muster.api.front import denials
from muster.api.front.denials import Denials
from muster.model.client_limits import AUDIT_SUBJECT_CHARS
from muster.model.events import ENGINE
from tests.api.world import World, eventually, played


async def _entries(world: World) -> list[dict[str, Any]]:
    async with world.client("admin") as admin:
        return list((await admin.get("/v1/audit")).json()["items"])


def test_nothing_that_a_terminal_obeys_gets_into_the_audit() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs/%1b%5b2J%0d%0aroot%20did%e2%80%ae/cancel")
        assert answer.status_code == 403
        (entry,) = await _entries(world)
        assert entry["subject"] == "/v1/jobs/\\x1b[2J\\x0d\\nroot did\\u202e/cancel"
        assert entry["detail"]["outcome"] == "denied"

    played(scenario, who="viewer")


def test_many_denials_are_two_short_entries() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for number in range(71):
            path = f"/v1/jobs/{number}{'x' * 30_000}/cancel"
            assert (await client.post(path)).status_code == 403
        world.app.state.services.denials.close()

        async def written() -> list[dict[str, Any]]:
            while len(found := await _entries(world)) < 2:
                await asyncio.sleep(0.001)
            return found

        first, rest = await written()
        assert (first["by"], first["action"], rest["by"], rest["action"]) == ("viewer", "jobs.change") * 2
        assert "times" not in first["detail"]
        assert rest["detail"]["times"] == "71"
        assert rest["detail"]["first"] < rest["detail"]["last"]
        assert all(len(each["subject"]) <= AUDIT_SUBJECT_CHARS for each in (first, rest))
        assert rest["subject"].startswith("/v1/jobs/70x")
        await client.post("/v1/jobs/again/cancel")
        assert len(await _entries(world)) == 3

    played(scenario, who="viewer")


def test_denials_of_others_and_of_other_actions_are_told_apart() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async with world.client("member") as member:
            for _ in range(3):
                await client.post("/v1/jobs/job-1/cancel")
                await client.post("/v1/nodes/n1/drain")
                await member.post("/v1/nodes/n1/drain")
        found = [(each["by"], each["action"]) for each in await _entries(world)]
        assert found == [("viewer", "jobs.change"), ("viewer", "nodes.change"), ("member", "nodes.change")]

    played(scenario, who="viewer")


def test_there_is_a_bound_on_what_is_being_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denials, "DENIALS_REMEMBERED", 2)

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        counting: Denials = world.app.state.services.denials
        principal = world.app.state.services.keyring.identify(world.secrets["viewer"], 0)
        for number in range(50):
            await counting.note(principal, f"action {number}", "x")
        assert len(counting._counted) == 3
        assert len(await _entries(world)) == 3

    played(scenario, who="viewer")


def test_what_is_refused_to_too_many_callers_is_recorded_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denials, "DENIALS_REMEMBERED", 1)

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async with world.client("member") as member, world.client("colleague") as colleague:
            await client.post("/v1/jobs/job-1/cancel")
            for other in (member, colleague, member):
                await other.post("/v1/nodes/n1/drain")
        world.app.state.services.denials.close()

        async def are_written() -> bool:
            return len(await _entries(world)) == 3

        await eventually(are_written)
        named, first, rest = await _entries(world)
        assert (named["by"], named["action"]) == ("viewer", "jobs.change")
        for each in (first, rest):
            assert (each["by"], each["action"], each["subject"]) == (ENGINE, "denials.others", "others")
            assert each["detail"]["outcome"] == "denied"
            assert "token" not in each["detail"]
        assert rest["detail"]["times"] == "3"

    played(scenario, who="viewer")


@pytest.mark.parametrize("name", ["x" * 1_000_000, "\x1b" * 1_000, "job-1", "ü/é"])
def test_a_recorded_name_is_bounded_and_a_plain_one_stays(name: str) -> None:
    kept = recorded(name)
    assert len(kept) <= AUDIT_SUBJECT_CHARS
    assert "\x1b" not in kept
    assert kept == name or len(name) > 100
