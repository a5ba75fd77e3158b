"""How fast the control plane is: JSON lines for each case. Run with `make bench`, or name cases to run only those.

In `load`, `rate`, `latency`, `throughput`, `ended` and `million` a real server process is measured over HTTP on
loopback, with real worker processes where jobs run. `restart` and `flat` run a control plane in this process, without
worker processes. SQLite is on the disk under the temporary folder. Wall time is measured, and the load generator shares
the machine with the server.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path

import httpx

from benchmarks.core import report
from benchmarks.http_load import Load
from muster.backends.fake import FakeBackend, GangScript
from muster.backends.local.inventory import divided
from muster.engine.engine import Engine, Submitted
from muster.engine.folding.state import State
from muster.live.clock import SystemClock
from muster.live.configuration import Configuration
from muster.live.control_plane import ControlPlane
from muster.model.events import CheckpointSaved, ObservedEvent, WorkersExited, WorkersStarted
from muster.model.ids import JobId
from muster.model.instructions import Command
from muster.model.node import ClusterSpec
from muster.model.spec import JobSpec
from muster.store.base import SavedState, StateStore
from muster.store.sql import SqlStore, open_store
from tests.builders import a_job, flat
from tests.crash.server import Server

RATE = 300
"""Submissions a second."""
RATES = (200, 300, 400, 500, 600, 800, 1_000, 1_200, 1_500, 2_000)
"""Rates that are tried one after another, until one is too high. The aim is 1,000."""
USERS = 8
RATE_S = 15
"""How long each of them is kept up: long enough that a queue which grows is seen."""
PATIENCE_MS = 250
"""At a rate that is not too high, the p99 from when a submission was due until it is durable and answered."""
SUBMITTING_S = 60
CONNECTIONS = 32
WATCHERS = 100
READS_A_SECOND = 60
READING_S = 15
LIVE_JOBS = 10_000
EVENTS = 1_000_000
ENDED_JOBS = 30_000
MILLION = 1_000_000
BATCH = 500
FLAT_JOBS = 20_000
QUIET_S = 20
TRIVIAL_JOBS = 2_000
IDLE_JOBS = 40


def quantile(values: Iterable[float], percent: int) -> float:
    """The nearest-rank quantile."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)]


def job_file(run: str = "true", gpus: float = 1) -> dict[str, object]:
    """A small job."""
    return {"name": "bench", "resources": {"gpus": gpus}, "run": run}


def body(run: str = "true", gpus: float = 1) -> dict[str, object]:
    """A submission."""
    return {"job": job_file(run, gpus)}


def load(server: Server, connections: int, token: str = "") -> AbstractAsyncContextManager[Load]:
    """Connections to a server, of the user whose machine this is, or of the one with this token."""
    url = json.loads((server.home / "server.json").read_text())["url"]
    return Load.open(url, token or (server.home / "token").read_text().strip(), connections=connections)


async def paced(rate: int, seconds: int, act: Callable[[int], Awaitable[None]]) -> list[float]:
    """Call `act` at a steady rate, however long each call takes. The seconds from when each was due to its end."""
    took: list[float] = []
    begin = time.perf_counter()

    async def one(number: int, due_s: float) -> None:
        await act(number)
        took.append(time.perf_counter() - due_s)

    async with asyncio.TaskGroup() as group:
        for number in range(rate * seconds):
            due_s = begin + number / rate
            await asyncio.sleep(max(due_s - time.perf_counter(), 0))
            group.create_task(one(number, due_s))
    return took


