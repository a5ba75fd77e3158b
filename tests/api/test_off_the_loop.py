"""What takes a while is not done on the event loop, where everybody else would wait for it."""

import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from muster.api.reading import submission
from muster.api.routes import export
from muster.formats.job_file import job_from_document
from muster.model.ids import JobId
from muster.model.job import Job
from tests.api.world import World, job_file, played, submitted


def _noting(act: Callable[..., Any], threads: list[int]) -> Callable[..., Any]:
    def noted(*given: Any, **more: Any) -> Any:
        threads.append(threading.get_ident())
        return act(*given, **more)

    return noted


@pytest.mark.parametrize("what", ["job", "text"])
def test_a_large_job_file_is_read_by_another_process_and_a_small_one_at_once(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    monkeypatch.setattr(submission, "job_from_document", _noting(job_from_document, threads))

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for characters in (10, 100_000):
            run = "x" * characters
            text = f"name: train\nteam: nlp\nresources: {{gpus: 1}}\nrun: {run}\n"
            body = {"text": text} if what == "text" else {"job": job_file(run=run)}
            assert (await client.post("/v1/jobs", json=body)).status_code == 201
        assert threads == [threading.get_ident()]

    played(scenario)


def test_jobs_are_exported_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr(export, "_final", _noting(export._final, threads))

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/export")).status_code == 200
        assert threads
        assert threading.get_ident() not in threads

    played(scenario)


def test_an_array_is_shown_without_a_look_at_every_task() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        array = await submitted(client, held=True, array="0-499")
        state = world.control.state
        looks: list[JobId] = []

        class Watched(dict[JobId, Job]):
            def __getitem__(self, job: JobId) -> Job:
                looks.append(job)
                return super().__getitem__(job)

        jobs, state.jobs = state.jobs, Watched(state.jobs)
        shown = (await client.get(f"/v1/jobs/{array}")).json()
        state.jobs = jobs
        assert (shown["tasks"], shown["held"]) == ({"held": 500}, True)
        assert len(looks) < 10

    played(scenario)
