"""What takes a while is not done on the event loop, where all other callers would wait for it."""

import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from muster.api.parsing import submission
from muster.api.routes import export
from muster.engine.folding.state import State
from muster.formats.jobs.job_file import job_from_document
from muster.live.control_plane import ControlPlane
from muster.model.job import JobState
from tests.api.world import World, job_file, played, submitted


def _noting(act: Callable[..., Any], threads: list[int]) -> Callable[..., Any]:
    def noted(*given: Any, **more: Any) -> Any:
        threads.append(threading.get_ident())
        return act(*given, **more)

    return noted


@pytest.mark.parametrize(("what", "at_once"), [("job", 1), ("text", 0)])
def test_text_and_a_large_job_file_are_read_by_another_process_and_a_small_object_at_once(
    what: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    monkeypatch.setattr(submission, "job_from_document", _noting(job_from_document, threads))

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for characters in (10, 100_000):
            run = "x" * characters
            text = f"name: train\nteam: nlp\nresources: {{gpus: 1}}\nrun: {run}\n"
            body = {"text": text} if what == "text" else {"job": job_file(run=run)}
            assert (await client.post("/v1/jobs", json=body)).status_code == 201
        assert threads == [threading.get_ident()] * at_once

    played(scenario)


def test_jobs_are_exported_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr(export, "_trace", _noting(export._trace, threads))

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/export")).status_code == 200
        assert threads
        assert threading.get_ident() not in threads

    played(scenario)


READS = (
    "/v1/jobs",
    "/v1/jobs?state=active",
    "/v1/jobs?state=ended",
    "/v1/jobs/job-1",
    "/v1/jobs/job-1/events",
    "/v1/jobs/job-2/why",
    "/v1/jobs?array=job-3",
    "/v1/nodes",
    "/v1/teams",
    "/v1/queue",
    "/v1/tiers",
    "/v1/policy",
    "/v1/export",
    "/metrics",
)


def test_no_reader_touches_what_the_writer_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_the_writers(control: ControlPlane) -> State:
        assert threading.current_thread().name == "writer", "a reader looks at what the writer changes"
        return control._engine.state

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        monkeypatch.setattr(ControlPlane, "state", property(only_the_writers))
        first = await submitted(client)
        await submitted(client, gpus=8, held=True)
        await submitted(client, array="0-9", held=True)
        assert (await client.post(f"/v1/jobs/{first}/cancel")).status_code == 200
        for path in READS:
            answer = await client.get(path)
            assert answer.status_code == 200, (path, answer.text)

    played(scenario, who="admin")
    monkeypatch.undo()


def test_an_array_is_shown_without_a_look_at_every_task() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        array = await submitted(client, held=True, array="0-499")
        shown = (await client.get(f"/v1/jobs/{array}")).json()
        assert (shown["tasks"], shown["held"]) == ({"held": 500}, True)
        record = world.control.view.arrays[array]
        assert dict(record.counts) == {JobState.HELD: 500}  # counted when it was written

    played(scenario)
