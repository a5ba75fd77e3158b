"""The walk in docs/ARCHITECTURE.md: one job, file by file, from `muster submit` to `muster why`."""

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import httpx
import pytest

import muster
from muster.model.ids import JobId
from tests.api.world import FOREVER, World, played, submitted

SOURCES = Path(muster.__file__).parent
DOCUMENT = Path(__file__).parents[2] / "docs" / "ARCHITECTURE.md"
SECTION = re.compile(r"## One job, file by file\n(.*?)\n## ", re.DOTALL)
STATION = re.compile(r"^(\d+)\. `([\w/]+\.py)`: \S", re.MULTILINE)

ELSEWHERE = ("cli/", "client/", "backends/local/", "worker/", "model/", "answers/")
"""Run in other processes than the server, on a real machine, or are values without code."""


def walk() -> list[str]:
    """The files of the walk, in order."""
    section = SECTION.search(DOCUMENT.read_text("utf-8"))
    assert section is not None
    stations = STATION.findall(section[1])
    assert [int(number) for number, _ in stations] == list(range(1, len(stations) + 1))
    return [name for _, name in stations]


@contextmanager
def called_files(found: dict[str, None]) -> Iterator[None]:
    """Note every file of Muster's in which something is called, on all threads that start meanwhile and on this one."""

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCES)):
            found[str(Path(frame.f_code.co_filename).relative_to(SOURCES))] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def test_every_file_of_the_walk_exists_and_the_walk_is_short() -> None:
    assert [name for name in walk() if not (SOURCES / name).is_file()] == []
    assert len(walk()) < 60


@pytest.mark.pure_only(reason="compiled code is not seen by a profiler")
def test_a_job_passes_every_file_of_the_walk() -> None:
    found: dict[str, None] = {}

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for number in range(1, 5):
            world.backend.script(JobId(f"job-{number}"), FOREVER)
            await submitted(client, gpus=8)
        job = await submitted(client, gpus=8)
        while not (await client.get(f"/v1/jobs/{job}/why")).json()["reasons"]:
            await asyncio.sleep(0.01)

    with called_files(found):
        played(scenario)
    assert [name for name in walk() if name not in found and not name.startswith(ELSEWHERE)] == []