async def submitted(server: Server, rate: int, seconds: int, tokens: Sequence[str] = ("",)) -> list[float]:
    """Submissions at a steady rate, each durable before the answer, behind a job that fills the cluster.

    They come from the users with these tokens in turns, because one user may not ask as often as one likes. There are
    enough connections that none is waited for while answers come within `PATIENCE_MS`.
    """
    connections = max(CONNECTIONS, rate * PATIENCE_MS // 1000)
    async with AsyncExitStack() as opened:
        users = [await opened.enter_async_context(load(server, connections // len(tokens), each)) for each in tokens]
        (await users[0].send(users[0].request("POST", "/v1/jobs", body("sleep 100000", gpus=8)))).document()
        requests = [each.request("POST", "/v1/jobs", body(gpus=8)) for each in users]

        async def submit(number: int) -> None:
            place = number % len(users)
            (await users[place].send(requests[place])).document()

        return await paced(rate, seconds, submit)


def highest_rate(folder: Path) -> None:
    """The highest rate of submissions that keeps the p99 within `PATIENCE_MS`, each on a fresh server."""
    held, p99_ms, server_ms, client_ms = 0, 0.0, 0.0, 0.0
    for rate in RATES:
        home = folder / str(rate)
        home.mkdir()
        with Server(home, nodes="1x8") as server:
            client = server.start()
            member = [{"role": "member", "team": "*"}]
            tokens = [client.create_token(name=f"user-{n}", bindings=member).secret or "" for n in range(USERS)]
            server_s, client_s = server.cpu_s(), time.process_time()
            took_ms = 1000 * quantile(asyncio.run(submitted(server, rate, RATE_S, tokens)), 99)
            server_s, client_s = server.cpu_s() - server_s, time.process_time() - client_s
        if took_ms > PATIENCE_MS:
            break
        held, p99_ms = rate, took_ms
        server_ms, client_ms = (1000 * each / (rate * RATE_S) for each in (server_s, client_s))
    report(
        "submissions, highest rate",
        patience_ms=PATIENCE_MS,
        rate=held,
        p99_ms=p99_ms,
        next=rate,
        next_p99_ms=took_ms,
        server_cpu_ms_each=round(server_ms, 2),
        client_cpu_ms_each=round(client_ms, 2),
    )


async def submissions(server: Server, seconds: int) -> None:
    """Submissions at the usual rate."""
    took = await submitted(server, RATE, seconds)
    report(
        "submissions, durable, steady rate",
        rate=RATE,
        seconds=seconds,
        p50_ms=round(quantile(took, 50) * 1000, 1),
        p99_ms=round(quantile(took, 99) * 1000, 1),
        max_ms=round(max(took) * 1000, 1),
    )


async def watched(http: Load, seen: dict[str, float], ready: asyncio.Semaphore) -> None:
    """Watch events until cancelled, and note when each job is first seen."""
    reader, writer = await http.connected()
    writer.write(http.request("GET", "/v1/events"))
    try:
        while not (await reader.readline()).startswith(b": welcome"):
            pass
        ready.release()
        while line := await reader.readline():
            if line.startswith(b"data:") and b'"job_submitted"' in line:
                seen.setdefault(json.loads(line[5:])["job"], time.perf_counter())
    finally:
        writer.close()


async def reads(server: Server) -> None:
    """Reads of several kinds, with a few submissions, while many clients watch."""
    async with load(server, CONNECTIONS) as http:
        ready, seen = asyncio.Semaphore(0), [dict[str, float]() for _ in range(WATCHERS)]
        watchers = [asyncio.create_task(watched(http, each, ready)) for each in seen]
        for _ in range(WATCHERS):
            await ready.acquire()
        queue = (await http.send(http.request("GET", "/v1/queue"))).document()
        paths = ["/v1/jobs?limit=100", "/v1/nodes", "/v1/queue", "/v1/jobs/job-1", "/v1/jobs/job-100"]
        requests = [http.request("GET", path) for path in paths]
        submission = http.request("POST", "/v1/jobs", body(gpus=8))
        acknowledged: dict[str, float] = {}

        async def act(number: int) -> None:
            if number % 6:
                (await http.send(requests[number % len(requests)])).document()
            else:
                answer = (await http.send(submission)).document()
                acknowledged[str(answer["id"])] = time.perf_counter()

        took = await paced(READS_A_SECOND, READING_S, act)
        await asyncio.sleep(2)
        for watcher in watchers:
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)
    late = [each[job] - at_s for each in seen for job, at_s in acknowledged.items() if job in each]
    report(
        "reads with watchers",
        waiting=queue.get("waiting"),
        watchers=WATCHERS,
        read_p50_ms=round(quantile(took, 50) * 1000, 1),
        read_p99_ms=round(quantile(took, 99) * 1000, 1),
        seen_after_p50_ms=round(quantile(late, 50) * 1000, 1),
        seen_after_max_ms=round(max(late) * 1000, 1),
        missed=sum(job not in each for each in seen for job in acknowledged),
    )


def under_load(folder: Path, seconds: int = SUBMITTING_S) -> None:
    """Many submissions, and then reads while all these jobs wait."""
    with Server(folder, nodes="1x8") as server:
        server.start()
        asyncio.run(submissions(server, seconds))
        asyncio.run(reads(server))


def idle_latency(folder: Path) -> None:
    """The time from a submission until its process runs, on an idle cluster."""
    with Server(folder, nodes="2x8") as server:
        client = server.start()
        took: list[float] = []
        for number in range(IDLE_JOBS):
            mark = folder / f"started-{number}"
            asked_ns = time.time_ns()
            job = client.submit(job_file(f"date +%s%N > {mark}"))
            client.wait(job.id, timeout=30)
            took.append((int(mark.read_text()) - asked_ns) / 1e6)
    report("submit to process started", p50_ms=round(quantile(took, 50), 1), p99_ms=round(quantile(took, 99), 1))


async def flood(server: Server, jobs: int) -> None:
    """Submit trivial jobs as fast as they are accepted, and wait until the last has ended."""
    async with load(server, CONNECTIONS) as http:
        begin = time.perf_counter()
        request = http.request("POST", "/v1/jobs", body())

        async def submit() -> None:
            (await http.send(request)).document()

        await asyncio.gather(*(submit() for _ in range(jobs)))
        submitted_s = time.perf_counter() - begin
        active = http.request("GET", "/v1/jobs?state=active&limit=1")
        while (await http.send(active)).document()["items"]:
            await asyncio.sleep(0.2)
        total_s = time.perf_counter() - begin
        failed = (await http.send(http.request("GET", "/v1/jobs?state=failed&limit=1"))).document()["items"]
    report(
        "trivial jobs end to end",
        jobs=jobs,
        slots=64,
        submitted_per_s=round(jobs / submitted_s, 1),
        jobs_per_s=round(jobs / total_s, 1),
        failed=bool(failed),
    )


def throughput(folder: Path) -> None:
    """Many trivial jobs on 64 slots."""
    with Server(folder, nodes="8x8") as server:
        server.start()
        asyncio.run(flood(server, TRIVIAL_JOBS))


def prepared(store: SqlStore) -> None:
    """Write a log of many events of many jobs that all run. The state is saved when the control plane stops."""
    control = a_control_plane(store)
    control.start()
    for _ in range(LIVE_JOBS // 500):
        answers = [
            control.ask(lambda engine, now_ms: engine.submit(a_job(checkpoint=True), now_ms)) for _ in range(500)
        ]
        for answer in answers:
            answer.result(60)
        control.ask(lambda engine, now_ms: engine.tick(now_ms)).result(60)
    while store.log.version < EVENTS:
        control.ask(lambda engine, now_ms: engine.observe(*saves(engine.state.jobs, now_ms))).result(600)
    control.stop()


def saves(jobs: Iterable[JobId], now_ms: int) -> list[ObservedEvent]:
    """Every job saves."""
    return [CheckpointSaved(at_ms=now_ms, job=job, attempt=1, cost_ms=900) for job in jobs]


def a_control_plane(store: SqlStore) -> ControlPlane:
    """A control plane on a cluster where all the jobs fit."""
    backend = FakeBackend({JobId(f"job-{number}"): [GangScript(run_ms=None)] for number in range(1, LIVE_JOBS + 1)})
    return ControlPlane(
        log=store.log,
        states=store.states,
        archive=store.jobs,
        backend=backend,
        clock=SystemClock(),
        configuration=Configuration(cluster=flat(LIVE_JOBS // 8, gpus=8)),
    )


def restart(folder: Path) -> None:
    """A start with a long log, until requests would be answered."""
    url = f"sqlite:///{folder}/muster.db"
    with open_store(url, write=True) as store:
        prepared(store)
    begin = time.perf_counter()
    with open_store(url, write=True) as store:
        opened_s = time.perf_counter() - begin
        control = a_control_plane(store)
        control.start()
        control.ask(lambda engine, _: len(engine.state.jobs)).result(60)
        ready_s = time.perf_counter() - begin
        control.stop()
        events = store.log.version
    report(
        "restart",
        jobs=LIVE_JOBS,
        events=events,
        opened_s=round(opened_s, 2),
        ready_s=round(ready_s, 2),
        database_mb=(folder / "muster.db").stat().st_size >> 20,
    )


class KeptUntilDeath:
    """A store of states as a killed server leaves it: no state is saved on shutdown."""

    def __init__(self, states: StateStore) -> None:
        self._states = states
        self.is_dead = False

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Save it, unless the server counts as dead."""
        if not self.is_dead:
            self._states.save_state(version, layout, body)

    def load_state(self, layout: str) -> SavedState | None:
        """The newest saved state."""
        return self._states.load_state(layout)


def lived(folder: Path) -> int:
    """Write a log of many ended jobs, as a server killed while busy leaves it. Returns the number of events."""
    cluster = ClusterSpec(nodes=divided(8, 8))
    with open_store(f"sqlite:///{folder}/muster.db", write=True) as store:
        states = KeptUntilDeath(store.states)
        control = ControlPlane(
            log=store.log,
            states=states,
            archive=store.jobs,
            backend=FakeBackend({}),
            clock=SystemClock(),
            configuration=Configuration(cluster=cluster),
        )
        control.start()
        for begin in range(0, ENDED_JOBS, 64):
            specs = [a_job(name=f"train-{number % 500}", checkpoint=True) for number in range(begin, begin + 64)]
            control.ask(partial(submit_all, specs)).result(60)
            control.ask(lambda engine, now_ms: engine.tick(now_ms)).result(60)
            control.ask(lambda engine, now_ms: engine.observe(*lives(engine.state, now_ms))).result(60)
        states.is_dead = True
        control.stop()
        return store.log.version


def lives(state: State, now_ms: int) -> list[ObservedEvent]:
    """Every job that got GPUs starts, saves three times and ends."""
    told: list[ObservedEvent] = []
    for job in state.occupying:
        record = state.jobs[job]
        attempt, generation = record.attempt, record.generation
        told.append(WorkersStarted(at_ms=now_ms, job=job, attempt=attempt, generation=generation, ranks=(0,)))
        told += [CheckpointSaved(at_ms=now_ms, job=job, attempt=attempt, cost_ms=900 + each) for each in range(3)]
        told.append(
            WorkersExited(at_ms=now_ms, job=job, attempt=attempt, generation=generation, ranks=(0,), exit_code=0)
        )
    return told


def ended(folder: Path) -> None:
    """A start after `kill -9` of a busy and of an idle server, until the server says that it is healthy."""
    events = lived(folder)
    with Server(folder, nodes="8x8") as server:
        for when in ("busy", "idle", "idle again"):
            began_s = time.perf_counter()
            server.start(is_up=is_healthy)
            ready_s, ready_cpu_s = time.perf_counter() - began_s, server.cpu_s()
            time.sleep(QUIET_S)
            report(
                "restart after kill -9",
                killed_while=when,
                ended_jobs=ENDED_JOBS,
                events=events,
                healthy_s=round(ready_s, 2),
                cpu_s=round(ready_cpu_s, 2),
                cpu_of_the_next_20_s=round(server.cpu_s() - ready_cpu_s, 2),
                database_mb=(folder / "muster.db").stat().st_size >> 20,
            )
            server.kill()


def ended_by_the_million(folder: Path) -> None:
    """Memory, a start and a page of a listing with a million ended jobs."""
    with open_store(f"sqlite:///{folder}/muster.db", write=True) as store:
        control = a_control_plane(store)
        control.start()
        for begin in range(0, MILLION, BATCH):
            names = [f"train-{number % 500}" for number in range(begin, begin + BATCH)]
            control.ask(partial(came_and_went, names)).result(60)
        control.stop()
    with Server(folder, nodes="8x8") as server:
        for when in ("after the making", "again"):
            began_s = time.perf_counter()
            server.start(is_up=is_healthy)
            ready_s = time.perf_counter() - began_s
            pages_ms = [page_ms(server, "/v1/jobs?state=ended&limit=100") for _ in range(20)]
            deep_ms = [page_ms(server, "/v1/jobs?state=failed&limit=100") for _ in range(5)]
            report(
                f"restart with {MILLION:,} ended jobs",
                when=when,
                healthy_s=round(ready_s, 2),
                rss_mb=server.rss_mb(),
                page_of_100_ms=round(quantile(pages_ms, 50), 1),
                page_without_a_match_ms=round(quantile(deep_ms, 50), 1),
                database_mb=(folder / "muster.db").stat().st_size >> 20,
            )
            server.kill()


def submit_all(specs: list[JobSpec], engine: Engine, now_ms: int) -> None:
    """Submit these jobs."""
    for spec in specs:
        engine.submit(spec, now_ms)


def came_and_went(names: list[str], engine: Engine, now_ms: int) -> None:
    """Submit jobs and cancel them at once."""
    for name in names:
        submitted = engine.submit(a_job(name=name, checkpoint=True), now_ms, held=True, by="bench")
        assert isinstance(submitted, Submitted)
        engine.cancel(submitted.job, now_ms, by="bench")


def page_ms(server: Server, path: str) -> float:
    """How long one request takes, in milliseconds."""
    url = json.loads((server.home / "server.json").read_text())["url"]
    headers = {"Authorization": f"Bearer {(server.home / 'token').read_text().strip()}"}
    began_s = time.perf_counter()
    answer = httpx.get(f"{url}{path}", headers=headers)
    answer.raise_for_status()
    return (time.perf_counter() - began_s) * 1000


class Nowhere(FakeBackend):
    """A backend that does nothing and remembers nothing."""

    def send(self, command: Command) -> None:
        """Ignore the command."""

    def poll(self) -> tuple[ObservedEvent, ...]:
        """Nothing happens by itself."""
        return ()


def flat_memory(folder: Path) -> None:
    """How the memory of the control plane's process grows while tens of thousands of jobs come and go."""
    cluster = ClusterSpec(nodes=divided(8, 8))
    with open_store(f"sqlite:///{folder}/muster.db", write=True) as store:
        control = ControlPlane(
            log=store.log,
            states=store.states,
            archive=store.jobs,
            backend=Nowhere(now_ms=0),
            clock=SystemClock(),
            configuration=Configuration(cluster=cluster),
        )
        control.start()
        for begin in range(0, FLAT_JOBS, 64):
            specs = [a_job(name=f"train-{number % 500}") for number in range(begin, begin + 64)]
            control.ask(partial(submit_all, specs)).result(60)
            control.ask(lambda engine, now_ms: engine.tick(now_ms)).result(60)
            control.ask(lambda engine, now_ms: engine.observe(*lives(engine.state, now_ms))).result(60)
            if begin % (FLAT_JOBS // 5 // 64 * 64) == 0:
                alive = len(control.state.jobs)
                report("memory while jobs come and go", jobs=begin, rss_mb=own_rss_mb(), alive=alive)
        control.stop()


def own_rss_mb() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def is_healthy(url: str) -> bool:
    """True when the server says that it is healthy."""
    return bool(httpx.get(f"{url}/healthz").json()["status"] == "ok")


CASES: dict[str, Callable[[Path], None]] = {
    "load": under_load,
    "rate": highest_rate,
    "latency": idle_latency,
    "throughput": throughput,
    "restart": restart,
    "ended": ended,
    "million": ended_by_the_million,
    "flat": flat_memory,
}


def main(names: list[str]) -> None:
    """Run the named cases, or all."""
    for name in names or CASES:
        with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
            CASES[name](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
