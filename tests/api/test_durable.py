"""The API over a real store: what was answered is there after a restart, and the audit is whole."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from muster.access.local_token import local_token
from muster.api.app import create_app
from muster.api.deps import Deps
from muster.backends.fake import FakeBackend
from muster.live.configuration import Configuration
from muster.live.control_plane import ControlPlane
from muster.store.sql.store import open_store
from tests.api.world import CLUSTER, DEADLINE_S, RULES, TestClock, job_file

KEY = {"Idempotency-Key": "once"}


@contextmanager
def _up(home: Path) -> Iterator[httpx.AsyncClient]:
    """A control plane over the database in a folder, and its owner."""
    clock = TestClock()
    backend = FakeBackend(now_ms=clock.now_ms())
    with open_store(f"sqlite:///{home / 'muster.db'}", write=True) as store:
        control = ControlPlane(
            log=store.log,
            states=store.states,
            archive=store.jobs,
            backend=backend,
            clock=clock,
            configuration=Configuration(cluster=CLUSTER, rules=RULES),
        )
        deps = Deps(
            control=control,
            tokens=store.tokens,
            audit=store.audit,
            events=store.log,
            jobs=store.jobs,
            backend=backend,
            clock=clock,
        )
        app = create_app(deps)
        headers = {"Authorization": f"Bearer {local_token(home, store.tokens, clock.now_ms())}"}
        control.start()
        try:
            yield httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", headers=headers)
        finally:
            control.stop()
            app.state.services.close()


async def _lived(client: httpx.AsyncClient) -> list[str]:
    """Jobs and tokens at the same time; the ids of both."""
    token = {"name": "robot", "bindings": [{"role": "member", "team": "nlp"}]}
    answers = await asyncio.gather(
        client.post("/v1/jobs", json={"job": job_file()}, headers=KEY),
        *(client.post("/v1/jobs", json={"job": job_file(f"j{number}")}) for number in range(10)),
        *(client.post("/v1/tokens", json=token) for _ in range(10)),
    )
    assert {answer.status_code for answer in answers} == {201}
    return [answer.json()["id"] for answer in answers]


async def _remembered(client: httpx.AsyncClient, ids: list[str]) -> None:
    again = await client.post("/v1/jobs", json={"job": job_file()}, headers=KEY)
    assert (again.status_code, again.json()["id"]) == (200, ids[0])
    other = await client.post("/v1/jobs", json={"job": job_file("other")}, headers=KEY)
    assert other.status_code == 409
    jobs = [job["id"] for job in (await client.get("/v1/jobs")).json()["items"]]
    assert sorted(jobs) == sorted(ids[:11])
    tokens = [token["id"] for token in (await client.get("/v1/tokens")).json()["items"]]
    assert set(ids[11:]) < set(tokens)
    story = (await client.get(f"/v1/jobs/{ids[0]}/events")).json()["items"]
    assert story[0]["kind"] == "job_submitted"
    verdict = (await client.get("/v1/audit/verify")).json()
    assert verdict["problems"] == []
    assert verdict["entries"] == 22


def test_what_was_answered_is_there_after_a_restart_and_the_audit_is_whole(tmp_path: Path) -> None:
    with _up(tmp_path) as client:
        ids = asyncio.run(asyncio.wait_for(_lived(client), DEADLINE_S))
    with _up(tmp_path) as client:
        asyncio.run(asyncio.wait_for(_remembered(client, ids), DEADLINE_S))
