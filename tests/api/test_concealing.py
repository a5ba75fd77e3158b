"""Paths of the server: no caller is told of them, whichever way a message with one takes."""

from pathlib import Path

import httpx

from muster.api.deps import Settings
from muster.api.problems.concealing import Concealing, concealing
from muster.formats.rules.database_url import database_files
from muster.model.errors import Unavailable
from muster.model.events import NodeLost
from muster.model.ids import NodeName
from tests.api.world import World, job_file, played, submitted

HOME = Path("/srv/secret-place")
SETTINGS = Settings(conceal=concealing(HOME, database_files("sqlite:////data/elsewhere/muster.db")))


def test_no_message_names_a_path_of_the_server() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client)

        def report(engine: object, now_ms: int) -> None:
            because = f"see {HOME}/nodes/n4/supervisor.log"
            engine.observe(NodeLost(at_ms=now_ms, node=NodeName("n4"), because=because))  # type: ignore[attr-defined]

        await world.app.state.services.ask(report)
        shown = (await client.get("/v1/nodes/n4")).json()
        assert shown["because"] == "see $MUSTER_HOME/nodes/n4/supervisor.log"
        for path in ("/v1/nodes", f"/v1/jobs/{job}/events", f"/v1/jobs/{job}"):
            assert str(HOME) not in (await client.get(path)).text
        async with client.stream("GET", "/v1/events", params={"after": 0}) as stream:
            said = b"".join([chunk async for chunk in stream.aiter_raw()])
        assert b"supervisor.log" in said
        assert str(HOME).encode() not in said

    settings = Settings(conceal=SETTINGS.conceal, stream_s=0.05)
    played(scenario, settings=settings)


def test_no_error_names_a_path_of_the_server() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        def broken(*_: object) -> None:
            raise Unavailable(
                f"the store {HOME}/muster.db: the disk is full (/data/elsewhere/muster.db-wal); make room"
            )

        world.app.state.services.ask = broken
        answer = await client.post("/v1/jobs", json={"job": job_file()})
        assert answer.status_code == 503
        assert answer.json()["detail"] == (
            "the store $MUSTER_HOME/muster.db: the disk is full (the database-wal); make room"
        )

    played(scenario, settings=SETTINGS)


def test_a_root_is_no_secret() -> None:
    assert concealing(Path("/"))("/a/b") == "/a/b"
    assert concealing(Path("/a"), [(Path("/a/b"), "the rest")])("/a/b and /a/c") == "the rest and $MUSTER_HOME/c"
    assert database_files("postgresql://db/muster") == ()
    assert Concealing()("/x") == "/x"
