"""Reading long job files: in processes of their own, so many at once, for so long, and none holds up the others."""

import asyncio
import subprocess
import sys

import httpx
import pytest

from muster.api.parsing.frames import decoded, encoded
from muster.api.parsing.readers import Readers
from muster.api.parsing.submission import ReadSubmission, read_if_short, read_submission
from muster.api.schemas.problems import Problem
from muster.model.client_limits import JOB_FILE_VALUES, JOB_INLINE_BYTES, JOB_READS_PER_CALLER
from muster.model.errors import TooMany, Unavailable
from tests.api.world import DEADLINE_S, World, played

GOOD = b'{"job": {"name": "long", "run": "' + b"x" * 10_000 + b'"}, "held": true}'
BRACKETS = "x: [" + "[]," * 80_000 + "]"


def _program(code: str) -> "subprocess.Popen[bytes]":
    """Something else in the place of a reader."""
    return subprocess.Popen(
        (sys.executable, "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def test_a_process_reads_what_would_be_read_here_and_the_same_one_reads_on() -> None:
    readers = Readers()
    try:
        for body in (GOOD, b"{", b'{"job": {"name": 1}}', b'{"text": "name: x\\nrun: y\\n"}', b'{"job": {}, "x": 1}'):
            found = asyncio.run(asyncio.wait_for(readers.read("ada", body), DEADLINE_S))
            assert found == read_submission(body)
        assert readers._idle.qsize() == 1
        reader = readers._idle.get_nowait()
        readers._idle.put(reader)
        assert reader.files == 5
    finally:
        readers.close()


def test_a_reader_that_takes_too_long_is_ended_and_the_next_file_is_read() -> None:
    started: list[subprocess.Popen[bytes]] = []

    def hangs() -> "subprocess.Popen[bytes]":
        started.append(_program("import time; time.sleep(600)"))
        return started[-1]

    readers = Readers(started=hangs, read_s=0.2)
    try:
        found = asyncio.run(readers.read("ada", GOOD))
        assert isinstance(found, Problem)
        assert "takes too long" in found.detail
        assert started[0].poll() is not None
        asyncio.run(readers.read("ada", GOOD))
        assert len(started) == 2
    finally:
        readers.close()


def test_a_reader_that_uses_up_its_processor_time_ends_itself() -> None:
    code = "import signal\nsignal.setitimer(signal.ITIMER_VIRTUAL, 0.01)\nwhile True: pass"
    readers = Readers(started=lambda: _program(code))
    try:
        found = asyncio.run(asyncio.wait_for(readers.read("ada", GOOD), DEADLINE_S))
        assert isinstance(found, Problem)
        assert found.status == 422
    finally:
        readers.close()


def test_a_reader_that_dies_is_no_fault_of_the_caller() -> None:
    readers = Readers(started=lambda: _program("import sys; sys.stdin.buffer.read(4)"))
    try:
        with pytest.raises(Unavailable, match="try again"):
            asyncio.run(readers.read("ada", GOOD))
    finally:
        readers.close()


def test_one_caller_has_a_few_files_read_at_once_and_others_are_not_kept_from_it() -> None:
    async def play(readers: Readers) -> None:
        mine = [asyncio.ensure_future(readers.read("ada", GOOD)) for _ in range(JOB_READS_PER_CALLER)]
        await asyncio.sleep(0)
        with pytest.raises(TooMany, match="ada has"):
            await readers.read("ada", GOOD)
        theirs = asyncio.ensure_future(readers.read("bob", GOOD))
        await asyncio.wait_for(asyncio.gather(*mine, theirs), DEADLINE_S)

    readers = Readers()
    try:
        asyncio.run(play(readers))
    finally:
        readers.close()


def test_readers_end_with_the_server() -> None:
    readers = Readers()
    asyncio.run(asyncio.wait_for(readers.read("ada", GOOD), DEADLINE_S))
    process = readers._idle.get_nowait()
    readers._idle.put(process)
    readers.close()
    assert process.process.poll() is not None


def test_what_is_short_is_read_at_once_and_what_may_take_long_is_not() -> None:
    assert isinstance(read_if_short(b'{"job": {"name": "x", "run": "y"}}'), ReadSubmission)
    short = b'{"job": {"name": "x", "run": "y"}}'
    keyed, plain = (read_if_short(short, is_keyed=each) for each in (True, False))
    assert isinstance(keyed, ReadSubmission)
    assert isinstance(plain, ReadSubmission)
    assert (bool(keyed.fingerprint), plain.fingerprint, plain.spec) == (True, "", keyed.spec)
    assert isinstance(read_if_short(b"{"), Problem)
    assert read_if_short(GOOD.ljust(JOB_INLINE_BYTES + 1)) is None
    assert read_if_short(b'{"text": "name: x\\nrun: y"}') is None


def test_a_text_that_holds_more_values_than_a_job_can_is_given_up_early() -> None:
    found = read_submission(f'{{"text": "{BRACKETS}"}}'.encode())
    assert isinstance(found, Problem)
    assert f"more than {JOB_FILE_VALUES} values" in found.detail


def test_answers_cross_between_processes_as_data() -> None:
    for body in (GOOD, b'{"job": {"\\ud800": 1}}'):
        answer = read_submission(body)
        assert type(decoded(encoded(answer))) is type(answer)
    good = read_submission(GOOD)
    assert decoded(encoded(good)) == good


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-yaml"])
def test_a_submission_says_that_it_is_json(kind: str) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs", content=GOOD, headers={"Content-Type": kind})
        assert answer.status_code == 422
        assert "application/json" in answer.json()["detail"]

    played(scenario)
