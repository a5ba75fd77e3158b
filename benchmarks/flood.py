"""How long one user waits while eight others flood the server: one JSON line per kind. Run with `make bench`.

Everything is real: a server process on loopback, its readers, and a process that floods it over thirty-two connections
with the tokens of eight members. For each kind of flood it sends the bodies that cost most to read, as fast as they are
answered. Meanwhile another member lists jobs and submits some at a steady rate. The time from the beginning of each
request to its answer is measured. The flooding process shares the machine, and the figures include that.
"""

import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.control_plane import body, paced, quantile
from benchmarks.core import report
from benchmarks.http_load import Load
from muster.model.client_limits import JOB_BODY_BYTES, JOB_INLINE_BYTES, JOB_TEXT_CHARS
from tests.crash.server import Server

FLOODERS = 8
CONNECTIONS_EACH = 4
RATE = 20
"""Requests per second of the user whose time is measured. Every fourth is a submission."""
MEASURED_S = 20
SETTLING_S = 2
LARGE_BYTES = JOB_BODY_BYTES - 10_000
"""Close to the longest body that is accepted. Longer bodies are refused before they are read."""


def worst_bodies() -> dict[str, list[object]]:
    """The bodies that take longest to read, by kind of flood."""
    brackets = "x: [" + "[]," * (JOB_TEXT_CHARS // 3 - 10) + "]"
    keys = "".join(f"k{number}: 1\n" for number in range(JOB_TEXT_CHARS // 12))
    unknown = {f"k{number}": 1 for number in range(LARGE_BYTES // 13)}
    inline = {f"k{number}": 1 for number in range(JOB_INLINE_BYTES // 13)}
    script = {"name": "long", "resources": {"gpus": 8}, "run": "#" * LARGE_BYTES}
    return {
        "none": [],
        "yaml": [{"text": brackets}, {"text": keys}],
        "json": [{"job": unknown}, {"job": script}],
        "small": [body(gpus=8), {"text": "x: [" + "[]," * 300 + "]"}],
        "inline": [body(gpus=8), {"job": inline}],
    }


def flood(url: str, tokens: list[str], kind: str, told: Connection) -> None:
    """Send one kind of bodies as fast as they are answered, until told to stop. Then send back the status counts."""
    statuses: Counter[int] = Counter()

    async def hammer(token: str, number: int) -> None:
        bodies = worst_bodies()[kind]
        async with Load.open(url, token, connections=1) as http:
            requests = [http.request("POST", "/v1/jobs", each) for each in bodies]
            while True:
                answer = await http.send(requests[number % len(requests)])
                statuses[answer.status] += 1
                number += 1

    async def hammer_on(token: str, number: int) -> None:
        while True:
            try:
                await hammer(token, number)
            except (OSError, EOFError):
                statuses[0] += 1  # The server closed the connection.
                await asyncio.sleep(0.05)

    async def run() -> None:
        tasks = [asyncio.create_task(hammer_on(token, n)) for token in tokens for n in range(CONNECTIONS_EACH)]
        await asyncio.to_thread(told.recv)
        for task in tasks:
            task.cancel()

    asyncio.run(run())
    told.send(dict(statuses))


async def measured(url: str, token: str) -> tuple[list[float], list[float]]:
    """How long another user waits for lists and for submissions."""
    lists: list[float] = []
    submissions: list[float] = []
    async with Load.open(url, token, connections=4) as http:
        listing = http.request("GET", "/v1/jobs")
        submission = http.request("POST", "/v1/jobs", body(gpus=8))

        async def act(number: int) -> None:
            begin = time.perf_counter()
            is_submission = number % 4 == 0
            (await http.send(submission if is_submission else listing)).document()
            (submissions if is_submission else lists).append(time.perf_counter() - begin)

        await paced(RATE, MEASURED_S, act)
    return lists, submissions


def one_kind(folder: Path, kind: str) -> None:
    """Measure under one kind of flood."""
    with Server(folder, nodes="1x8") as server:
        client = server.start()
        url = json.loads((server.home / "server.json").read_text())["url"]
        member = [{"role": "member", "team": "*"}]
        tokens = [client.create_token(name=f"flooder-{n}", bindings=member).secret or "" for n in range(FLOODERS)]
        other = client.create_token(name="other", bindings=member).secret or ""
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=flood, args=(url, tokens if kind != "none" else [], kind, theirs)
        )
        process.start()
        time.sleep(SETTLING_S)
        lists, submissions = asyncio.run(measured(url, other))
        ours.send("stop")
        statuses = ours.recv()
        process.join()
    report(
        f"another person's requests under a flood of {kind}",
        flooders=FLOODERS if kind != "none" else 0,
        list_p50_ms=_ms(quantile(lists, 50)),
        list_p99_ms=_ms(quantile(lists, 99)),
        submit_p50_ms=_ms(quantile(submissions, 50)),
        submit_p99_ms=_ms(quantile(submissions, 99)),
        p99_ms=_ms(quantile([*lists, *submissions], 99)),
        max_ms=_ms(max([*lists, *submissions])),
        flooders_were_told=statuses,
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def main(names: list[str]) -> None:
    """Measure under the named kinds of flood, or under all."""
    for name in names or worst_bodies():
        with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
            one_kind(Path(folder), name)


if __name__ == "__main__":
    main(sys.argv[1:])
